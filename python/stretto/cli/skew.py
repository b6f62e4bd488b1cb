# SPDX-License-Identifier: BSD-3-Clause
"""Calls at which ranks arrive at different times: `stretto bench --skew` and `bench arrival`.

Source: the benchmark of Proficz, "Improving all-reduce collective operations for imbalanced process
arrival patterns", J. Supercomputing 2018, section 5.1 and figure 9 (modes one-late and rand-late;
the elapsed time of a rank is from its own arrival to its own finish).  As printed there, its line 6
sleeps the delay of one-late twice; here it is slept once.  Its lines 9 and 10, two barriers, are a
moment that all agree on, by the clock that they have in common.  Two are ours: in moving-late
estimates are wrong whenever another rank begins to be late, and in any-late, where one rank is late
to each call and it is a random one, they are worth nothing.
"""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from stretto.cli.measure import Bench, Case
from stretto.cli.patterns import LATE
from stretto.cli.units import Unit, parse_seconds, show_seconds
from stretto.communicator import Communicator

KINDS = ("one-late", "rand-late", "moving-late", "any-late")
# Calls to which the same rank is late in moving-late: enough to find a habit and to lose it again.
STAY = 8
# What ranks announce when half of their computation is done.
ANNOUNCED = ("right", "wrong", "none")
# Calls before those that count: the ranks begin to decide after the third call which algorithm runs
# with such arrivals (docs/arrivals.md), and make its plan after the fourth.
REHEARSALS = 5
BUDGET = 2.0  # seconds per size and algorithm, unless --iters says otherwise
FEWEST, MOST = 5, 256
CLOCK_PATIENCE = 10.0  # seconds until hosts know their clock offsets
LEAD = 2e-3  # seconds from now to the agreed moment, so that all hosts learn of it before


