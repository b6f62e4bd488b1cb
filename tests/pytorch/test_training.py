# SPDX-License-Identifier: BSD-3-Clause
"""What trains on many ranks ends with the parameters that one rank would have."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from worlds import World


def here() -> tuple[int, int]:
    return dist.get_rank(), dist.get_world_size()


def model(width: int = 16) -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(8, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()).append(
        nn.Linear(width, 4)
    )


def batch(rank: int, step: int) -> tuple[torch.Tensor, torch.Tensor]:
    made = torch.Generator().manual_seed(1000 * step + rank)
    return torch.randn(6, 8, generator=made), torch.randn(6, 4, generator=made)


def step_on(trained: nn.Module, inputs: torch.Tensor, wanted: torch.Tensor) -> None:
    nn.functional.mse_loss(trained(inputs), wanted).backward()


def alone(steps: int, size: int) -> nn.Module:
    """Trained by one rank on the batches of all."""
    trained = model()
    optimizer = torch.optim.SGD(trained.parameters(), 0.1)
    for step in range(steps):
        optimizer.zero_grad()
        parts = [batch(rank, step) for rank in range(size)]
        step_on(trained, torch.cat([x for x, _ in parts]), torch.cat([y for _, y in parts]))
        optimizer.step()
    return trained


def assert_like(trained: nn.Module, wanted: nn.Module) -> None:
    for got, want in zip(trained.parameters(), wanted.parameters(), strict=True):
        torch.testing.assert_close(got.detach(), want.detach())


def train(trained: nn.Module, steps: int) -> None:
    optimizer = torch.optim.SGD(trained.parameters(), 0.1)
    for step in range(steps):
        optimizer.zero_grad()
        step_on(trained, *batch(dist.get_rank(), step))
        optimizer.step()


def ddp(**options) -> None:
    trained = DistributedDataParallel(model(), **options)
    train(trained, 4)
    assert_like(trained.module, alone(4, here()[1]))


def ddp_without_sync() -> None:
    """Gradients of two steps, exchanged at the second."""
    rank, size = here()
    trained = DistributedDataParallel(model())
    with trained.no_sync():
        step_on(trained, *batch(rank, 0))
    step_on(trained, *batch(rank, 1))
    single = model()
    for step in range(2):
        for r in range(size):
            step_on(single, *batch(r, step))
    for got, want in zip(trained.module.parameters(), single.parameters(), strict=True):
        torch.testing.assert_close(got.grad, want.grad / size)


def ddp_comm_hook(name: str) -> None:
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    trained = DistributedDataParallel(model())
    trained.register_comm_hook(None, getattr(default_hooks, name))
    train(trained, 4)
    for got, want in zip(
        trained.module.parameters(), alone(4, here()[1]).parameters(), strict=True
    ):
        torch.testing.assert_close(got.detach(), want.detach(), rtol=0.05, atol=0.02)


def ddp_power_sgd() -> None:
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power

    trained = DistributedDataParallel(model())
    trained.register_comm_hook(
        power.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2),
        power.powerSGD_hook,
    )
    train(trained, 4)
    equal_everywhere(trained.module)


def equal_everywhere(trained: nn.Module) -> None:
    for parameter in trained.parameters():
        first = parameter.detach().clone()
        dist.broadcast(first, 0)
        assert torch.equal(first, parameter.detach())


def ddp_uneven_inputs() -> None:
    """Ranks with fewer batches join those that still train."""
    rank, _ = here()
    trained = DistributedDataParallel(model())
    with trained.join():
        for step in range(2 + rank):
            step_on(trained, *batch(rank, step))
    equal_everywhere(trained.module)


def sync_batch_norm_buffers() -> None:
    rank, size = here()
    trained = DistributedDataParallel(nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4)))
    for step in range(3):
        trained(batch(rank, step)[0]).sum().backward()
    trained(batch(rank, 3)[0])  # the buffers of rank 0 come before a forward pass
    equal_everywhere(trained.module[0])


def zero_redundancy() -> None:
    from torch.distributed.optim import ZeroRedundancyOptimizer

    trained = DistributedDataParallel(model())
    optimizer = ZeroRedundancyOptimizer(trained.parameters(), torch.optim.SGD, lr=0.1)
    for step in range(4):
        optimizer.zero_grad()
        step_on(trained, *batch(dist.get_rank(), step))
        optimizer.step()
    assert_like(trained.module, alone(4, here()[1]))


def fsdp(divide_by: float | None = None) -> None:
    """Parameters in shards (FSDP2)."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import FSDPModule, fully_shard

    _, size = here()
    mesh = init_device_mesh("cpu", (size,))
    trained = model(15)  # rows that most numbers of ranks do not divide
    single = copy.deepcopy(trained)
    for layer in trained:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(trained, mesh=mesh)
    for part in trained.modules():
        if isinstance(part, FSDPModule) and divide_by is not None:
            part.set_gradient_divide_factor(divide_by)
    train(trained, 4)
    optimizer = torch.optim.SGD(single.parameters(), 0.1)
    for step in range(4):
        optimizer.zero_grad()
        for r in range(size):
            step_on(single, *batch(r, step))
        for parameter in single.parameters():
            parameter.grad /= size if divide_by is None else divide_by
        optimizer.step()
    for got, want in zip(trained.parameters(), single.parameters(), strict=True):
        torch.testing.assert_close(got.full_tensor().detach(), want.detach())


def fsdp_with_factor() -> None:
    fsdp(divide_by=4.0)


def ddp_view_of_buckets() -> None:
    ddp(gradient_as_bucket_view=True)


def ddp_static_graph() -> None:
    ddp(static_graph=True)


def ddp_many_buckets() -> None:
    ddp(bucket_cap_mb=0.001)


def ddp_unused_parameters() -> None:
    ddp(find_unused_parameters=True)


def ddp_half_hook() -> None:
    ddp_comm_hook("fp16_compress_hook")


def ddp_allreduce_hook() -> None:
    ddp_comm_hook("allreduce_hook")


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize(
    "case",
    [
        ddp,
        ddp_view_of_buckets,
        ddp_static_graph,
        ddp_many_buckets,
        ddp_unused_parameters,
        ddp_without_sync,
        ddp_half_hook,
        ddp_allreduce_hook,
        ddp_power_sgd,
        ddp_uneven_inputs,
        sync_batch_norm_buffers,
        zero_redundancy,
        fsdp,
        fsdp_with_factor,
    ],
    ids=lambda function: function.__name__,
)
def test_training(worlds, case, ranks: int) -> None:
    world: World = worlds[ranks]
    world.run(case)
