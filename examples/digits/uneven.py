# SPDX-License-Identifier: BSD-3-Clause
"""Training in which no worker waits for a slow one: the others take more steps meanwhile.

Workers train models of their own and average them now and then.  How many steps each takes from
one average to the next follows from how long its steps are expected to take, which all know: so all
come to the average together, and a model counts by the images that it has seen.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

import numpy as np
from data import Digits, batches
from model import Model, Momentum
from training import Recipe


class Pace:
    """How long a step of each worker takes: the median of the last rounds, as calls that repeat
    are expected (docs/arrivals.md).  What is added is the same on all workers, and so is what
    follows."""

    ROUNDS = 7
    MOST = 64  # steps in a round: models of their own drift apart

    def __init__(self, workers: int):
        self._workers = workers
        self._seconds: deque[np.ndarray] = deque(maxlen=self.ROUNDS)

    def add(self, seconds: np.ndarray) -> None:
        """Of a step of each worker, in the round that is over."""
        self._seconds.append(np.array(seconds, np.float64))

    def steps(self) -> np.ndarray:
        """Of each worker in the next round: what it can do while the slowest takes one."""
        if not self._seconds:
            return np.ones(self._workers, np.int64)
        expected = np.median(self._seconds, axis=0)
        fit = np.floor(expected.max() / np.maximum(expected, 1e-9))
        return np.clip(fit, 1, self.MOST).astype(np.int64)


def train(
    group,
    model: Model,
    digits: Digits,
    recipe: Recipe,
    images: int,
    pause: float = 0.0,
    even: bool = False,
    on_round: Callable[[np.ndarray], None] = lambda steps: None,
) -> float:
    """Trains `model` in place on so many images, the same on every worker of `group`; the seconds
    that it took.  `even`: a step for each worker in a round, whatever it takes."""
    descend = Momentum(model, recipe.rate)
    pace = Pace(group.size)
    share = max(1, recipe.batch // group.size)
    own_batches = batches(len(digits.labels), share, 1 << 40, recipe.seed + group.rank)
    gradient = np.empty_like(model.parameters)
    # The model, weighed by its steps; how many these are; the seconds of a step of each worker.
    own = group.alloc(model.size + 1 + group.size, np.float32)
    total = group.alloc(own.size, np.float32)
    seen = 0
    started = time.perf_counter()
    while seen < images:
        plan = np.ones(group.size, np.int64) if even else pace.steps()
        steps = int(plan[group.rank])
        begun = time.perf_counter()
        for _ in range(steps):
            batch = next(own_batches)
            model.gradient(digits.images[batch], digits.labels[batch], gradient)
            if pause > 0:
                time.sleep(pause)
            descend.step(gradient / len(batch))
        own[:] = 0
        own[: model.size] = model.parameters * steps
        own[model.size] = steps
        own[model.size + 1 + group.rank] = (time.perf_counter() - begun) / steps
        group.allreduce(own, total, op="sum")
        model.parameters[:] = total[: model.size] / total[model.size]
        pace.add(total[model.size + 1 :])
        seen += int(total[model.size]) * share
        on_round(plan)
    return time.perf_counter() - started