@dataclass(frozen=True)
class Skew:
    """Who comes late, and by how much at most."""

    kind: str
    seconds: float

    def delays(self, ranks: int, calls: int) -> np.ndarray:
        """Seconds by which each rank (row) is late in each call (column); the same everywhere."""
        if self.kind == "rand-late":
            return np.random.default_rng(1).uniform(0, self.seconds, (ranks, calls))
        late = np.zeros((ranks, calls))
        call = np.arange(calls)
        if self.kind == "any-late":
            late_rank = np.random.default_rng(3).integers(0, ranks, calls)
        else:
            late_rank = (LATE + (call // STAY if self.kind == "moving-late" else 0)) % ranks
        late[late_rank, call] = self.seconds
        return late

    def usual_calls(self, seconds: float) -> int:
        """The default number of calls that take this many seconds."""
        fewest = 3 * STAY if self.kind == "moving-late" else FEWEST
        return int(np.clip(BUDGET / max(seconds, 1e-4), fewest, MOST))

    def announced(self, what: str, compute: float, ranks: int, calls: int) -> np.ndarray:
        """The part of its computation that each rank says is done, of each call, when half of it
        is; 0: it says nothing.  wrong: as if it came to the call at a random time."""
        if what != "wrong":
            return np.full((ranks, calls), 0.5 if what == "right" else 0.0)
        other = np.random.default_rng(2).uniform(0, self.seconds, (ranks, calls))
        half = (compute + self.delays(ranks, calls)) / 2
        return np.minimum(half / np.maximum(compute + other, 1e-9), 1.0)

    def __str__(self) -> str:
        return f"{self.kind}:{show_seconds(self.seconds).replace(' ', '')}"


def parse_skew(text: str) -> Skew:
    """ "one-late:50ms", "rand-late:50ms", "moving-late:50ms", "any-late:50ms"."""
    kind, colon, delay = text.partition(":")
    if kind not in KINDS or not colon:
        raise ValueError(
            f"'{text}' is no skew; one-late:50ms, rand-late:50ms, moving-late:50ms and "
            "any-late:50ms are"
        )
    return Skew(kind, parse_seconds(delay))


SKEW = Unit("skew", parse_skew)


class Clock(NamedTuple):
    """The clock by which ranks arrive at a call."""

    common: bool
    """Whether it is one for all; else each has its own, which begins when a barrier ends."""
    lead: float
    """Seconds that ranks need to hear of a moment that they agree on."""


def clock_of(comm: Communicator) -> Clock:
    """Collective.  Between hosts it waits until the clock offsets are known."""
    if hosts_of(comm) == 1:
        return Clock(True, 0.0)
    until = time.monotonic() + CLOCK_PATIENCE
    while comm.clock_offset() is None and time.monotonic() < until:
        time.sleep(0.01)
    known = comm.clock_offset() is not None
    return Clock(bool(comm.allreduce(np.array([known], np.int64), op="min")[0]), LEAD)


def hosts_of(comm: Communicator) -> int:
    return json.loads(comm._core.tuning_candidates("allreduce", 1, "float32"))["hosts"]


class Late(NamedTuple):
    """The calls of one algorithm."""

    arrival: np.ndarray
    """Seconds after the ranks without delay, by rank (row) and call (column)."""
    finish: np.ndarray
    wrong: int
    """Elements, on all ranks and in all calls."""
    chosen: str


def late_calls(
    comm: Communicator,
    bench: Bench,
    asked: Mapping[str, str],
    skew: Skew,
    calls: int,
    clock: Clock,
    compute: float = 0.0,
    announced: str = "none",
) -> dict[str, Late]:
    """Calls of each requested algorithm, by its label.

    Algorithms take turns; in a turn all have the same arrivals.  Every result is checked.
    announced: what ranks announce when half of their computation is done.  Collective.
    """
    late = skew.delays(comm.size, REHEARSALS + calls)
    lead = max(compute, clock.lead)
    said = skew.announced(announced, lead, comm.size, REHEARSALS + calls)
    times: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {label: [] for label in asked}
    wrong = np.zeros(len(asked), np.int64)
    for delay, part in zip(late[comm.rank].tolist(), said[comm.rank].tolist(), strict=True):
        for place, (label, name) in enumerate(asked.items()):
            bench.prepare()
            took = bench.time_skewed([delay], name, clock.common, lead, part)
            times[label].append(took)
            wrong[place] += bench.mistakes()
    wrong = comm.allreduce(wrong)
    found = {}
    for (label, name), errors in zip(asked.items(), wrong, strict=True):
        arrival, finish = (
            np.concatenate(each[REHEARSALS:], axis=1) for each in zip(*times[label], strict=True)
        )
        found[label] = Late(arrival, finish, int(errors), bench.chosen(name))
    return found


def measure_skewed(
    comm: Communicator, case: Case, skew: Skew, iterations: int | None, clock: Clock
) -> dict[str, Any]:
    """A row of the results.  Collective."""
    bench = Bench(comm, case)
    calls = iterations or skew.usual_calls(skew.seconds)
    (found,) = late_calls(comm, bench, {"": case.algorithm}, skew, calls, clock).values()
    return {
        "algorithm": case.algorithm,
        "ranks": comm.size,
        "bytes": bench.bytes,
        **evaluate(found.arrival, found.finish),
        "wrong": found.wrong,
        "collective": case.collective,
        "chosen": found.chosen,
        "calls": calls,
        "skew": str(skew),
        "delay_us": skew.seconds * 1e6,
    }


def evaluate(arrival: np.ndarray, finish: np.ndarray) -> dict[str, Any]:
    """Microseconds, of seconds by rank (row) and call (column).

    elapsed: mean over ranks and calls of finish - arrival; sigma: standard deviation, over calls,
    of their mean over ranks; last: median over calls of the time from the last arrival to the last
    finish, which is what the collective costs when all are there.
    """
    elapsed = finish - arrival
    of_call = elapsed.mean(axis=0)
    after = finish - arrival.max(axis=0)  # since all are there
    return {
        "elapsed_us": float(elapsed.mean() * 1e6),
        "call_elapsed_us": (of_call * 1e6).tolist(),
        "sigma_us": float(of_call.std(ddof=1) * 1e6) if len(of_call) > 1 else 0.0,
        "last_us": float(np.median(after.max(axis=0)) * 1e6),
        "rank_elapsed_us": [float(each * 1e6) for each in elapsed.mean(axis=1)],
        "rank_last_us": [float(each * 1e6) for each in np.median(after, axis=1)],
        "rank_arrival_us": [float(each * 1e6) for each in arrival.mean(axis=1)],
        "rank_finish_us": [float(each * 1e6) for each in finish.mean(axis=1)],
    }


def paired_ratio(reference: Sequence[float], own: Sequence[float]) -> tuple[float, float | None]:
    """Of the means, the reference's over one's own, and half of its 95 % confidence interval (None
    of one call): both are times of the same turns, and what disturbs a turn is in both (the ratio
    estimator of survey sampling; Student's t)."""
    above, below = np.asarray(reference), np.asarray(own)
    ratio = float(above.mean() / below.mean())
    if len(own) < 2:
        return ratio, None
    error = np.std(above - ratio * below, ddof=1) / math.sqrt(len(own)) / below.mean()
    return ratio, float(error * student(len(own) - 1))


def student(degrees: int, level: float = 0.95) -> float:
    """What |t| is below with this probability: Cornish and Fisher's expansion, within 2 % from 4
    degrees of freedom on, and too little for fewer."""
    z = statistics.NormalDist().inv_cdf((1 + level) / 2)
    return (
        z
        + (z**3 + z) / (4 * degrees)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * degrees**3)
    )
