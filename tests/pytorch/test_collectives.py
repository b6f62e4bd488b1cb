# SPDX-License-Identifier: BSD-3-Clause
"""Every collective, element type and operation, and counts that ranks do not divide."""

from __future__ import annotations

import warnings

import pytest
import torch
import torch.distributed as dist
from exact import DTYPES, MOVED_ONLY, assert_same, counts, mine, operations, poisoned, reduced
from worlds import World

LARGE = (1 << 20) + 3


def here() -> tuple[int, int]:
    return dist.get_rank(), dist.get_world_size()


def reductions(size: int):
    """All cases: type, operation, count."""
    for dtype in DTYPES:
        for op in operations(dtype):
            for count in counts(size):
                yield dtype, op, count
    yield torch.float32, "SUM", LARGE


def movements(size: int):
    for dtype in [*DTYPES, *MOVED_ONLY]:
        for count in counts(size):
            yield dtype, count
    yield torch.int64, LARGE


def kind(op: str) -> dist.ReduceOp:
    return getattr(dist.ReduceOp, op)


def all_reduce() -> None:
    rank, size = here()
    for dtype, op, count in reductions(size):
        x = mine(rank, size, count, dtype, op)
        dist.all_reduce(x, kind(op))
        assert_same(x, reduced(size, count, dtype, op), (dtype, op, count))


def all_reduce_coalesced() -> None:
    """Small tensors and a large one.  On odd ranks, some are not contiguous."""
    rank, size = here()
    lengths = [*counts(size), 70_003, 2, 3]

    def strided(given: torch.Tensor, index: int) -> torch.Tensor:
        if rank % 2 == 0 or index % 3 != 0:
            return given
        return torch.stack([given, given], 1)[:, 1]

    for dtype in DTYPES:
        for op in operations(dtype):
            for asynchronous in (False, True):
                tensors = [
                    strided(mine(rank, size, length, dtype, op), index)
                    for index, length in enumerate(lengths)
                ]
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # PyTorch warns that the function is old
                    future = dist.all_reduce_coalesced(tensors, kind(op), async_op=asynchronous)
                if asynchronous:
                    results = future.wait()
                    assert [each.data_ptr() for each in results] == [
                        each.data_ptr() for each in tensors
                    ]
                for length, tensor in zip(lengths, tensors, strict=True):
                    got = torch.empty(length, dtype=dtype).copy_(tensor)
                    assert_same(got, reduced(size, length, dtype, op), (dtype, op, length))


def reduce() -> None:
    rank, size = here()
    for dtype, op, count in reductions(size):
        root = count % size
        x = mine(rank, size, count, dtype, op)
        dist.reduce(x, root, kind(op))
        if rank == root:
            assert_same(x, reduced(size, count, dtype, op), (dtype, op, count))


def reduce_scatter_tensor() -> None:
    rank, size = here()
    for dtype, op, count in reductions(size):
        x = mine(rank, size, count * size, dtype, op)
        y = poisoned(count, dtype)
        dist.reduce_scatter_tensor(y, x, kind(op))
        wanted = reduced(size, count * size, dtype, op)[rank * count : (rank + 1) * count]
        assert_same(y, wanted, (dtype, op, count))


def reduce_scatter() -> None:
    """Of a list whose tensors have as many elements as the rank's number says, and more."""
    rank, size = here()
    for dtype, op, count in reductions(size):
        sizes = [count + r for r in range(size)]
        parts = mine(rank, size, sum(sizes), dtype, op).split(sizes)
        y = poisoned(sizes[rank], dtype)
        dist.reduce_scatter(y, list(parts), kind(op))
        wanted = reduced(size, sum(sizes), dtype, op).split(sizes)[rank]
        assert_same(y, wanted, (dtype, op, count))


def premultiplied() -> None:
    rank, size = here()
    for dtype in torch.float16, torch.bfloat16, torch.float32, torch.float64:
        for count in counts(size):
            x = 2 * mine(rank, size, count, dtype)
            dist.all_reduce(x, dist._make_nccl_premul_sum(0.5))
            assert_same(x, reduced(size, count, dtype, "SUM"), (dtype, count))


def broadcast() -> None:
    rank, size = here()
    for dtype, count in movements(size):
        root = count % size
        x = mine(rank, size, count, dtype) if rank == root else poisoned(count, dtype)
        dist.broadcast(x, root)
        assert_same(x, mine(root, size, count, dtype), (dtype, count))


def all_gather() -> None:
    rank, size = here()
    for dtype, count in movements(size):
        y = [poisoned(count, dtype) for _ in range(size)]
        dist.all_gather(y, mine(rank, size, count, dtype))
        for r in range(size):
            assert_same(y[r], mine(r, size, count, dtype), (dtype, count, r))


