# SPDX-License-Identifier: BSD-3-Clause
"""Every collective by every algorithm, types and operations in rotation, blocking or not."""

from __future__ import annotations

import itertools

import numpy as np
import stretto
from exact import DTYPES, FOLDS, data, poisoned, reduced, same
from stretto import IN_PLACE

comm = stretto.init()
rank, size = comm.rank, comm.size
counts = sorted({0, 1, size - 1, size, size + 1, 1009, 65537})
rotation = itertools.cycle(itertools.product(DTYPES, FOLDS))


def place(values: np.ndarray, shared: bool) -> np.ndarray:
    """The values in private memory, or in memory that the other ranks read in place."""
    if not shared:
        return values.copy()
    array = comm.alloc(len(values), values.dtype)
    array[:] = values
    return array


def allreduce(count: int, dtype, op: str, shared: bool, what: str) -> None:
    mine, right = data(rank, size, count, op, dtype), reduced(size, count, op)
    send, recv = place(mine, shared), place(poisoned(count, dtype), shared)
    assert comm.allreduce(send, recv, op) is recv
    same(recv, right, what)
    same(send, mine, what + ", send")
    same(comm.allreduce(IN_PLACE, send, op), right, what + ", in place")
    same(comm.iallreduce(mine, op=op).wait(), right, what + ", nonblocking")


def reduce(count: int, dtype, op: str, root: int, shared: bool, what: str) -> None:
    mine, right = data(rank, size, count, op, dtype), reduced(size, count, op)
    send = place(mine, shared)
    result = comm.reduce(send, op=op, root=root)
    assert (result is not None) == (rank == root)
    other = comm.ireduce(mine, send if rank == root else None, op, root).wait()
    if rank == root:
        same(result, right, what)
        same(other, right, what + ", nonblocking")


def broadcast(count: int, dtype, root: int, shared: bool, what: str) -> None:
    right = data(root, size, count, "sum", dtype)
    buffer = place(right if rank == root else poisoned(count, dtype), shared)
    assert comm.broadcast(buffer, root) is buffer
    same(buffer, right, what)
    buffer = right.copy() if rank == root else poisoned(count, dtype)
    same(comm.ibroadcast(buffer, root).wait(), right, what + ", nonblocking")


def reduce_scatter(count: int, dtype, op: str, shared: bool, what: str) -> None:
    mine = data(rank, size, size * count, op, dtype)
    right = reduced(size, size * count, op)[rank * count :][:count]
    send = place(mine, shared)
    same(comm.reduce_scatter(send.reshape(size, count), op=op), right, what)
    same(comm.ireduce_scatter(send, op=op).wait(), right, what + ", nonblocking")
    same(comm.reduce_scatter(IN_PLACE, send, op), right, what + ", in place")


def allgather(count: int, dtype, shared: bool, what: str) -> None:
    right = np.stack([data(each, size, count, "sum", dtype) for each in range(size)])
    send = place(right[rank], shared)
    result = comm.allgather(send)
    assert result.shape == (size, count)
    same(result, right, what)
    same(comm.iallgather(send).wait(), right, what + ", nonblocking")
    recv = np.full((size, count), 77, dtype)
    recv[rank] = right[rank]
    same(comm.allgather(IN_PLACE, recv), right, what + ", in place")


def each_algorithm(collective: str):
    """Name by name, with types and operations in rotation, on private and shared memory."""
    for name in stretto.algorithms(collective, size):
        comm.force_algorithm(name)
        for turn, count in enumerate(counts):
            dtype, op = next(rotation)
            shared = turn % 2 == 1
            memory = "shared" if shared else "private"
            what = f"rank {rank}: {collective}, {name}, {count} x {dtype.__name__}, {op}, {memory}"
            yield count, dtype, op, turn % size, shared, what
    comm.force_algorithm("auto")


for count, dtype, op, _, shared, what in each_algorithm("allreduce"):
    allreduce(count, dtype, op, shared, what)
for count, dtype, op, root, shared, what in each_algorithm("reduce"):
    reduce(count, dtype, op, root, shared, what)
for count, dtype, _, root, shared, what in each_algorithm("broadcast"):
    broadcast(count, dtype, root, shared, what)
for count, dtype, op, _, shared, what in each_algorithm("reduce_scatter"):
    reduce_scatter(count, dtype, op, shared, what)
for count, dtype, _, _, shared, what in each_algorithm("allgather"):
    allgather(count, dtype, shared, what)
for name in stretto.algorithms("barrier", size):
    comm.force_algorithm(name)
    comm.barrier()
    comm.ibarrier().wait()
comm.force_algorithm(None)

# Many in flight at once, waited for in another order.
requests = [comm.iallreduce(data(rank, size, count, "sum")) for count in range(20)]
for count in reversed(range(20)):
    same(requests[count].wait(), reduced(size, count, "sum"), f"rank {rank}: {count} in flight")
    assert requests[count].test()

# A persistent one reads what is in its array when it is started.
send, recv = np.zeros(100, np.int64), poisoned(100, np.int64)
request = comm.allreduce_init(send, recv)
for turn in range(5):
    send[:] = data(rank, size, 100, "sum") + turn
    right = reduced(size, 100, "sum") + turn * size
    same(request.start().wait(), right, f"rank {rank}: persistent")

stats = comm.stats()
assert {line.collective for line in stats} >= {"allreduce", "reduce", "broadcast"}
assert all(line.calls > 0 for line in stats)
comm.reset_stats()
comm.allreduce(np.ones(3, np.float32))
(line,) = comm.stats()
assert (line.collective, line.calls, line.bytes) == ("allreduce", 1, 12)
assert line.algorithm == comm.chosen_algorithm("allreduce", 3, np.float32)
assert comm.probe_memory() >= 0
assert comm.network_profile()["links"].keys() == {"inside", "between"}

# A request that nobody keeps still ends, on arrays that nobody else keeps.
for _ in range(10):
    comm.iallreduce(np.ones(5000))
comm.barrier()
comm.finalize()
if rank == 0:
    print("ended well")
