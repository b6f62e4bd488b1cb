# SPDX-License-Identifier: BSD-3-Clause
"""Messages, and parts of any size, between ranks with CUDA tensors."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import on_cuda
import pytest
import torch
import torch.distributed as dist
from exact import assert_same, mine
from on_cuda import F32, Behind, here, late, on_device

COUNTS = (1, 1009, 70_001)  # the last ones are read where they are


def neighbours() -> tuple[int, int]:
    rank, size = here()
    return (rank + 1) % size, (rank - 1) % size


def given(rank: int, count: int) -> torch.Tensor:
    return mine(rank, here()[1], count, F32)


def room(count: int, strided: bool) -> torch.Tensor:
    return torch.full((count, 2 if strided else 1), -1.0, device="cuda")[:, -1]


def dense(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty(tensor.shape).copy_(tensor)


def both_ways(send: torch.Tensor, recv: torch.Tensor, sends_first: bool) -> list[Any]:
    right, left = neighbours()
    calls: list[Callable[[], Any]] = [
        lambda: dist.isend(send, right),
        lambda: dist.irecv(recv, left),
    ]
    return [call() for call in (calls if sends_first else calls[::-1])]


def batched(send: torch.Tensor, recv: torch.Tensor) -> list[Any]:
    right, left = neighbours()
    return dist.batch_isend_irecv(
        [dist.P2POp(dist.isend, send, right), dist.P2POp(dist.irecv, recv, left)]
    )


def messages() -> None:
    rank, size = here()
    if size == 1:
        return
    right, left = (rank + 1) % size, (rank - 1) % size
    x, y = on_device(rank), torch.zeros(1009, 2, device="cuda")[:, 0]
    for work in (dist.isend(x, right), dist.irecv(y, left)):
        work.wait()
    assert_same(y.cpu(), mine(left, size, 1009, F32))
    y.zero_()
    operations = [dist.P2POp(dist.isend, x, right), dist.P2POp(dist.irecv, y, left)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    assert_same(y.cpu(), mine(left, size, 1009, F32))
    sending = dist.isend(x, right)
    assert dist.recv(y) == left
    sending.wait()
    assert_same(y.cpu(), mine(left, size, 1009, F32))


def long_messages() -> None:
    """Which ranks read where they are, if a receive finds the stream of its tensor idle."""
    rank, size = here()
    right, left, count = (rank + 1) % size, (rank - 1) % size, 70_001
    for idle in (True, False, True):
        x = on_device(rank, count)
        y = torch.full((count,), -1.0, device="cuda")
        if idle:
            torch.cuda.current_stream().synchronize()
        coming = dist.irecv(y, left) if size > 1 else None
        if size > 1:
            dist.send(x, right)
            coming.wait()
            assert_same(y.cpu(), mine(left, size, count, F32))
        # Part r of rank s has 40,000 elements and 1000 s + r more.
        sent = [40_000 + 1000 * rank + r for r in range(size)]
        received = [40_000 + 1000 * r + rank for r in range(size)]
        parts = [torch.arange(n, device="cuda", dtype=F32) + rank for n in sent]
        z = torch.zeros(sum(received), device="cuda")
        dist.all_to_all_single(z, torch.cat(parts), received, sent)
        for r, part in enumerate(z.cpu().split(received)):
            assert_same(part, torch.arange(received[r], dtype=F32) + r)


def no_host_waits() -> None:
    """Long messages in both directions, in one stream and in any order."""
    rank, size = here()
    if size == 1:
        return
    _, left = neighbours()
    for count in COUNTS:
        for strided in (False, True):
            for start in (
                lambda x, y: both_ways(x, y, True),
                lambda x, y: both_ways(x, y, False),
                lambda x, y: both_ways(x, y, rank != 0),
                batched,
            ):
                with Behind():
                    y = room(count, strided)
                    works = start(late(given(rank, count)), y)
                    others = [torch.empty(count, device="cuda").fill_(-5) for _ in range(3)]
                    for work in works:
                        assert on_cuda.warming or not work.is_completed()
                        work.wait()
                    read = y.clone()
                assert_same(dense(read), given(left, count))
                assert all(other.eq(-5).all() for other in others)


def in_one_stream() -> None:
    """Blocking messages, each behind the one before."""
    rank, size = here()
    if size == 1:
        return
    right, left = neighbours()
    for count in COUNTS:
        with Behind():
            x, y = late(given(rank, count)), room(count, False)
            if rank == 0:
                dist.send(x, right)
                dist.recv(y, left)
            else:
                dist.recv(y, left)
                dist.send(y, right)
            read = y.clone()
        assert_same(dense(read), given(0, count))


def parts_of_any_size() -> None:
    rank, size = here()
    for unit in (0, 3, 40_000):
        for asynchronous in (False, True):
            sent = [unit + 10 * rank + r for r in range(size)]
            received = [unit + 10 * r + rank for r in range(size)]
            whole = torch.cat([torch.arange(n, dtype=F32) + rank for n in sent])
            with Behind():
                z = room(sum(received), asynchronous)
                work = dist.all_to_all_single(z, late(whole), received, sent, async_op=asynchronous)
                if asynchronous:
                    work.wait()
                read = z.clone()
            for r, part in enumerate(dense(read).split(received)):
                assert_same(part, torch.arange(received[r], dtype=F32) + r)


def futures() -> None:
    rank, size = here()
    if size == 1:
        return
    _, left = neighbours()
    for strided in (False, True):
        with Behind():
            y = room(1009, strided)
            sending, coming = both_ways(late(given(rank, 1009)), y, True)
            future = coming.get_future()
            assert future.done()  # its readers wait on their streams
            copied = future.then(lambda done: done.value()[0].clone()).wait()
            sending.wait()
            future.wait()
            read = y.clone()
        assert_same(dense(read), given(left, 1009))
        assert_same(dense(copied), given(left, 1009))
        assert coming.is_success() and sending.is_success()


def of_both_memories() -> None:
    """Messages of one tag arrive in their order, though only some wait for a stream."""
    rank, size = here()
    if size == 1:
        return
    right, left = neighbours()
    with Behind():
        sent = [late(given(rank, 5)), 2 * given(rank, 5), late(3 * given(rank, 5))]
        received = [room(5, False), torch.zeros(5), room(5, False)]
        works = [dist.isend(x, right) for x in sent] + [dist.irecv(y, left) for y in received]
        first, last = works[3], works[5]
        for work in (first, last):
            if on_cuda.streams_wait():
                work.wait()
    for work in works:
        work.wait()
    for factor, found in enumerate(received, 1):
        assert_same(dense(found), factor * given(left, 5))


def from_anybody() -> None:
    rank, size = here()
    if size == 1:
        return
    right, left = neighbours()
    y = room(1009, True)
    sending = dist.isend(given(rank, 1009).cuda(), right)
    assert dist.recv(y) == left
    sending.wait()
    assert_same(dense(y), given(left, 1009))


def behind_the_stream() -> None:
    """The host that begins a message does not wait for the stream, which goes on."""
    rank, size = here()
    if size == 1:
        return
    _, left = neighbours()
    for count in COUNTS:
        for strided in (False, True):
            stream = torch.cuda.current_stream()
            gate = on_cuda.parts.Gate()
            x, y = late(given(rank, count)), room(count, strided)
            opening = threading.Timer(0.1, gate.open)
            opening.start()
            works = both_ways(x, y, count != 1009)
            assert not stream.query()
            opening.join()
            stream.synchronize()  # although nobody has waited for the messages
            for work in works:
                work.wait()
            assert_same(dense(y), given(left, count))


def polled() -> None:
    """A work that says that it has ended has put the data where they belong."""
    rank, size = here()
    if size == 1:
        return
    _, left = neighbours()
    for strided in (False, True):
        y = room(1009, strided)
        works = both_ways(given(rank, 1009).cuda(), y, True)
        for work in works:
            on_cuda.await_end(work)
        assert_same(dense(y), given(left, 1009))


def cut_off() -> str:
    """A message that is longer than its receive.  What the receiver is told, at the latest by a
    later call."""
    rank, _ = here()
    group = dist.new_group()
    told = ""
    if rank == 0:
        dist.isend(torch.ones(70_001, device="cuda"), 1, group=group)
    try:
        if rank == 1:
            dist.recv(torch.ones(1009, device="cuda"), 0, group=group)
            torch.cuda.synchronize()
            end = time.monotonic() + 60
            while time.monotonic() < end:
                dist.isend(torch.ones(1), 2, group=group)
                time.sleep(0.01)
    except RuntimeError as error:
        told = str(error)
    dist.barrier()
    return told


def late_peer() -> str:
    """Nobody takes a message.  What is said of it."""
    rank, size = here()
    group = dist.new_group(timeout=timedelta(seconds=1))
    told = ""
    if rank == 0:
        work = dist.isend(torch.ones(70_001, device="cuda"), size - 1, group=group)
        on_cuda.await_end(work)
        told = str(work.exception())
        with pytest.raises(RuntimeError):
            work.wait()
        torch.cuda.synchronize()  # the stream goes on
    dist.barrier()  # the others wait until rank 0 has, however slow it is
    return told
