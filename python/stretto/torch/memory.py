# SPDX-License-Identifier: BSD-3-Clause
"""Tensors in memory that all ranks of a host read in place."""

from __future__ import annotations

import math
from typing import Any

import torch

from stretto.communicator import Communicator
from stretto.errors import ArgumentError


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


def empty(*size: int, dtype: torch.dtype | None = None, group: Any = None) -> torch.Tensor:
    """A new tensor in memory that all ranks of this host read in place: collectives of the group
    (None: the default group) on it cost none of the copies that other tensors do.

    Local, not collective.  Raises ArgumentError if the group is not Stretto's, OutOfMemoryError.
    """
    from stretto.torch.registration import communicator

    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    if any(length < 0 for length in shape):
        raise ArgumentError(f"no tensor has the shape {shape}")
    return shared(communicator(group), shape, dtype)
