# SPDX-License-Identifier: BSD-3-Clause
"""Data-parallel training: every worker takes its part of each batch, the gradients are averaged.

One loop serves both a group of workers and one process alone, which is a group of one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from data import Digits, batches
from model import Model, Momentum


@dataclass(frozen=True)
class Recipe:
    steps: int
    batch: int = 256
    rate: float = 0.2
    seed: int = 1


class Alone:
    """The group of one: what it sends is what it gets."""

    rank, size = 0, 1

    def alloc(self, shape, dtype) -> np.ndarray:
        return np.zeros(shape, dtype)

    def allreduce(self, send: np.ndarray, recv: np.ndarray, op: str) -> None:
        recv[:] = send


def train(
    group,
    model: Model,
    digits: Digits,
    recipe: Recipe,
    on_step: Callable[[float, float], None] = lambda loss, accuracy: None,
    pause: float = 0.0,
) -> float:
    """Trains `model` in place, the same on every worker of `group`; the seconds spent computing.

    `on_step` gets the mean loss and the accuracy of each whole batch.  `pause` seconds are added to
    each step of this worker, to make it slow.
    """
    descend = Momentum(model, recipe.rate)
    # All workers of the host read and write these in place: nothing is copied on the way.
    own = group.alloc(model.size, np.float32)
    summed = group.alloc(model.size, np.float32)
    scores = np.zeros(2)
    computing = 0.0

    for batch in batches(len(digits.labels), recipe.batch, recipe.steps, recipe.seed):
        started = time.perf_counter()
        part = np.array_split(batch, group.size)[group.rank]
        outcome = model.gradient(digits.images[part], digits.labels[part], own)
        if pause > 0:
            time.sleep(pause)
        computed = time.perf_counter()

        group.allreduce(own, summed, op="sum")
        group.allreduce(np.array(outcome, dtype=np.float64), scores, op="sum")

        reduced = time.perf_counter()
        descend.step(summed / len(batch))
        on_step(scores[0] / len(batch), scores[1] / len(batch))
        computing += computed - started + time.perf_counter() - reduced
    return computing
