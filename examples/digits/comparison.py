# SPDX-License-Identifier: BSD-3-Clause
"""The algorithms of allreduce, timed on one vector."""

from __future__ import annotations

import time

import numpy as np


def compare(comm, names: list[str], count: int, calls: int = 200) -> dict[str, float]:
    """Microseconds a call of `count` floats, by algorithm: the median of the slowest rank.

    Collective; the answer is the same on all ranks.  Every result is checked.
    """
    own = comm.alloc(count, np.float32)
    summed = comm.alloc(count, np.float32)
    own[:] = np.arange(count) % 1009 + comm.rank
    # Small whole numbers: every algorithm's sum is exact, whatever its order.
    expected = (np.arange(count) % 1009) * comm.size + comm.size * (comm.size - 1) // 2

    medians = {}
    for name in names:
        comm.force_algorithm(name)
        summed[:] = 0
        comm.allreduce(own, summed, op="sum")
        if not np.array_equal(summed, expected):
            raise SystemExit(f"allreduce by {name} on rank {comm.rank}: wrong sum")
        medians[name] = time_calls(comm, own, summed, calls)
    comm.force_algorithm(None)
    return medians


def time_calls(comm, own: np.ndarray, summed: np.ndarray, calls: int) -> float:
    warm = calls // 10
    elapsed = np.zeros(warm + calls)
    for call in range(warm + calls):
        comm.barrier()
        started = time.perf_counter()
        comm.allreduce(own, summed, op="sum")
        elapsed[call] = time.perf_counter() - started
    of_all = np.zeros((comm.size, warm + calls))
    comm.allgather(elapsed, of_all)
    return float(np.median(of_all[:, warm:].max(axis=0)) * 1e6)
