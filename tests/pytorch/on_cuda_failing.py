# SPDX-License-Identifier: BSD-3-Clause
"""Ranks with CUDA tensors that are late or die, and a driver that fails."""

from __future__ import annotations

import os
from datetime import timedelta

import on_cuda
import pytest
import torch
import torch.distributed as dist
from on_cuda import COUNT, here


def late_rank(asynchronous: bool) -> tuple[str, str]:
    """Rank 1 does not come in time.  What the others are told: of the call, by the next one."""
    rank, size = here()
    group = dist.new_group(timeout=timedelta(seconds=1))
    x = torch.ones(COUNT, device="cuda")
    told = ""
    if rank != 1:
        work = dist.all_reduce(x, group=group, async_op=asynchronous)
        if asynchronous:
            on_cuda.await_end(work)
            told = str(work.exception())
            with pytest.raises(RuntimeError):
                work.wait()
            with pytest.raises(RuntimeError):
                work.get_future().wait()
        torch.cuda.synchronize()  # the stream goes on
    dist.barrier()  # rank 1 waits until the others have, however slow they are
    try:
        dist.all_reduce(x, group=group)
        torch.cuda.synchronize()
        dist.all_reduce(x, group=group)
    except RuntimeError as error:
        return told, str(error)
    return told, ""


def late_for_host() -> str:
    """Rank 1 does not come in time.  What the call of the others says."""
    rank, _ = here()
    group = dist.new_group(timeout=timedelta(seconds=1))
    told = ""
    if rank != 1:
        with pytest.raises(RuntimeError) as raised:
            dist.all_reduce(torch.ones(COUNT, device="cuda"), group=group)
        told = str(raised.value)
    dist.barrier()  # rank 1 waits until the others have, however slow they are
    return told


def dead_rank() -> None:
    """Rank 1 dies; the next call of the others says so."""
    rank, _ = here()
    x = torch.ones(COUNT, device="cuda")
    dist.all_reduce(x)
    torch.cuda.synchronize()
    if rank == 1:
        os._exit(3)
    dist.all_reduce(x)
    torch.cuda.synchronize()  # the stream goes on
    dist.all_reduce(x)


def broken_copy() -> str:
    """The driver fails on rank 0, which performs the call for all."""
    rank, _ = here()
    x = torch.ones(COUNT, device="cuda")
    torch.cuda.synchronize()
    if rank == 0:
        on_cuda.parts.fail(0, 700)
    try:
        work = dist.all_reduce(x, async_op=True)
    except RuntimeError as error:  # the other rank's device has failed before this call began
        return str(error)
    on_cuda.await_end(work)
    return str(work.exception())
