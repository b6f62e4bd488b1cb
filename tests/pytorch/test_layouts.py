# SPDX-License-Identifier: BSD-3-Clause
"""Tensors that are not one run of memory, share memory, or have other shapes than the call's."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from exact import assert_same, mine, poisoned, reduced
from worlds import World

F32 = torch.float32


def here() -> tuple[int, int]:
    return dist.get_rank(), dist.get_world_size()


def transposed(values: torch.Tensor) -> torch.Tensor:
    """The same values, three a row, in memory column by column."""
    return values.reshape(-1, 3).t().contiguous().t()


def strided(values: torch.Tensor) -> torch.Tensor:
    """The same values in every second place of larger memory; the gaps must stay."""
    memory = torch.full((2 * values.numel(),), -1.0, dtype=values.dtype)
    view = memory[::2].reshape(values.shape) if values.dim() == 1 else memory[::2]
    view.copy_(values.reshape(view.shape))
    return view


def all_reduce_of_views() -> None:
    rank, size = here()
    wanted = reduced(size, 12, F32, "SUM")
    x = transposed(mine(rank, size, 12, F32))
    dist.all_reduce(x)
    assert_same(x, wanted.reshape(-1, 3))
    y = strided(mine(rank, size, 12, F32))
    dist.all_reduce(y)
    assert_same(y, wanted)
    gaps = y.as_strided((12,), (2,), 1)
    assert torch.equal(gaps, torch.full((12,), -1.0))
    slices = torch.zeros(4, 12)
    slices[2] = mine(rank, size, 12, F32)
    dist.all_reduce(slices[2])
    assert_same(slices[2], wanted)
    assert not slices[[0, 1, 3]].any()


def channels_last() -> None:
    rank, size = here()
    image = mine(rank, size, 2 * 3 * 4 * 5, F32).reshape(2, 3, 4, 5)
    x = image.contiguous(memory_format=torch.channels_last)
    dist.all_reduce(x)
    assert_same(x, reduced(size, 120, F32, "SUM").reshape(2, 3, 4, 5))
    assert x.is_contiguous(memory_format=torch.channels_last)
    dist.broadcast(x, size - 1)


def movement_of_views() -> None:
    rank, size = here()
    given = [mine(r, size, 12, F32).reshape(-1, 3) for r in range(size)]
    root = size - 1
    x = transposed(given[rank])
    dist.broadcast(x, root)
    assert_same(x, given[root])

    outputs = [transposed(poisoned(12, F32)) for _ in range(size)]
    dist.all_gather(outputs, transposed(given[rank]))
    for r in range(size):
        assert_same(outputs[r], given[r])

    stacked = torch.empty(3, size, 4).permute(1, 2, 0)  # not contiguous
    dist.all_gather_into_tensor(stacked, transposed(given[rank]))
    for r in range(size):
        assert_same(stacked[r], given[r])

    collected = [transposed(poisoned(12, F32)) for _ in range(size)] if rank == root else None
    dist.gather(transposed(given[rank]), collected, root)
    for r, part in enumerate(collected or []):
        assert_same(part, given[r])

    received = transposed(poisoned(12, F32))
    parts = [transposed(part) for part in given] if rank == root else None
    dist.scatter(received, parts, root)
    assert_same(received, given[rank])

    outputs = [transposed(poisoned(12, F32)) for _ in range(size)]
    dist.all_to_all(outputs, [transposed(given[rank] + r) for r in range(size)])
    for r in range(size):
        assert_same(outputs[r], given[r] + rank)


def reduce_scatter_of_views() -> None:
    rank, size = here()
    wanted = reduced(size, 12 * size, F32, "SUM").reshape(size, -1, 3)[rank]
    x = mine(rank, size, 12 * size, F32)
    y = transposed(poisoned(12, F32))
    dist.reduce_scatter_tensor(y, transposed(x))
    assert_same(y, wanted)
    y = transposed(poisoned(12, F32))
    dist.reduce_scatter(y, [transposed(part) for part in x.split(12)])
    assert_same(y, wanted)


def views_in_flight() -> None:
    """Results are in place when a wait has returned."""
    rank, size = here()
    tensors = [transposed(mine(rank, size, 12, F32)) for _ in range(4)]
    works = [dist.all_reduce(x, async_op=True) for x in tensors]
    for work in reversed(works):
        work.wait()
    for x in tensors:
        assert_same(x, reduced(size, 12, F32, "SUM").reshape(-1, 3))


def parts_of_one_tensor() -> None:
    """Outputs of a list are rows of one tensor, in and out of order."""
    rank, size = here()
    whole = poisoned(size * 5, F32).reshape(size, 5)
    dist.all_gather(list(whole.unbind()), mine(rank, size, 5, F32))
    for r in range(size):
        assert_same(whole[r], mine(r, size, 5, F32))
    dist.all_gather(list(reversed(whole.unbind())), mine(rank, size, 5, F32))
    for r in range(size):
        assert_same(whole[size - 1 - r], mine(r, size, 5, F32))


def in_place() -> None:
    """Inputs lie in the output, where the result will be."""
    rank, size = here()
    whole = torch.zeros(size * 7)
    own = whole[rank * 7 : rank * 7 + 7]
    own.copy_(mine(rank, size, 7, F32))
    dist.all_gather_into_tensor(whole, own)
    for r in range(size):
        assert_same(whole[7 * r : 7 * r + 7], mine(r, size, 7, F32))

    x = mine(rank, size, 7 * size, F32)
    dist.reduce_scatter_tensor(x[7 * rank : 7 * rank + 7], x)
    assert_same(
        x[7 * rank : 7 * rank + 7], reduced(size, 7 * size, F32, "SUM")[7 * rank : 7 * rank + 7]
    )

    x = torch.cat([mine(rank * size + r, size, 7, F32) for r in range(size)])
    dist.all_to_all_single(x, x)
    for r in range(size):
        assert_same(x[7 * r : 7 * r + 7], mine(r * size + rank, size, 7, F32))


def nothing() -> None:
    """Tensors without elements, of any shape."""
    rank, size = here()
    for shape in (0,), (0, 5), (3, 0, 2):
        dist.all_reduce(torch.empty(shape))
        dist.broadcast(torch.empty(shape), size - 1)
        dist.all_gather([torch.empty(shape) for _ in range(size)], torch.empty(shape))
        dist.reduce_scatter(torch.empty(shape), [torch.empty(shape) for _ in range(size)])
        dist.all_to_all([torch.empty(shape)] * size, [torch.empty(shape)] * size)
    dist.all_to_all_single(torch.empty(0, 4), torch.empty(0, 4))


def scalars() -> None:
    rank, size = here()
    x = torch.tensor(float(rank))
    dist.all_reduce(x)
    assert x.item() == sum(range(size))
    outputs = [torch.tensor(-1.0) for _ in range(size)]
    dist.all_gather(outputs, torch.tensor(float(rank)))
    assert [y.item() for y in outputs] == list(range(size))


def gradients_are_not_asked() -> None:
    """Tensors that need gradients, and their views, are only data."""
    rank, size = here()
    parameter = torch.nn.Parameter(mine(rank, size, 6, F32))
    with torch.no_grad():
        dist.all_reduce(parameter)
    assert_same(parameter.detach(), reduced(size, 6, F32, "SUM"))
    (parameter * 2).sum().backward()
    dist.all_reduce(parameter.grad)
    assert torch.equal(parameter.grad, torch.full((6,), 2.0 * size))


@pytest.mark.parametrize(
    "case",
    [
        all_reduce_of_views,
        channels_last,
        movement_of_views,
        reduce_scatter_of_views,
        views_in_flight,
        parts_of_one_tensor,
        in_place,
        nothing,
        scalars,
        gradients_are_not_asked,
    ],
    ids=lambda function: function.__name__,
)
def test_layout(world: World, case) -> None:
    world.run(case)
