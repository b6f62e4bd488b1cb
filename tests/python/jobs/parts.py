# SPDX-License-Identifier: BSD-3-Clause
"""Collectives whose ranks have parts of an array, by every algorithm, equal parts or not."""

from __future__ import annotations

import itertools

import numpy as np
import stretto
from exact import DTYPES, FOLDS, data, poisoned, reduced, same
from stretto import IN_PLACE

comm = stretto.init()
rank, size = comm.rank, comm.size
turns = itertools.cycle(itertools.product(DTYPES, FOLDS, (False, True)))


def place(values: np.ndarray, shared: bool) -> np.ndarray:
    if not shared:
        return values.copy()
    array = comm.alloc(values.shape, values.dtype)
    array[...] = values
    return array


def wholes(count: int, dtype) -> np.ndarray:
    """What each rank has for all ranks."""
    return np.stack([data(each, size, count * size, "sum", dtype) for each in range(size)])


def gather(count: int, dtype, root: int, shared: bool, what: str) -> None:
    right = np.stack([data(each, size, count, "sum", dtype) for each in range(size)])
    send = place(right[rank], shared)
    for result in (comm.gather(send, root=root), comm.igather(send, root=root).wait()):
        if rank != root:
            assert result is None
            continue
        assert result.shape == (size, count)
        same(result, right, what)
    recv = place(np.full((size, count), 77, dtype), shared)
    recv[rank] = right[rank]
    result = comm.gather(IN_PLACE if rank == root else send, recv, root)
    if rank == root:
        assert result is recv
        same(recv, right, what + ", in place")


def scatter(count: int, dtype, root: int, shared: bool, what: str) -> None:
    whole = wholes(count, dtype)[root]
    right = whole[rank * count :][:count]
    recv = place(poisoned(count, dtype), shared)
    send = place(whole, shared) if rank == root else None
    assert comm.scatter(send, recv, root) is recv
    same(recv, right, what)
    recv[:] = 77
    same(comm.iscatter(send, recv, root).wait(), right, what + ", nonblocking")
    if rank == root:
        same(send, whole, what + ", send")
        assert comm.scatter(send.reshape(size, count), root=root).shape == (count,)
        kept = comm.scatter(send, IN_PLACE, root)
        assert np.shares_memory(kept, send) or count == 0
        same(kept, right, what + ", in place")
    else:
        comm.scatter(None, recv, root)
        recv[:] = 77
        same(comm.scatter(None, recv, root), right, what + ", in place")


def alltoall(count: int, dtype, shared: bool, what: str) -> None:
    all_sent = wholes(count, dtype)
    right = np.concatenate([each[rank * count :][:count] for each in all_sent])
    send = place(all_sent[rank], shared)
    result = comm.alltoall(send.reshape(size, count))
    assert result.shape == (size, count)
    same(result.reshape(-1), right, what)
    same(comm.ialltoall(send).wait(), right, what + ", nonblocking")
    same(comm.alltoall(IN_PLACE, send), right, what + ", in place")


def allgatherv(counts: list[int], dtype, shared: bool, what: str) -> None:
    parts = [data(each, size, counts[each], "sum", dtype) for each in range(size)]
    right, begin = np.concatenate(parts), sum(counts[:rank])
    send = place(parts[rank], shared)
    same(comm.allgatherv(send, counts), right, what)
    same(comm.iallgatherv(send, tuple(counts)).wait(), right, what + ", nonblocking")
    recv = place(poisoned(sum(counts), dtype), shared)
    recv[begin:][: counts[rank]] = parts[rank]
    assert comm.allgatherv(IN_PLACE, counts, recv) is recv
    same(recv, right, what + ", in place")


def reduce_scatterv(counts: list[int], dtype, op: str, shared: bool, what: str) -> None:
    total = sum(counts)
    send = place(data(rank, size, total, op, dtype), shared)
    right = reduced(size, total, op)[sum(counts[:rank]) :][: counts[rank]]
    same(comm.reduce_scatterv(send, counts, op=op), right, what)
    same(comm.ireduce_scatterv(send, np.array(counts), op=op).wait(), right, what + ", nonblocking")
    same(comm.reduce_scatterv(IN_PLACE, counts, send, op), right, what + ", in place")


def each_algorithm(collective: str):
    for name in stretto.algorithms(collective, size):
        comm.force_algorithm(name)
        for turn, count in enumerate((0, 1, size + 1, 1009, 20_011)):
            dtype, op, shared = next(turns)
            what = f"rank {rank}: {collective}, {name}, {count} x {dtype.__name__}, {op}, {shared}"
            yield count, dtype, op, turn % size, shared, what
    comm.force_algorithm(None)


def unequal(count: int) -> list[int]:
    return [0 if each == 1 else count + each for each in range(size)]


for count, dtype, _, root, shared, what in each_algorithm("gather"):
    gather(count, dtype, root, shared, what)
for count, dtype, _, root, shared, what in each_algorithm("scatter"):
    scatter(count, dtype, root, shared, what)
for count, dtype, _, _, shared, what in each_algorithm("alltoall"):
    alltoall(count, dtype, shared, what)
for count, dtype, _, _, shared, what in each_algorithm("allgather"):
    allgatherv(unequal(count), dtype, shared, what)
for count, dtype, op, _, shared, what in each_algorithm("reduce_scatter"):
    reduce_scatterv(unequal(count), dtype, op, shared, what)

assert comm.chosen_algorithm("alltoall", 10) == "direct"
assert {line.collective for line in comm.stats()} >= {"gather", "scatter", "alltoall"}
comm.finalize()
if rank == 0:
    print("ended well")
