# SPDX-License-Identifier: BSD-3-Clause
"""Tensors in memory that all ranks of a host use in place, in host memory and on devices."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import torch

import stretto
from stretto.communicator import Communicator
from stretto.errors import ArgumentError

LIBRARY = Path(stretto.__file__).resolve().parent / "lib" / "libstretto.so.0"


def shared(
    comm: Communicator, shape: tuple[int, ...], dtype: torch.dtype | None = None
) -> torch.Tensor:
    """A tensor of zeros in memory of the communicator, which lives as long as the tensor."""
    dtype = dtype or torch.get_default_dtype()
    count = math.prod(shape)
    if count == 0:
        return torch.zeros(shape, dtype=dtype, device="cpu")
    flat = torch.from_numpy(comm.alloc(count * dtype.itemsize, "uint8"))
    return flat.view(dtype).view(shape)


@cache
def allocator() -> Any:
    """What takes memory of cudaMalloc for `torch.cuda.MemPool`, whatever PyTorch's own allocator
    takes: other processes of the host can open it, which they cannot with expandable segments."""
    functions = "stretto_cuda_alloc", "stretto_cuda_free"
    return torch.cuda.memory.CUDAPluggableAllocator(str(LIBRARY), *functions).allocator()


@cache
def _pool(device: int) -> Any:
    """Of all tensors on a device that are made here.  It stays as long as the process."""
    with torch.cuda.device(device):
        return torch.cuda.MemPool(allocator())


def on_device(
    shape: tuple[int, ...], dtype: torch.dtype | None, device: torch.device
) -> torch.Tensor:
    """A tensor, of any content, that other ranks of the host can use in place."""
    index = torch.cuda.current_device() if device.index is None else device.index
    place = torch.device("cuda", index)
    with torch.cuda.use_mem_pool(_pool(index), place):
        return torch.empty(shape, dtype=dtype, device=place)


def empty(
    *size: int,
    dtype: torch.dtype | None = None,
    device: torch.device | str | int | None = None,
    group: Any = None,
) -> torch.Tensor:
    """A new tensor in memory that all ranks of this host use in place: collectives of the group
    (None: the default group) on it cost none of the copies that other tensors do.

    device: None or "cpu": host memory of the group, zeros.  A CUDA device: memory there that ranks
    with the same GPU, or with peer access, can open, also where PyTorch's own is in expandable
    segments; of any content.

    Local, not collective.  Raises ArgumentError if the group is not Stretto's or the device another
    one, OutOfMemoryError (torch.OutOfMemoryError on a CUDA device).
    """
    from stretto.torch.registration import communicator

    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    if any(length < 0 for length in shape):
        raise ArgumentError(f"no tensor has the shape {shape}")
    comm = communicator(group)
    place = torch.device("cpu" if device is None else device)
    if place.type == "cuda":
        return on_device(shape, dtype, place)
    if place.type != "cpu":
        raise ArgumentError(f"no rank uses memory of {place} in place; cpu and cuda exist")
    return shared(comm, shape, dtype)
