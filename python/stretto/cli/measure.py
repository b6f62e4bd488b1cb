# SPDX-License-Identifier: BSD-3-Clause
"""A rank of `stretto bench`: checks a collective, then times it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from stretto import _core
from stretto.bandwidth import BUS_FACTOR
from stretto.cli.values import contribution, reduction
from stretto.communicator import Communicator

PIECE = 1 << 18  # elements checked at a time
BUDGET_US = 200_000  # per size and algorithm, unless --iters says otherwise
FEWEST, MOST = 10, 5000


@dataclass(frozen=True)
class Case:
    """One measurement.  `size`: bytes of the whole vector, of which ranks have parts in
    reduce_scatter, allgather, gather, scatter and alltoall."""

    collective: str
    algorithm: str
    size: int
    dtype: np.dtype
    op: str
    in_place: bool
    shared: bool


def given(case: Case, rank: int, ranks: int, first: int, count: int) -> np.ndarray:
    """What `rank` puts at elements first, first + 1, ..."""
    return contribution(case.dtype, case.op, rank, ranks, first, count)


def expected(case: Case, rank: int, ranks: int, first: int, count: int, part: int) -> np.ndarray:
    """The right answer at the result's elements first, first + 1, ... of `rank`.  `part`: elements
    of one rank's part of the vector."""
    if case.collective == "broadcast":
        return given(case, 0, ranks, first, count)
    if case.collective == "scatter":
        return given(case, 0, ranks, rank * part + first, count)
    if case.collective in ("allgather", "gather", "alltoall"):
        begin = rank * part if case.collective == "alltoall" else 0  # where the owner has it
        index = np.arange(first, first + count)
        values = np.empty(count, case.dtype)
        for owner in range(first // part, (first + count - 1) // part + 1):
            of_owner = index // part == owner
            place = int(index[of_owner][0]) - owner * part + begin
            values[of_owner] = given(case, owner, ranks, place, int(of_owner.sum()))
        return values
    if case.collective == "reduce_scatter":
        first += rank * part
    return reduction(case.dtype, case.op, ranks, first, count)


class Bench:
    """The buffers of one size on one rank, used by all its cases."""

    def __init__(self, comm: Communicator, case: Case):
        self._comm = comm
        self._case = case
        parted, gives, gets, place = _core.layout(case.collective, comm.rank == 0)
        whole = max(1, case.size // case.dtype.itemsize)
        self.part = max(1, whole // comm.size) if parted else whole
        whole = self.part * comm.size if parted else whole
        self.bytes = 0 if case.collective == "barrier" else whole * case.dtype.itemsize
        elements = {"nothing": 0, "own": self.part, "whole": whole}
        wanted = case.in_place or case.collective == "broadcast"
        in_place = wanted and gives != "nothing" and gets != "nothing"
        begin = comm.rank * self.part
        self._in_place, self._prepared = in_place, False
        self._right: np.ndarray | None = None
        # The arrays of the call, and the parts that are read and written.
        self._send = self._recv = None
        if not in_place:
            self._send = self._new(elements[gives]) if gives != "nothing" else None
            self._recv = self._new(elements[gets]) if gets != "nothing" else None
            self._input, self._result = self._send, self._recv
        elif place == "kept":
            self._send = self._input = self._new(whole)
            self._result = self._send[begin:][: self.part]
        else:
            self._recv = self._new(whole)
            self._input = self._recv[begin:][: self.part] if place == "inside" else self._recv
            self._result = self._recv[: elements[gets]]

    def _new(self, count: int) -> np.ndarray:
        if self._case.shared:
            return self._comm.alloc(count, self._case.dtype)
        return np.zeros(count, self._case.dtype)

    def _arguments(self) -> tuple[Any, ...]:
        case = self._case
        if case.collective == "barrier":
            return (case.collective, None, None, case.op, 0)
        return (case.collective, self._send, self._recv, case.op, 0)

    def chosen(self, algorithm: str | None = None) -> str:
        """The algorithm that runs if this one, or the case's, is forced."""
        case, comm = self._case, self._comm
        comm.force_algorithm(algorithm or case.algorithm)
        count = self.part if case.collective != "barrier" else 0
        name = comm.chosen_algorithm(case.collective, count, case.dtype)
        comm.force_algorithm(None)
        return name

    def wrong(self) -> int:
        """Calls the collective once; how many elements are wrong, on all ranks together."""
        comm, case = self._comm, self._case
        if case.collective == "barrier":
            comm.barrier()
            return 0
        comm.force_algorithm(case.algorithm)
        self.prepare()
        comm._core.play(*self._arguments())
        bad = sum(int(np.count_nonzero(piece != right)) for piece, right in self._answers())
        comm.force_algorithm(None)
        return int(comm.allreduce(np.array([bad]))[0])

    def prepare(self) -> None:
        """Poison where the result will be, and the contribution where no call has left it."""
        case, comm = self._case, self._comm
        if self._recv is not None:
            self._recv.fill(77)
        if self._input is None or (self._prepared and not self._in_place):
            return
        self._prepared = True
        if case.collective != "broadcast" or comm.rank == 0:
            for first, piece in pieces(self._input):
                piece[:] = given(case, comm.rank, comm.size, first, len(piece))

    def mistakes(self) -> int:
        """How many elements of this rank's result are wrong.  As for calls that are all checked:
        what is right is kept from the first time on."""
        if self._result is None:
            return 0
        if self._right is None:
            self._right = np.concatenate([right for _, right in self._answers()])
        return int(np.count_nonzero(self._result != self._right))

    def _answers(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Piece by piece, the result as it is and as it should be."""
        if self._result is not None:
            for first, piece in pieces(self._result):
                rank, ranks = self._comm.rank, self._comm.size
                yield piece, expected(self._case, rank, ranks, first, len(piece), self.part)

    def on(self, comm: Communicator) -> Bench:
        """The same buffers, for another communicator of the same ranks."""
        other = copy.copy(self)
        other._comm = comm
        return other

    def time(self, iterations: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Microseconds of each call's slowest rank; mean microseconds of each rank."""
        if self._case.in_place and self._recv is not None:
            self._recv.fill(1 if self._case.op == "prod" else 0)  # stays as it is
        if iterations is None:
            slowest, _ = self.calls(1, 5)
            iterations = int(np.clip(BUDGET_US / max(np.median(slowest), 0.1), FEWEST, MOST))
        return self.calls(max(2, iterations // 10), iterations)

    def time_skewed(
        self,
        delays: list[float],
        algorithm: str | None = None,
        common_clock: bool = True,
        compute: float = 0.0,
        announced: float = 0.0,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Seconds at which each rank (row) comes to each call (column), and is done with it, after
        those without delay come.  All compute for a while before; half-way they tell others that
        this part of it is done (0: they tell nothing).  By the clock that ranks have in common, or
        by one of each that begins when a barrier ends."""
        core, name = self._comm._core, algorithm or self._case.algorithm
        times = core.time_skewed(*self._arguments(), name, delays, common_clock, compute, announced)
        times = times.reshape(self._comm.size, len(delays), 2)
        return times[:, :, 0], times[:, :, 1]

    def calls(
        self, warm: int, calls: int, algorithm: str | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """As `time`, of so many calls after some others.  Leaves the algorithm at auto."""
        self._comm.force_algorithm(algorithm or self._case.algorithm)
        return self._comm._core.time(*self._arguments(), warm, calls)


def pieces(array: np.ndarray):
    """(index of the first element, view) of one piece after another."""
    for first in range(0, len(array), PIECE):
        yield first, array[first : first + PIECE]


def measure(comm: Communicator, case: Case, iterations: int | None) -> dict[str, Any]:
    """A row of the results.  Collective; the same on all ranks, but for `rank_mean_us`' order."""
    bench = Bench(comm, case)
    wrong = bench.wrong()
    probe = comm.probe_memory()
    slowest, means = bench.time(iterations)
    chosen = bench.chosen()
    t_min, t_p50, t_p99 = np.percentile(slowest, [0, 50, 99])
    bandwidth = bench.bytes / (t_p50 * 1e3)
    return {
        "algorithm": case.algorithm,
        "ranks": comm.size,
        "bytes": bench.bytes,
        "t_min_us": float(t_min),
        "t_p50_us": float(t_p50),
        "t_p99_us": float(t_p99),
        "algbw_GBps": float(bandwidth),
        "busbw_GBps": float(bandwidth * BUS_FACTOR[case.collective](comm.size)),
        "wrong": wrong,
        "collective": case.collective,
        "chosen": chosen,
        "calls": len(slowest),
        "rank_mean_us": [float(mean) for mean in means],
        "probe_ns": probe,
    }
