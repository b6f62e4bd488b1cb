# SPDX-License-Identifier: BSD-3-Clause
"""A rank of a job on several hosts: what each kind of call gives, to the last element."""

from __future__ import annotations

import os
import sys
import time

import numpy as np
import stretto

SIZES = [int(each) for each in sys.argv[1:]] or [1, 1009, 300_007]
POISON = -77


def contribution(rank: int, count: int) -> np.ndarray:
    return np.arange(count, dtype=np.int64) * 37 + rank * 100_003


def poisoned(shape: int | tuple[int, int]) -> np.ndarray:
    return np.full(shape, POISON, np.int64)


def same(got: np.ndarray, right: np.ndarray, what: str) -> None:
    wrong = np.flatnonzero(got.ravel() != right.ravel())
    assert got.shape == right.shape and not len(wrong), (
        f"rank {rank}: {what}: {len(wrong)} wrong, the first at {wrong[:1]}"
    )


def collectives(count: int) -> None:
    everybody = np.stack([contribution(each, count) for each in range(size)])
    same(comm.allreduce(everybody[rank], poisoned(count)), everybody.sum(axis=0), "allreduce")
    same(comm.allgather(everybody[rank], poisoned((size, count))), everybody, "allgather")
    root = size - 1
    buffer = everybody[root].copy() if rank == root else poisoned(count)
    same(comm.broadcast(buffer, root), everybody[root], "broadcast")
    # Part d of rank s is what s would contribute, shifted by d.
    parts = np.stack([everybody[rank] + 7 * dest for dest in range(size)])
    same(comm.alltoall(parts, poisoned((size, count))), everybody + 7 * rank, "alltoall")


def messages(count: int) -> None:
    """To every other rank, the next one first."""
    sent = [comm.isend(contribution(rank, count), (rank + k) % size, k) for k in range(1, size)]
    for k in range(1, size):
        source, got = (rank - k) % size, poisoned(count)
        said = comm.recv(got, source, k)
        assert (said.source, said.tag) == (source, k)
        same(got, contribution(source, count), f"message of rank {source}")
    for request in sent:
        request.wait()


if rank_0_late := float(os.environ.get("RANK_0_LATE", "0")):
    mine = next(os.environ[name] for name in ("STRETTO_RANK", "RANK") if name in os.environ)
    time.sleep(rank_0_late if mine == "0" else 0)
comm = stretto.init()
rank, size = comm.rank, comm.size
for count in SIZES:
    collectives(count)
    messages(count)
comm.finalize()
print("ended well")
