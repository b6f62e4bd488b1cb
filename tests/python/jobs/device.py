# SPDX-License-Identifier: BSD-3-Clause
"""All collectives with arrays in device memory.  The simulated driver is the argument."""

from __future__ import annotations

import sys

import numpy as np
import stretto
from cuda_arrays import (
    Array,
    ByDescription,
    ByDlpack,
    ByInterface,
    ByManagedMemory,
    ByOldDlpack,
    Driver,
    OfDefaultStream,
    encode,
)
from stretto import IN_PLACE, _core

driver = Driver(sys.argv[1])
comm = stretto.init()
RANK, SIZE = comm.rank, comm.size
KINDS = [ByInterface, OfDefaultStream, ByDlpack, ByOldDlpack, ByManagedMemory, ByDescription]


def numbers(rank: int, count: int) -> np.ndarray:
    """Whose sums over all ranks are exact in all types."""
    return (5 * rank + 3 * np.arange(count)) % 11


def contribution(dtype: str, count: int, rank: int = RANK) -> np.ndarray:
    return encode(numbers(rank, count) % (2 if dtype == "bool" else 11), dtype)


def summed(dtype: str, count: int) -> np.ndarray:
    if dtype == "bool":
        return np.any([contribution(dtype, count, rank) for rank in range(SIZE)], axis=0)
    return encode(np.sum([numbers(rank, count) for rank in range(SIZE)], axis=0), dtype)


def check(found: Array, expected: np.ndarray) -> None:
    assert np.array_equal(found.get(), expected), (found.dtype, found.get(), expected)
    found.free()


def every_type(kind: type[Array]) -> None:
    for dtype in _core.supported():
        op = "lor" if dtype == "bool" else "sum"
        for count in (0, 1, 7, 1009):
            # Written late: the contribution, and what would overwrite the result.
            send = kind(driver, contribution(dtype, count), dtype, late=count > 0)
            recv = kind(driver, encode(np.zeros(count), dtype), dtype, late=count > 0)
            with driver.awaited():
                assert comm.allreduce(send, recv, op) is recv
            check(recv, summed(dtype, count))
            send.free()


def every_collective(kind: type[Array]) -> None:
    # Waited for in the order in which they are made.
    def mine(count: int) -> Array:
        return kind(driver, contribution("int32", count), "int32", late=True)

    def room(count: int) -> Array:
        return kind(driver, np.full(count, -1, np.int32), "int32", late=True)

    count, root = 1009, SIZE - 1
    total = summed("int32", count)
    all_parts = np.concatenate([contribution("int32", count, rank) for rank in range(SIZE)])

    batch = [mine(count), mine(count)]
    with driver.awaited():
        comm.allreduce_batch(batch)
    for each in batch:
        check(each, total)

    array = mine(count)
    with driver.awaited():
        comm.allreduce(IN_PLACE, array)
    check(array, total)

    send, recv = mine(count), room(count) if root == RANK else None
    with driver.awaited():
        comm.reduce(send, recv, root=root)
    if recv is not None:
        check(recv, total)

    array = mine(count)
    with driver.awaited():
        comm.broadcast(array, root)
    check(array, contribution("int32", count, root))

    send, recv = mine(count), room(count * SIZE)
    with driver.awaited():
        comm.allgather(send, recv)
    check(recv, all_parts)

    send, recv = mine(count), room(count * SIZE) if RANK == 0 else None
    with driver.awaited():
        comm.gather(send, recv)
    if recv is not None:
        check(recv, all_parts)

    send, recv = mine(count * SIZE), room(count)
    with driver.awaited():
        comm.reduce_scatter(send, recv)
    check(recv, summed("int32", count * SIZE)[RANK * count :][:count])

    send, recv = mine(count * SIZE) if RANK == 0 else None, room(count)
    with driver.awaited():
        comm.scatter(send, recv)
    check(recv, contribution("int32", count * SIZE, 0)[RANK * count :][:count])

    send, recv = mine(count * SIZE), room(count * SIZE)
    with driver.awaited():
        comm.alltoall(send, recv)
    parts = [
        contribution("int32", count * SIZE, rank)[RANK * count :][:count] for rank in range(SIZE)
    ]
    check(recv, np.concatenate(parts))

    send, recv = mine(count), room(count)
    with driver.awaited():
        request = comm.iallreduce(send, recv)
    assert request.wait() is recv
    check(recv, total)

    # Messages, to the next rank, and collectives that are made of messages.
    for each in (count, 100_003):
        recv, send = room(each), mine(each)
        with driver.awaited():
            received = comm.irecv(recv, (RANK - 1) % SIZE, each)
            comm.isend(send, (RANK + 1) % SIZE, each).wait()
        assert received.wait().bytes == 4 * each
        check(recv, contribution("int32", each, (RANK - 1) % SIZE))

    counts = [count] * SIZE
    send, recv = mine(count * SIZE), room(count * SIZE)
    with driver.awaited():
        comm.alltoallv(send, counts, counts, recv)
    check(recv, np.concatenate(parts))

    # Each rank gives the memory that it has.
    send = mine(count) if RANK % 2 == 0 else contribution("int32", count)
    recv = np.zeros(count, np.int32) if RANK % 3 == 0 else room(count)
    with driver.awaited():
        comm.allreduce(send, recv)
    assert np.array_equal(recv if isinstance(recv, np.ndarray) else recv.get(), total)


for kind in KINDS:
    every_type(kind)
    every_collective(kind)
comm.finalize()
print(f"rank {RANK}: all right")
