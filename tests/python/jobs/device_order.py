# SPDX-License-Identifier: BSD-3-Clause
"""Calls in the order of a stream.  The simulated driver is the argument."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from ctypes import c_int32, c_uint64, c_void_p

import numpy as np
import pytest
import stretto
from cuda_arrays import Array, ByDescription, ByDlpack, ByInterface, ByManagedMemory, Driver
from stretto import IN_PLACE, Communicator, Request

driver = Driver(sys.argv[1])
comm = stretto.init()
RANK, SIZE = comm.rank, comm.size
COUNT, ROOT = 101, SIZE - 1


def contribution(rank: int, count: int) -> np.ndarray:
    return ((5 * rank + 3 * np.arange(count)) % 11).astype(np.int32)


def summed(count: int) -> np.ndarray:
    return np.sum([contribution(rank, count) for rank in range(SIZE)], axis=0, dtype=np.int32)


class OfPytorch:
    def __init__(self, stream: int):
        self.cuda_stream = stream


class OfCupy:
    def __init__(self, stream: int):
        self.ptr = stream


class OfCudaCore:
    def __init__(self, stream: int):
        self.stream = stream

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.stream


def arrays_on(stream: int, kind: type[Array], *values: np.ndarray) -> list[Array]:
    """The stream writes them, late."""
    made = [kind(driver, each, "int32") for each in values]
    driver.close_gate(stream)
    for array in made:
        array.stream = array.consumer = stream
        driver.call(
            "cuMemcpyAsync",
            c_uint64(array.data),
            c_uint64(ctypes.addressof(array.source)),
            c_uint64(array.values.nbytes),
            c_void_p(stream),
        )
    return made


def read_on(stream: int, array: Array) -> ctypes.Array:
    """What the stream finds there when it comes so far."""
    found = driver.pinned(array.values.size, c_int32)
    driver.call(
        "cuMemcpyAsync",
        c_uint64(ctypes.addressof(found)),
        c_uint64(array.data),
        c_uint64(array.values.nbytes),
        c_void_p(stream),
    )
    return found


def open_gates() -> None:
    gates, driver.waiting = driver.waiting, []
    for gate in gates:
        driver.words[gate] = 1


def ordered(
    call: Callable[..., Request],
    given: np.ndarray,
    room: int,
    expected: np.ndarray | None,
    kind: type[Array] = ByInterface,
    wrap: Callable[[int], object] = int,
) -> None:
    """The call, begun at once, gives `expected` to what comes behind it on the stream."""
    stream = driver.made("cuStreamCreate", 0)
    send, recv = arrays_on(stream, kind, given, np.full(room, -1, np.int32))
    before = driver.synchronizations()
    call(send, recv, stream=wrap(stream))  # nobody keeps the request
    assert driver.synchronizations() == before, "the host has waited"
    found = read_on(stream, recv)
    open_gates()
    driver.call("cuStreamSynchronize", c_void_p(stream))
    if expected is not None:
        assert np.array_equal(np.array(found), expected), (np.array(found), expected)


def every_collective(comm: Communicator) -> None:
    mine, whole = contribution(RANK, COUNT), contribution(RANK, COUNT * SIZE)
    all_parts = np.concatenate([contribution(rank, COUNT) for rank in range(SIZE)])
    own = slice(RANK * COUNT, (RANK + 1) * COUNT)
    at_root = RANK == ROOT

    ordered(comm.iallreduce, mine, COUNT, summed(COUNT))
    ordered(
        lambda send, recv, stream: comm.iallreduce(IN_PLACE, send, stream=stream), mine, 1, None
    )
    ordered(
        lambda send, recv, stream: comm.iallreduce_batch([recv, send], stream=stream),
        mine,
        COUNT,
        np.full(COUNT, -SIZE, np.int32),
    )
    ordered(
        lambda send, recv, stream: comm.ireduce(
            send, recv if at_root else None, root=ROOT, stream=stream
        ),
        mine,
        COUNT,
        summed(COUNT) if at_root else np.full(COUNT, -1, np.int32),
    )
    ordered(
        lambda send, recv, stream: comm.ibroadcast(send if at_root else recv, ROOT, stream=stream),
        mine,
        COUNT,
        None if at_root else contribution(ROOT, COUNT),
    )
    ordered(lambda send, recv, stream: comm.ibarrier(stream=stream), mine, 1, None)
    ordered(comm.ireduce_scatter, whole, COUNT, summed(COUNT * SIZE)[own])
    ordered(
        lambda send, recv, stream: comm.ireduce_scatterv(send, [COUNT] * SIZE, recv, stream=stream),
        whole,
        COUNT,
        summed(COUNT * SIZE)[own],
    )
    ordered(comm.iallgather, mine, COUNT * SIZE, all_parts)
    ordered(
        lambda send, recv, stream: comm.iallgatherv(send, [COUNT] * SIZE, recv, stream=stream),
        mine,
        COUNT * SIZE,
        all_parts,
    )
    ordered(
        lambda send, recv, stream: comm.igather(
            send, recv if at_root else None, ROOT, stream=stream
        ),
        mine,
        COUNT * SIZE,
        all_parts if at_root else None,
    )
    ordered(
        lambda send, recv, stream: comm.iscatter(
            send if at_root else None, recv, ROOT, stream=stream
        ),
        whole,
        COUNT,
        contribution(ROOT, COUNT * SIZE)[own],
    )
    ordered(
        comm.ialltoall,
        whole,
        COUNT * SIZE,
        np.concatenate([contribution(rank, COUNT * SIZE)[own] for rank in range(SIZE)]),
    )


def of_any_size(comm: Communicator) -> None:
    """Parts of r + 1 elements from rank r, or for it."""
    counts = [rank + 1 for rank in range(SIZE)]
    flat = np.concatenate([contribution(rank, rank + 1) for rank in range(SIZE)])
    at_root = RANK == ROOT
    ordered(
        lambda send, recv, stream: comm.igatherv(
            send, counts, recv if at_root else None, root=ROOT, stream=stream
        ),
        contribution(RANK, RANK + 1),
        len(flat),
        flat if at_root else None,
    )
    ordered(
        lambda send, recv, stream: comm.iscatterv(
            send if at_root else None, counts, recv, root=ROOT, stream=stream
        ),
        flat,
        RANK + 1,
        contribution(RANK, RANK + 1),
    )
    ordered(
        lambda send, recv, stream: comm.ialltoallv(
            send, [RANK + 1] * SIZE, counts, recv, stream=stream
        ),
        np.tile(contribution(RANK, RANK + 1), SIZE),
        len(flat),
        flat,
    )


def messages(comm: Communicator) -> None:
    right, left = (RANK + 1) % SIZE, (RANK - 1) % SIZE
    for count in (0, 1, COUNT, 100_003):
        # Both ways in one stream, which waits for both.
        def both(send: Array, recv: Array, stream: int) -> None:
            sending = comm.isend(send, right, 3, stream=stream, goes_on=True)
            coming = comm.irecv(recv, left, 3, stream=stream, goes_on=True)
            assert not coming.test() or SIZE == 1
            for request in (sending, coming):
                request.wait_in(stream)

        ordered(both, contribution(RANK, count), count, contribution(left, count))

        # One after the other.
        def in_turn(send: Array, recv: Array, stream: int) -> None:
            if RANK == 0:
                comm.isend(send, right, stream=stream)
                if SIZE > 1:
                    comm.irecv(recv, left, stream=stream)
            else:
                comm.irecv(recv, left, stream=stream)
                comm.isend(recv, right, stream=stream)

        if SIZE > 1:
            ordered(in_turn, contribution(0, count), count, contribution(0, count))

    request = comm.irecv(np.zeros(3, np.int32), RANK)
    with pytest.raises(stretto.ArgumentError, match="a stream is wanted"):
        request.wait_in(None)
    comm.send(np.ones(3, np.int32), RANK)
    message = request.wait()
    assert message is not None and message.bytes == 12
    request.wait_in(1)


def cut_off(comm: Communicator) -> None:
    """A message that is too long for a receive that the program has dropped is no secret."""
    other = comm.dup()
    recv = ByInterface(driver, np.zeros(3, np.int32), "int32")
    stream = driver.made("cuStreamCreate", 0)
    with pytest.raises(stretto.Error, match="do not fit"):  # another rank may have failed already
        other.irecv(recv, RANK, stream=stream)
        other.send(np.ones(5, np.int32), RANK)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            other.iprobe(RANK, 1)


every_collective(comm)
of_any_size(comm)
messages(comm)
cut_off(comm)
for kind in (ByInterface, ByDlpack, ByManagedMemory, ByDescription):
    for wrap in (int, OfPytorch, OfCupy, OfCudaCore):
        ordered(comm.iallreduce, contribution(RANK, COUNT), COUNT, summed(COUNT), kind, wrap)

# Work in another stream: DLPack orders it before the call, else the host waits for it.
for kind in (ByInterface, ByDlpack, ByDescription):
    stream = driver.made("cuStreamCreate", 0)
    send = kind(driver, contribution(RANK, COUNT), "int32", late=True)
    recv = kind(driver, np.zeros(COUNT, np.int32), "int32")
    send.consumer = recv.consumer = stream
    if kind is ByDlpack:
        comm.iallreduce(send, recv, stream=stream)
        found = read_on(stream, recv)
        open_gates()
    else:
        recv.stream = stream
        with driver.awaited():
            comm.iallreduce(send, recv, stream=stream)
        found = read_on(stream, recv)
    driver.call("cuStreamSynchronize", c_void_p(stream))
    assert np.array_equal(np.array(found), summed(COUNT))

for wrong in ("stream", -1, 1.5, True, object()):
    with pytest.raises(stretto.ArgumentError, match="the handle of a CUDA stream is wanted"):
        comm.ibarrier(stream=wrong)
comm.finalize()
print(f"rank {RANK}: all right")
