# SPDX-License-Identifier: BSD-3-Clause
"""Calls in flight: waits in any order and from any thread, futures, errors, timeouts."""

from __future__ import annotations

import os
import threading
import time
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
from exact import assert_same, mine, reduced
from worlds import BACKEND, RankError, World

F32 = torch.float32


def here() -> tuple[int, int]:
    return dist.get_rank(), dist.get_world_size()


def waits_out_of_order() -> None:
    rank, size = here()
    tensors = [mine(rank, size, count, F32) for count in (1, 1000, 7, 100_000, 64)]
    works = [dist.all_reduce(x, async_op=True) for x in tensors]
    for i in (3, 0, 4, 1, 2):
        works[i].wait()
    for work in works:
        work.wait()  # again
        assert work.is_completed()
    for x in tensors:
        assert_same(x, reduced(size, x.numel(), F32, "SUM"))


def waits_on_another_thread() -> None:
    rank, size = here()
    x = mine(rank, size, 1000, F32)
    work = dist.all_reduce(x, async_op=True)
    waiting = threading.Thread(target=work.wait)
    waiting.start()
    waiting.join(30)
    assert not waiting.is_alive()
    assert_same(x, reduced(size, 1000, F32, "SUM"))


def starts_on_another_thread() -> None:
    """One thread starts calls, another waits for them."""
    rank, size = here()
    tensors = [mine(rank, size, 100, F32) for _ in range(50)]
    works = []
    starting = threading.Thread(
        target=lambda: works.extend(dist.all_reduce(x, async_op=True) for x in tensors)
    )
    starting.start()
    starting.join(30)
    for work in works:
        work.wait()
    for x in tensors:
        assert_same(x, reduced(size, 100, F32, "SUM"))


def works_are_polled() -> None:
    rank, size = here()
    x = mine(rank, size, 1000, F32)
    work = dist.all_reduce(x, async_op=True)
    end = time.monotonic() + 30
    while not work.is_completed():
        assert time.monotonic() < end
        time.sleep(0.001)
    assert_same(x, reduced(size, 1000, F32, "SUM"))


def works_are_dropped() -> None:
    """Nobody waits, and nobody keeps the tensors."""
    rank, size = here()
    for _ in range(20):
        dist.all_reduce(mine(rank, size, 1000, F32), async_op=True)
    dist.barrier()


def futures() -> None:
    rank, size = here()
    x = mine(rank, size, 100, F32)
    work = dist.all_reduce(x, async_op=True)
    future = work.get_future().then(lambda done: done.value()[0] * 2)
    assert_same(future.wait(), reduced(size, 100, F32, "SUM") * 2)
    called = threading.Event()
    work = dist.all_reduce(mine(rank, size, 100, F32), async_op=True)
    work.get_future().add_done_callback(lambda done: called.set())
    assert called.wait(30), "nobody waits for this work"


def all_kinds_in_flight() -> None:
    rank, size = here()
    count = 96
    own, root = mine(rank, size, count, F32), size - 1
    gathered = [torch.empty(count) for _ in range(size)]
    flat = torch.empty(count * size)
    scattered, reduced_part = torch.empty(count), torch.empty(count)
    summed, moved = own.clone(), own.clone()
    everyone = [mine(r, size, count, F32) for r in range(size)]
    works = [
        dist.all_gather(gathered, own, async_op=True),
        dist.all_gather_into_tensor(flat, own, async_op=True),
        dist.scatter(scattered, everyone if rank == root else None, root, async_op=True),
        dist.reduce_scatter_tensor(reduced_part, own.repeat(size), async_op=True),
        dist.all_reduce(summed, async_op=True),
        dist.broadcast(moved, root, async_op=True),
        dist.barrier(async_op=True),
    ]
    for work in reversed(works):
        work.wait()
    for r in range(size):
        assert_same(gathered[r], everyone[r])
        assert_same(flat[r * count : (r + 1) * count], everyone[r])
    assert_same(scattered, everyone[rank])
    assert_same(reduced_part, reduced(size, count, F32, "SUM"))
    assert_same(summed, reduced(size, count, F32, "SUM"))
    assert_same(moved, everyone[root])


@pytest.mark.parametrize(
    "case",
    [
        waits_out_of_order,
        waits_on_another_thread,
        starts_on_another_thread,
        works_are_polled,
        works_are_dropped,
        futures,
        all_kinds_in_flight,
    ],
    ids=lambda function: function.__name__,
)
def test_work(world: World, case) -> None:
    world.run(case)


def wrong_arguments() -> None:
    """Errors of one rank's arguments come at once, and later calls work."""
    rank, size = here()
    wrong = [
        lambda: dist.all_reduce(torch.ones(3, dtype=torch.int32), dist.ReduceOp.AVG),
        lambda: dist.all_reduce(torch.ones(3), dist.ReduceOp.BAND),
        lambda: dist.all_gather([torch.ones(3)] * (size + 1), torch.ones(3)),
        lambda: dist.all_gather_into_tensor(torch.ones(3 * size + 1), torch.ones(3)),
        lambda: dist.reduce_scatter_tensor(torch.ones(3), torch.ones(3 * size + 1)),
        lambda: dist.broadcast(torch.ones(3), size),
        lambda: dist.all_to_all_single(torch.ones(size), torch.ones(size), [1] * (size + 1), None),
    ]
    for call in wrong:
        with pytest.raises((RuntimeError, ValueError, TypeError)):
            call()
    x = mine(rank, size, 10, F32)
    dist.all_reduce(x)
    assert_same(x, reduced(size, 10, F32, "SUM"))


def test_errors_of_arguments(pair: World) -> None:
    pair.run(wrong_arguments)


def late(seconds: float, limit: float) -> str:
    """Rank 1 is late for a barrier of a group; what rank 0 is told."""
    group = dist.new_group(timeout=timedelta(seconds=limit))
    if dist.get_rank() == 1:
        time.sleep(seconds)
    try:
        dist.barrier(group)
    except RuntimeError as error:
        return str(error)
    return ""


def test_timeout_of_a_group(pair: World) -> None:
    said = pair.run(late, 4, 1)
    if BACKEND == "stretto":
        assert "rank 0" in said[0] and "limit" in said[0]
    assert said[0]


def late_for_a_work(limit: float) -> str:
    group = dist.new_group()
    if dist.get_rank() == 1:
        time.sleep(3)
    try:
        work = dist.all_reduce(torch.ones(4), group=group, async_op=True)
        work.wait(timedelta(seconds=limit))
    except RuntimeError as error:
        return str(error)
    return ""


def test_timeout_of_a_wait(pair: World) -> None:
    """The wait of one rank ends the group's calls on all."""
    said = pair.run(late_for_a_work, 0.5)
    assert said[0]
    if BACKEND == "stretto":
        assert all("within 0.5 s" in text for text in said)


def leave() -> None:
    """Rank 1 dies in the middle of the job."""
    dist.barrier()
    if dist.get_rank() == 1:
        os._exit(3)
    dist.all_reduce(torch.ones(1000))


def test_death_of_a_rank(worlds) -> None:
    with pytest.raises(RankError, match=r"rank 0: [\s\S]*rank 1[\s\S]*rank 1: ended"):
        worlds[3].run(leave, timeout=30)
