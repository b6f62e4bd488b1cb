# SPDX-License-Identifier: BSD-3-Clause
"""Messages between two ranks."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from exact import DTYPES, MOVED_ONLY, assert_same, counts, mine, poisoned

F32 = torch.float32


def here() -> tuple[int, int]:
    return dist.get_rank(), dist.get_world_size()


def ring() -> None:
    """Every type and count, to the next rank, from the one before."""
    rank, size = here()
    after, before = (rank + 1) % size, (rank - 1) % size
    for dtype in [*DTYPES, *MOVED_ONLY]:
        for count in [*counts(size), 100_003]:
            sent = dist.isend(mine(rank, size, count, dtype), after)
            y = poisoned(count, dtype)
            dist.recv(y, before)
            sent.wait()
            assert_same(y, mine(before, size, count, dtype), (dtype, count))


def tags() -> None:
    """Messages are taken by their tags, in another order than they were sent."""
    rank, size = here()
    if rank == 0:
        sent = [
            dist.isend(torch.full((3,), 100 * to + tag), to, tag=tag)
            for tag in range(10)
            for to in range(1, size)
        ]
        for work in sent:
            work.wait()
    else:
        for tag in reversed(range(10)):
            y = torch.empty(3, dtype=torch.int64)
            assert dist.recv(y, 0, tag=tag) == 0
            assert y.tolist() == [100 * rank + tag] * 3


def any_source() -> None:
    rank, size = here()
    if rank == 0:
        seen = []
        for _ in range(size - 1):
            y = torch.empty(1, dtype=torch.int64)
            source = dist.recv(y)
            assert y.item() == source
            seen.append(source)
        assert sorted(seen) == list(range(1, size))
    else:
        dist.send(torch.tensor([rank]), 0)
    dist.barrier()


def not_contiguous() -> None:
    rank, size = here()
    values = torch.arange(12.0).reshape(3, 4)
    if rank == 0:
        dist.send(values.t(), 1)
    if rank == 1:
        y = torch.zeros(3, 4).t()
        dist.recv(y, 0)
        assert_same(y, values.t())


def batches() -> None:
    """Exchanges with all ranks, posted in an order that would block if each were waited for."""
    rank, size = here()
    for count in (1, 1000, 100_003):
        received = [torch.empty(count) for _ in range(size)]
        operations = []
        for r in range(size):
            if r != rank:
                operations.append(
                    dist.P2POp(dist.isend, mine(rank * size + r, size, count, F32), r)
                )
                operations.append(dist.P2POp(dist.irecv, received[r], r))
        for work in dist.batch_isend_irecv(operations) if operations else []:
            work.wait()
        for r in range(size):
            if r != rank:
                assert_same(received[r], mine(r * size + rank, size, count, F32), (count, r))


def in_a_group() -> None:
    """Ranks of send and recv are the job's, also in a group of others' numbers."""
    rank, size = here()
    members = [0, size - 1]
    group = dist.new_group(members)
    if rank == size - 1:
        dist.send(torch.tensor([7]), 0, group=group)
        dist.send(torch.tensor([8]), group=group, group_dst=0)
    elif rank == 0:
        y = torch.zeros(1, dtype=torch.int64)
        dist.recv(y, size - 1, group=group)
        assert y.item() == 7
        dist.recv(y, group=group, group_src=1)
        assert y.item() == 8


def objects() -> None:
    rank, size = here()
    if rank == 0:
        dist.send_object_list([{"a": 1}, "b", torch.arange(3)], 1)
    if rank == 1:
        things = [None] * 3
        dist.recv_object_list(things, 0)
        assert things[:2] == [{"a": 1}, "b"] and things[2].tolist() == [0, 1, 2]


@pytest.mark.parametrize("ranks", [2, 3, 5])
@pytest.mark.parametrize(
    "case",
    [ring, tags, any_source, not_contiguous, batches, in_a_group, objects],
    ids=lambda function: function.__name__,
)
def test_messages(worlds, case, ranks: int) -> None:
    worlds[ranks].run(case)
