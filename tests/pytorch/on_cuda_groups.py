# SPDX-License-Identifier: BSD-3-Clause
"""Groups of ranks with CUDA tensors: their names, memory, and training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import on_cuda
import pytest
import real_cuda
import torch
import torch.distributed as dist
import worlds
from exact import assert_same, mine
from on_cuda import COUNT, F32, here
from stretto.errors import ArgumentError
from stretto.torch import communicator, empty
from torch import nn


def allocated() -> None:
    """What FSDP2 asks the backend for."""
    backend = dist.group.WORLD._get_backend(torch.device("cuda"))
    made = backend.allocate_tensor(5, dtype=torch.bfloat16, device=torch.device("cuda", 0))
    assert made.is_cuda and made.shape == (5,) and made.dtype == torch.bfloat16
    assert not backend.allocate_tensor(5, dtype=F32, device=torch.device("cpu")).is_cuda


def one_passes() -> int:
    return sum(line.calls for line in communicator().stats() if line.algorithm == "one_pass")


def in_expandable_segments() -> None:
    """Memory of PyTorch's that other ranks cannot open, and memory of Stretto's that they can."""
    rank, size = here()
    backend = dist.group.WORLD._get_backend(torch.device("cuda"))
    pool = torch.cuda.MemPool(backend.mem_allocator)

    def in_pool(count: int) -> torch.Tensor:
        with torch.cuda.use_mem_pool(pool):
            return torch.empty(count, device="cuda")

    torch.cuda.memory._set_allocator_settings("expandable_segments:True")
    try:
        for make, in_place in (
            (lambda n: torch.empty(2 * n, device="cuda")[:n], False),
            (lambda n: empty(n, device="cuda"), True),
            (lambda n: empty((n,), dtype=F32, device=torch.device("cuda", 0)), True),
            (lambda n: backend.allocate_tensor(n, dtype=F32, device="cuda"), True),
            (in_pool, True),
        ):
            x, y = make(COUNT).copy_(mine(rank, size, COUNT, F32)), make(size * COUNT)
            before = one_passes()
            for _ in range(3):
                dist.all_gather_into_tensor(y, x)
            if in_place or on_cuda.parts is not real_cuda:  # a GPU's may have come before
                assert one_passes() - before == (3 if in_place and size > 1 else 0)
            assert_same(y.cpu(), torch.cat([mine(r, size, COUNT, F32) for r in range(size)]))
    finally:
        torch.cuda.memory._set_allocator_settings("expandable_segments:False")
    with pytest.raises(ArgumentError, match="meta"):
        empty(3, device="meta")


def subgroups() -> None:
    rank, size = here()
    group = dist.new_group(sorted({0, size - 1}))
    if rank in (0, size - 1):
        x = torch.ones(5, device="cuda")
        dist.all_reduce(x, group=group)
        assert x.tolist() == [min(size, 2)] * 5
        dist.destroy_process_group(group)


NAMES: list[tuple[str, dict[str, Any]]] = [
    ("stretto", {}),
    ("cpu:stretto,cuda:stretto", {}),
    ("cuda:stretto", {}),
    ("stretto", {"device_id": torch.device("cuda", 0)}),
]


def named(folder: Path) -> None:
    """Groups that are asked for by each name take the tensors of their devices."""
    rank, size = here()
    dist.destroy_process_group()
    for number, (name, options) in enumerate(NAMES):
        store = f"file://{folder}/{number}"
        dist.init_process_group(name, init_method=store, rank=rank, world_size=size, **options)
        x = torch.ones(3, device="cuda")
        dist.all_reduce(x)
        assert x.tolist() == [size] * 3
        if name != "cuda:stretto":
            y = torch.ones(3)
            dist.all_reduce(y)
            assert y.tolist() == [size] * 3
        found: list[Any] = [None] * size
        dist.all_gather_object(found, {"rank": rank})
        assert found == [{"rank": r} for r in range(size)]
        dist.barrier()
        subgroups()
        assert communicator().size == size
        dist.destroy_process_group()
    worlds.begin(f"{folder}/again", rank, size)


def trained(steps: int, wrap: bool) -> list[torch.Tensor]:
    rank, size = here()
    torch.manual_seed(3)
    model: nn.Module = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    model = model.cuda() if wrap else model
    if wrap:
        model = nn.parallel.DistributedDataParallel(model, device_ids=[0], bucket_cap_mb=0.0005)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, foreach=False)
    for step in range(steps):
        optimizer.zero_grad()
        for r in [rank] if wrap else range(size):
            made = torch.Generator().manual_seed(1000 * step + r)
            x, wanted = torch.randn(6, 8, generator=made), torch.randn(6, 4, generator=made)
            if wrap:
                x, wanted = x.cuda(), wanted.cuda()
            loss = (model(x) - wanted).square().mean()
            (loss if wrap else loss / size).backward()
        optimizer.step()
    return [parameter.detach().cpu() for parameter in model.parameters()]


def ddp() -> None:
    for got, wanted in zip(trained(4, True), trained(4, False), strict=True):
        torch.testing.assert_close(got, wanted)
