# SPDX-License-Identifier: BSD-3-Clause
"""The ranks of `stretto tune`: they time the algorithms with close prices, in turns.

All ranks measure alike.  When to stop depends on time, which each rank measures for itself; so rank
0 decides, and broadcasts the decision.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stretto.cli.measure import Bench, Case
from stretto.communicator import Communicator

CALLS = 3  # of each algorithm in a turn
LEAST, MOST = 3, 30  # turns
FIXED = 16 << 10  # bytes that take as long as what a call takes without any, or less


@dataclass
class Row:
    """One size: the timed algorithms, and their times in seconds."""

    call: dict[str, Any]
    """As profiles tell calls apart, with `bytes` and `algorithms`, the choice first."""
    skew: float = 0.0
    times: dict[str, list[float]] = field(default_factory=dict)
    late: dict[str, list[float]] = field(default_factory=dict)
    """The same of ranks that came late."""

    @property
    def chosen(self) -> str:
        return self.call["algorithms"][0]

    def seconds(self, algorithm: str) -> float:
        return float(np.median(self.times[algorithm]))

    def late_seconds(self, algorithm: str) -> float | None:
        return float(np.median(self.late[algorithm])) if self.late else None

    def cost(self, algorithm: str) -> float:
        """What the choice goes by: the geometric mean of both."""
        late = self.late_seconds(algorithm)
        both = self.seconds(algorithm)
        return both if late is None else float(np.sqrt(both * late))

    @property
    def fastest(self) -> str:
        return min(self.times, key=self.cost)

    @property
    def ratio(self) -> float:
        """How much longer the choice takes than the fastest."""
        return self.cost(self.chosen) / self.cost(self.fastest) if self.times else 1.0

    def summary(self) -> dict[str, Any]:
        """For JSON: the call, the choice, the fastest (None: no other was close), all times."""
        call = {key: each for key, each in self.call.items() if key != "algorithms"}
        fastest = self.fastest if self.times else None
        return {
            **call, "chosen": self.chosen, "fastest": fastest, "ratio": self.ratio,
            "times": self.entries(),
        }  # fmt: skip

    def entries(self) -> list[dict[str, Any]]:
        """As a profile holds them."""
        found = []
        for algorithm in self.times:
            for skew, times in ((0.0, self.times), (self.skew, self.late)):
                if times:
                    found.append({
                        "bytes": self.call["bytes"], "algorithm": algorithm,
                        "seconds": float(f"{np.median(times[algorithm]):.4g}"), "skew": skew,
                        "calls": len(times[algorithm]), "by": "tune",
                    })  # fmt: skip
        return found


class Tuner:
    """Collective: all ranks make the same calls of its methods."""

    def __init__(self, comm: Communicator, seconds: float, skew: float, seed: int):
        self._comm = comm
        self._until = time.monotonic() + seconds
        self._skew = skew
        self._seed = seed
        self._last: tuple[int, float] | None = None  # bytes and seconds of a turn of the last size

    def agreed(self, yes: bool) -> bool:
        """What rank 0 says."""
        return bool(self._comm.broadcast(np.array([yes], np.int64))[0])

    def left(self) -> float:
        """Seconds; each rank has its own opinion."""
        return self._until - time.monotonic()

    def measure(self, collective: str, size: int, more: int) -> Row | None:
        """Times a vector of about so many bytes; None: the time is over.  `more`: how many sizes
        there are with this one, which share what time is left."""
        if not self.agreed(self._last is None or LEAST * self._expected(size) <= self.left()):
            return None
        case = Case(collective, "auto", size, np.dtype(np.float32), "sum", False, False)
        bench = Bench(self._comm, case)
        count = bench.part if collective != "barrier" else 0
        candidates = self._comm._core.tuning_candidates(collective, count, "float32")
        row = Row(json.loads(candidates), self._skew)
        names = row.call["algorithms"]
        if len(names) < 2:
            return row  # no other is close
        begin = time.monotonic()
        share = self.left() / more
        for turn in range(MOST):
            for place, name in enumerate(names):
                self._turn(bench, row, name, [self._seed, row.call["bytes"], turn, place])
            spent = time.monotonic() - begin
            each = spent / (turn + 1)
            self._last = (row.call["bytes"], each)
            wanted = (turn + 1 < LEAST or spent + each <= share) and self.left() > each
            if not self.agreed(wanted):
                break
        return row

    def _expected(self, size: int) -> float:
        """Seconds of a turn, at most, by what the last size took."""
        if self._last is None:
            return 0.0
        before, seconds = self._last
        return seconds * max(1.0, (size + FIXED) / (before + FIXED))

    def _turn(self, bench: Bench, row: Row, name: str, seed: list[int]) -> None:
        slowest, _ = bench.calls(1, CALLS, name)
        row.times.setdefault(name, []).extend(1e-6 * slowest)
        if self._skew <= 0:
            return
        # The same on all ranks, as the time of the slowest is.
        usual = float(np.median(row.times[row.chosen]))
        late = np.random.default_rng(seed).uniform(0, self._skew * usual, (self._comm.size, CALLS))
        one_clock = row.call["hosts"] == 1
        arrival, finish = bench.time_skewed(late[self._comm.rank].tolist(), name, one_clock)
        took = finish.max(axis=0) - arrival.max(axis=0)
        row.late.setdefault(name, []).extend(np.maximum(took, 1e-9))
