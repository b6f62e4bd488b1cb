# SPDX-License-Identifier: BSD-3-Clause
"""Calls that ranks come to at different times: `stretto bench --skew` and `stretto bench arrival`.

Source: the benchmark of Proficz, "Improving all-reduce collective operations for imbalanced process
arrival patterns", J. Supercomputing 2018, section 5.1 and figure 9 (modes one-late and rand-late;
the elapsed time of a rank is from its own arrival to its own finish).  As printed there, its line 6
sleeps the delay of one-late twice; here it is slept once.  Its lines 9 and 10, two barriers, are a
moment that all agree on, by the clock that they have in common.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from stretto.cli.measure import Bench, Case
from stretto.cli.patterns import LATE
from stretto.cli.units import Unit, parse_seconds, show_seconds
from stretto.communicator import Communicator

KINDS = ("one-late", "rand-late")
# Calls before those that count: after the third it is decided what serves for such arrivals
# (docs/arrivals.md), which the fourth plans.
REHEARSALS = 4
BUDGET = 2.0  # seconds per size and algorithm, unless --iters says otherwise
FEWEST, MOST = 5, 256
CLOCK_PATIENCE = 10.0  # seconds until hosts know what their clocks are apart
LEAD = 2e-3  # until a moment that hosts agreed on has been heard of by all


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
        late[min(LATE, ranks - 1)] = self.seconds
        return late

    def __str__(self) -> str:
        return f"{self.kind}:{show_seconds(self.seconds).replace(' ', '')}"


def parse_skew(text: str) -> Skew:
    """ "one-late:50ms", "rand-late:50ms"."""
    kind, colon, delay = text.partition(":")
    if kind not in KINDS or not colon:
        raise ValueError(f"'{text}' is no skew; one-late:50ms and rand-late:50ms are")
    return Skew(kind, parse_seconds(delay))


SKEW = Unit("skew", parse_skew)


class Clock(NamedTuple):
    """By what ranks come to a call."""

    common: bool
    """Whether it is one for all; else each has its own, which begins when a barrier ends."""
    lead: float
    """Seconds that ranks need to hear of a moment that they agree on."""


def clock_of(comm: Communicator) -> Clock:
    """Collective.  Between hosts it waits until they know what their clocks are apart."""
    if hosts_of(comm) == 1:
        return Clock(True, 0.0)
    until = time.monotonic() + CLOCK_PATIENCE
    while comm.clock_offset() is None and time.monotonic() < until:
        time.sleep(0.01)
    known = comm.clock_offset() is not None
    return Clock(bool(comm.allreduce(np.array([known], np.int64), op="min")[0]), LEAD)


def hosts_of(comm: Communicator) -> int:
    return json.loads(comm._core.contenders("allreduce", 1, "float32"))["hosts"]


class Late(NamedTuple):
    """The calls of one algorithm."""

    arrival: np.ndarray
    """Seconds after those without delay, by rank (row) and call (column)."""
    finish: np.ndarray
    wrong: int
    """Elements, on all ranks and in all calls."""
    chosen: str


def late_calls(
    comm: Communicator,
    bench: Bench,
    names: Sequence[str],
    skew: Skew,
    calls: int,
    clock: Clock,
    compute: float = 0.0,
    tells: bool = False,
) -> dict[str, Late]:
    """Calls of each algorithm, which take turns: in a turn all have the same arrivals.  Every
    result is checked.  tells: ranks say when half of their computation is done.  Collective."""
    late = skew.delays(comm.size, REHEARSALS + calls)
    lead = max(compute, clock.lead)
    times: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {name: [] for name in names}
    wrong = np.zeros(len(names), np.int64)
    for delays in late[comm.rank]:
        for place, name in enumerate(names):
            bench.prepare()
            took = bench.time_skewed([float(delays)], name, clock.common, lead, tells)
            times[name].append(took)
            wrong[place] += bench.mistakes()
    wrong = comm.allreduce(wrong)
    found = {}
    for name, errors in zip(names, wrong, strict=True):
        arrival, finish = (
            np.concatenate(each[REHEARSALS:], axis=1) for each in zip(*times[name], strict=True)
        )
        found[name] = Late(arrival, finish, int(errors), bench.chosen(name))
    return found


def usual_calls(seconds: float) -> int:
    """How many calls of so many seconds are made, if nobody says how many."""
    return int(np.clip(BUDGET / max(seconds, 1e-4), FEWEST, MOST))


def measure_skewed(
    comm: Communicator, case: Case, skew: Skew, iterations: int | None, clock: Clock
) -> dict[str, Any]:
    """A row of the results.  Collective."""
    bench = Bench(comm, case)
    calls = iterations or usual_calls(skew.seconds)
    found = late_calls(comm, bench, [case.algorithm], skew, calls, clock)[case.algorithm]
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
        "sigma_us": float(of_call.std(ddof=1) * 1e6) if len(of_call) > 1 else 0.0,
        "last_us": float(np.median(after.max(axis=0)) * 1e6),
        "rank_elapsed_us": [float(each * 1e6) for each in elapsed.mean(axis=1)],
        "rank_last_us": [float(each * 1e6) for each in np.median(after, axis=1)],
        "rank_arrival_us": [float(each * 1e6) for each in arrival.mean(axis=1)],
        "rank_finish_us": [float(each * 1e6) for each in finish.mean(axis=1)],
    }
