# SPDX-License-Identifier: BSD-3-Clause
"""What PyTorch builds upon process groups: meshes, functional collectives, checkpoints, loaders."""

from __future__ import annotations

from datetime import timedelta

import pytest
import stretto.torch
import torch
import torch.distributed as dist
from exact import assert_same, mine, reduced

F32 = torch.float32


def here() -> tuple[int, int]:
    return dist.get_rank(), dist.get_world_size()


def functional() -> None:
    from torch.distributed import _functional_collectives as functions

    rank, size = here()
    x = mine(rank, size, 12, F32)
    group = dist.group.WORLD
    assert_same(functions.all_reduce(x, "sum", group) + 0, reduced(size, 12, F32, "SUM"))
    gathered = functions.all_gather_tensor(x, 0, group) + 0
    assert_same(gathered, torch.cat([mine(r, size, 12, F32) for r in range(size)]))
    scattered = functions.reduce_scatter_tensor(x.repeat(size), "sum", 0, group) + 0
    assert_same(scattered, reduced(size, 12, F32, "SUM"))
    exchanged = functions.all_to_all_single(x.repeat(size), None, None, group) + 0
    assert_same(exchanged, torch.cat([mine(r, size, 12, F32) for r in range(size)]))
    assert_same(functions.broadcast(x, size - 1, group) + 0, mine(size - 1, size, 12, F32))
    total = reduced(size, 12, F32, "SUM")
    many = functions.all_reduce_coalesced([x, x * 2, x.double(), x.double(), x], "sum", group)
    for result, expected in zip(
        many, [total, 2 * total, *[total.double()] * 2, total], strict=True
    ):
        assert_same(result + 0, expected)


def differentiable() -> None:
    import torch.distributed.nn.functional as functions

    rank, size = here()
    x = mine(rank, size, 5, F32).requires_grad_()
    (functions.all_reduce(x) * (rank + 1)).sum().backward()
    assert torch.equal(x.grad, torch.full((5,), float(sum(range(1, size + 1)))))


def compiled() -> None:
    """Without a C++ compiler's help: the graph is traced, and run as it is."""
    rank, size = here()

    @torch.compile(backend="aot_eager", fullgraph=True)
    def doubled(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        dist.all_reduce(y)
        return y + 1

    x = mine(rank, size, 12, F32)
    assert_same(doubled(x), 2 * reduced(size, 12, F32, "SUM") + 1)


def meshes() -> None:
    from torch.distributed.device_mesh import init_device_mesh

    rank, size = here()
    mesh = init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("rows", "columns"))
    for name in "rows", "columns":
        group = mesh[name].get_group()
        x = torch.tensor([rank])
        dist.all_reduce(x, group=group)
        assert x.item() == sum(dist.get_process_group_ranks(group))


def distributed_tensors() -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor

    _, size = here()
    mesh = init_device_mesh("cpu", (size,))
    a = torch.arange(7.0 * 5).reshape(7, 5)  # rows that no number of ranks here divides
    b = torch.arange(5.0 * 6).reshape(5, 6)
    for first in Shard(0), Shard(1), Replicate():
        for second in Shard(0), Shard(1), Replicate():
            x = distribute_tensor(a, mesh, [first])
            y = distribute_tensor(b, mesh, [second])
            assert torch.equal((x @ y).full_tensor(), a @ b), (first, second)
    sharded = distribute_tensor(a, mesh, [Shard(0)])
    assert torch.equal(sharded.redistribute(mesh, [Shard(1)]).full_tensor(), a)
    assert isinstance(sharded.sum().placements[0], Partial)
    assert sharded.sum().full_tensor() == a.sum()


