# SPDX-License-Identifier: BSD-3-Clause
"""Groups come and go: nothing of them stays; jobs start again in the same processes."""

from __future__ import annotations

import gc
import os

import pytest
import torch
import torch.distributed as dist
from exact import assert_same, mine, reduced
from worlds import BACKEND, World, begin

F32 = torch.float32


def here() -> tuple[int, int]:
    return dist.get_rank(), dist.get_world_size()


def resources() -> dict[str, int]:
    """What this process holds."""
    with open("/proc/self/maps") as maps:
        shared = sum(1 for line in maps if "/dev/shm" in line or "memfd" in line)
    return {
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
        "shared mappings": shared,
    }


def works(group=None) -> None:
    """A call of the group's ranks gives what it has to."""
    ranks = dist.get_process_group_ranks(group)
    size = dist.get_world_size()
    x = mine(dist.get_rank(), size, 12, F32)
    dist.all_reduce(x, group=group)
    terms = [mine(r, size, 12, F32) for r in ranks]
    assert_same(x, torch.stack(terms).sum(0))


def every_second() -> None:
    """Groups of some ranks, made by all; ranks outside make calls of other groups meanwhile."""
    rank, size = here()
    even = dist.new_group(range(0, size, 2))
    odd = dist.new_group(range(1, size, 2)) if size > 1 else None
    for _ in range(10):
        if rank % 2 == 0:
            works(even)
        else:
            works(odd)
    works(dist.group.WORLD)


def alone() -> None:
    rank, size = here()
    groups = [dist.new_group([r]) for r in range(size)]
    works(groups[rank])


def in_other_order() -> None:
    """A group numbers its ranks as the list says."""
    rank, size = here()
    group = dist.new_group(list(reversed(range(size))), sort_ranks=False)
    outputs = [torch.empty(1, dtype=torch.int64) for _ in range(size)]
    dist.all_gather(outputs, torch.tensor([rank]), group=group)
    assert [y.item() for y in outputs] == list(reversed(range(size)))


def by_members() -> None:
    """Only the members make the group (use_local_synchronization)."""
    rank, size = here()
    members = list(range(size - 1)) or [0]
    if rank in members:
        works(dist.new_group(members, use_local_synchronization=True))
    works(dist.group.WORLD)


def interleaved() -> None:
    """Calls in flight of several groups at once."""
    rank, size = here()
    groups = [dist.new_group() for _ in range(4)]
    tensors = [mine(rank, size, 100, F32) for _ in range(40)]
    flights = [
        dist.all_reduce(x, group=groups[i % 4], async_op=True) for i, x in enumerate(tensors)
    ]
    for work in flights:
        work.wait()
    for x in tensors:
        assert_same(x, reduced(size, 100, F32, "SUM"))


def leaks() -> None:
    """Two hundred groups leave nothing behind."""
    size = here()[1]

    def come_and_go(times: int) -> None:
        for _ in range(times):
            group = dist.new_group()
            works(group)
            dist.destroy_process_group(group)
            part = dist.new_group(range(max(1, size - 1)))
            if part is not dist.GroupMember.NON_GROUP_MEMBER:
                works(part)
                dist.destroy_process_group(part)
        gc.collect()
        dist.barrier()

    come_and_go(5)
    before = resources()
    come_and_go(100)
    after = resources()
    assert after == before, f"{before} before, {after} after"


@pytest.mark.parametrize(
    "case",
    [every_second, alone, in_other_order, by_members, interleaved, leaks],
    ids=lambda function: function.__name__,
)
def test_groups(world: World, case) -> None:
    world.run(case)


def again(store: str, times: int) -> None:
    """destroy_process_group and init_process_group in turn."""
    rank, size = here()
    held = []
    for i in range(times):
        dist.destroy_process_group()
        begin(f"{store}.{i}", rank, size)
        works(dist.group.WORLD)
        works(dist.new_group())
        gc.collect()
        held.append(resources())
    assert held[-1] == held[2], held


@pytest.mark.parametrize("ranks", [1, 3])
def test_init_again(worlds, tmp_path, ranks: int) -> None:
    worlds[ranks].run(again, str(tmp_path / "store"), 12)


def as_fewer(store: str) -> int:
    """The first ranks go on without the last."""
    rank, size = here()
    dist.destroy_process_group()
    if rank < size - 1:
        dist.init_process_group(
            BACKEND, init_method=f"file://{store}", rank=rank, world_size=size - 1
        )
        works(dist.group.WORLD)
        return dist.get_world_size()
    return 0


def test_init_with_fewer_ranks(worlds, tmp_path) -> None:
    assert worlds[4].run(as_fewer, str(tmp_path / "store")) == [3, 3, 3, 0]
