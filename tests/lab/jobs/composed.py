# SPDX-License-Identifier: BSD-3-Clause
"""A rank of a job whose hosts have several ranks: collectives that may be composed over hosts."""

from __future__ import annotations

import sys

import numpy as np
import stretto

SIZES = [int(each) for each in sys.argv[1:]]
FOLDS = {"sum": np.add, "max": np.maximum, "bxor": np.bitwise_xor}


def contribution(rank: int, count: int) -> np.ndarray:
    return (np.arange(count, dtype=np.int64) * 37 + rank * 100_003) % 65_521


def same(got: np.ndarray, right: np.ndarray, what: str) -> None:
    wrong = np.flatnonzero(got != right)
    assert got.shape == right.shape and not len(wrong), (
        f"rank {rank}: {what}: {len(wrong)} wrong, the first at {wrong[:1]}"
    )


def check(count: int) -> None:
    mine, root, part = contribution(rank, count), size - 1, count // size
    reduced = {}
    for op, fold in FOLDS.items():
        right = contribution(0, count)
        for each in range(1, size):
            right = fold(right, contribution(each, count))
        reduced[op] = right
        same(comm.allreduce(mine, np.full(count, -77), op), right, f"allreduce {op} of {count}")
        in_place = mine.copy()
        same(comm.allreduce(in_place, in_place, op), right, f"allreduce {op} of {count} in place")
    got = comm.reduce(mine, np.full(count, -77), root=root)
    if rank == root:
        same(got, reduced["sum"], f"reduce of {count}")
    buffer = mine.copy()
    comm.broadcast(buffer, root)
    same(buffer, contribution(root, count), f"broadcast of {count}")
    right = reduced["sum"][rank * part : (rank + 1) * part]
    got = comm.reduce_scatter(mine[: part * size].copy(), np.full(part, -77))
    same(got, right, f"reduce_scatter of {count}")
    got = comm.allgather(mine[:part].copy(), np.full(part * size, -77))
    right = np.concatenate([contribution(each, part) for each in range(size)])
    same(got.ravel(), right, f"allgather of {count}")


comm = stretto.init()
rank, size = comm.rank, comm.size
for count in SIZES:
    check(count)
comm.finalize()
print("ended well")
