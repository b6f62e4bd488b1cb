# SPDX-License-Identifier: BSD-3-Clause
"""`stretto bench --skew`: collectives that ranks come to at different times.

Source: the benchmark of Proficz, "Improving all-reduce collective operations for imbalanced process
arrival patterns", J. Supercomputing 2018, section 5.1 (modes one-late and rand-late; the elapsed
time of a rank is from its own arrival to its own finish).  As printed there, its Fig. 9 sleeps the
delay of one-late twice.  Here a rank comes exactly by its delay after a moment that all agreed on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stretto.cli.measure import Bench, Case
from stretto.cli.patterns import LATE
from stretto.cli.units import Unit, parse_seconds, show_seconds
from stretto.communicator import Communicator

KINDS = ("one-late", "rand-late")
BUDGET = 2.0  # seconds per size and algorithm, unless --iters says otherwise
FEWEST, MOST = 5, 256


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


def measure_skewed(
    comm: Communicator, case: Case, skew: Skew, iterations: int | None
) -> dict[str, Any]:
    """A row of the results.  Collective."""
    bench = Bench(comm, case)
    wrong = bench.wrong()
    calls = iterations or int(np.clip(BUDGET / max(skew.seconds, 1e-4), FEWEST, MOST))
    delays = skew.delays(comm.size, calls)
    bench.time_skewed([0.0])  # plans, and warms up
    arrival, finish = bench.time_skewed(delays[comm.rank].tolist())
    return {
        "algorithm": case.algorithm,
        "ranks": comm.size,
        "bytes": bench.bytes,
        **evaluate(arrival, finish),
        "wrong": wrong,
        "collective": case.collective,
        "chosen": bench.chosen(),
        "calls": calls,
        "skew": str(skew),
        "delay_us": skew.seconds * 1e6,
    }


def evaluate(arrival: np.ndarray, finish: np.ndarray) -> dict[str, Any]:
    """Microseconds, of seconds by rank (row) and call (column).

    elapsed: mean over ranks and calls of finish - arrival; last: median over calls of the time from
    the last arrival to the last finish, which is what the collective costs when all are there.
    """
    elapsed = finish - arrival
    after = finish - arrival.max(axis=0)  # since all are there
    return {
        "elapsed_us": float(elapsed.mean() * 1e6),
        "last_us": float(np.median(after.max(axis=0)) * 1e6),
        "rank_elapsed_us": [float(each * 1e6) for each in elapsed.mean(axis=1)],
        "rank_last_us": [float(each * 1e6) for each in np.median(after, axis=1)],
        "rank_arrival_us": [float(each * 1e6) for each in arrival.mean(axis=1)],
    }