def tensor_parallel() -> None:
    from torch import nn
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    _, size = here()
    torch.manual_seed(3)
    whole = nn.Sequential(nn.Linear(6, 4 * size), nn.ReLU(), nn.Linear(4 * size, 6))
    inputs = torch.randn(5, 6)
    wanted = whole(inputs)
    mesh = init_device_mesh("cpu", (size,))
    parallel = parallelize_module(whole, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    torch.testing.assert_close(parallel(inputs), wanted)


def checkpoint(folder: str) -> None:
    import torch.distributed.checkpoint as checkpoints
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor, zeros

    rank, size = here()
    mesh = init_device_mesh("cpu", (size,))
    whole = torch.arange(40.0).reshape(8, 5)
    saved = {"sharded": distribute_tensor(whole, mesh, [Shard(0)]), "plain": torch.arange(3)}
    checkpoints.save(saved, checkpoint_id=folder)
    loaded = {
        "sharded": zeros(8, 5, device_mesh=mesh, placements=[Shard(1)]),
        "plain": torch.zeros(3, dtype=torch.int64),
    }
    checkpoints.load(loaded, checkpoint_id=folder)
    assert torch.equal(loaded["sharded"].full_tensor(), whole)
    assert torch.equal(loaded["plain"], torch.arange(3))


def loaders() -> None:
    """Worker processes of a DataLoader are forked while calls are in flight."""
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

    rank, size = here()
    data = TensorDataset(torch.arange(60))
    for epoch in range(2):
        sampler = DistributedSampler(data, shuffle=True)
        sampler.set_epoch(epoch)
        x = mine(rank, size, 100_000, F32)
        work = dist.all_reduce(x, async_op=True)
        seen = torch.zeros(60, dtype=torch.int64)
        for (part,) in DataLoader(
            data, batch_size=7, sampler=sampler, num_workers=2, multiprocessing_context="fork"
        ):
            seen[part] += 1
        work.wait()
        assert_same(x, reduced(size, 100_000, F32, "SUM"))
        dist.all_reduce(seen)
        assert torch.equal(seen, torch.ones(60, dtype=torch.int64)) or 60 % size


def profiles() -> None:
    """The profiler shows calls, with the shapes of their inputs."""
    rank, size = here()
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, record_shapes=True) as profile:
        dist.all_reduce(torch.ones(3, 4))
        dist.all_gather([torch.ones(2) for _ in range(size)], torch.ones(2), async_op=True).wait()
        dist.barrier()
    events = {event.name: event for event in profile.events()}
    assert events["stretto:all_reduce"].input_shapes == [[3, 4]]
    assert events["stretto:all_gather"].input_shapes[0] == [2]
    assert {"stretto:barrier", "stretto:all_gather"} <= set(events)


def late_ranks_are_named() -> None:
    """monitored_barrier, by the group: dist.monitored_barrier of 2.13 is for the name gloo."""
    rank, size = here()
    group = dist.group.WORLD
    group.monitored_barrier(timedelta(seconds=20))
    if rank == 0:
        with pytest.raises(RuntimeError, match=f"Rank {size - 1} failed to pass"):
            group.monitored_barrier(timedelta(seconds=1))
    elif rank < size - 1:
        with pytest.raises(RuntimeError, match="rank 0"):
            group.monitored_barrier(timedelta(seconds=1))
    dist.barrier()


def default_device() -> None:
    """What the backend makes for itself is in host memory, wherever tensors of the program are."""
    rank, size = here()
    x = torch.sparse_coo_tensor(torch.tensor([[rank]]), torch.ones(1), (size,))
    torch.set_default_device("meta")
    try:
        dist.group.WORLD.monitored_barrier(timedelta(seconds=20))
        dist.all_reduce(x)
        assert not stretto.torch.empty(0).is_meta
    finally:
        torch.set_default_device(None)
    assert x.to_dense().tolist() == [1] * size


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize(
    "case",
    [
        functional,
        differentiable,
        compiled,
        meshes,
        distributed_tensors,
        tensor_parallel,
        loaders,
        profiles,
        default_device,
        late_ranks_are_named,  # last: ranks have made different numbers of barriers then
    ],
    ids=lambda function: function.__name__,
)
def test_library(worlds, case, ranks: int) -> None:
    worlds[ranks].run(case)


def test_checkpoint(worlds, tmp_path) -> None:
    worlds[2].run(checkpoint, str(tmp_path))