def all_gather_uneven() -> None:
    rank, size = here()
    for dtype, count in movements(size):
        y = [poisoned(count + r, dtype) for r in range(size)]
        dist.all_gather(y, mine(rank, size, count + rank, dtype))
        for r in range(size):
            assert_same(y[r], mine(r, size, count + r, dtype), (dtype, count, r))


def all_gather_into_tensor() -> None:
    rank, size = here()
    for dtype, count in movements(size):
        for shape in (size * count,), (size, count):
            y = poisoned(size * count, dtype).reshape(shape)
            dist.all_gather_into_tensor(y, mine(rank, size, count, dtype))
            for r, part in enumerate(y.reshape(size, count)):
                assert_same(part, mine(r, size, count, dtype), (dtype, count, r))


def gather() -> None:
    rank, size = here()
    for dtype, count in movements(size):
        root = count % size
        y = [poisoned(count, dtype) for _ in range(size)] if rank == root else None
        dist.gather(mine(rank, size, count, dtype), y, root)
        for r, part in enumerate(y or []):
            assert_same(part, mine(r, size, count, dtype), (dtype, count, r))


def scatter() -> None:
    rank, size = here()
    for dtype, count in movements(size):
        root = count % size
        parts = [mine(r, size, count, dtype) for r in range(size)]
        y = poisoned(count, dtype)
        dist.scatter(y, parts if rank == root else None, root)
        assert_same(y, parts[rank], (dtype, count))


def all_to_all() -> None:
    """Rank s sends s + r elements, and more, to rank r."""
    rank, size = here()
    for dtype, count in movements(size):
        x = [mine(rank * size + r, size, count + rank + r, dtype) for r in range(size)]
        y = [poisoned(count + rank + r, dtype) for r in range(size)]
        dist.all_to_all(y, x)
        for r in range(size):
            assert_same(y[r], mine(r * size + rank, size, count + r + rank, dtype), (dtype, count))


def all_to_all_single() -> None:
    rank, size = here()
    for dtype, count in movements(size):
        x = torch.cat([mine(rank * size + r, size, count, dtype) for r in range(size)])
        y = poisoned(size * count, dtype)
        dist.all_to_all_single(y, x)
        for r, part in enumerate(y.reshape(size, count)):
            assert_same(part, mine(r * size + rank, size, count, dtype), (dtype, count, r))


def all_to_all_single_uneven() -> None:
    """Of rows of three elements."""
    rank, size = here()
    for dtype, count in movements(size):
        rows = [(count + rank + r) % 5 for r in range(size)]
        parts = [mine(rank * size + r, size, 3 * rows[r], dtype) for r in range(size)]
        y = poisoned(3 * sum(rows), dtype).reshape(-1, 3)
        dist.all_to_all_single(y, torch.cat(parts).reshape(-1, 3), rows, rows)
        for r, part in enumerate(y.split(rows)):
            wanted = mine(r * size + rank, size, 3 * rows[r], dtype).reshape(-1, 3)
            assert_same(part, wanted, (dtype, count, r))


def objects() -> None:
    rank, size = here()
    thing = {"rank": rank, "list": list(range(1000 * rank)), "tensor": torch.full((rank,), rank)}
    gathered = [None] * size
    dist.all_gather_object(gathered, thing)
    for r in range(size):
        assert gathered[r]["rank"] == r
        assert len(gathered[r]["list"]) == 1000 * r
        assert_same(gathered[r]["tensor"], torch.full((r,), r))
    root = size - 1
    things = [thing] if rank == root else [None]
    dist.broadcast_object_list(things, root)
    assert things[0]["rank"] == root
    given = [None]
    dist.scatter_object_list(given, [f"to {r}" for r in range(size)], 0)
    assert given == [f"to {rank}"]
    collected = [None] * size if rank == root else None
    dist.gather_object(rank, collected, root)
    assert collected in (None, list(range(size)))


def barriers() -> None:
    for _ in range(100):
        dist.barrier()


@pytest.mark.parametrize(
    "collective",
    [
        all_reduce,
        all_reduce_coalesced,
        reduce,
        reduce_scatter_tensor,
        reduce_scatter,
        premultiplied,
        broadcast,
        all_gather,
        all_gather_uneven,
        all_gather_into_tensor,
        gather,
        scatter,
        all_to_all,
        all_to_all_single,
        all_to_all_single_uneven,
        objects,
        barriers,
    ],
    ids=lambda function: function.__name__,
)
def test_collective(world: World, collective) -> None:
    world.run(collective)
