# SPDX-License-Identifier: BSD-3-Clause
"""Tensors as calls take them: contiguous, of a type that the core knows, several as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import torch

from stretto.errors import ArgumentError

Finish = Callable[[], None]

# Of which the core has numbers; it moves others as bytes.
_KNOWN = frozenset(
    {
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.uint8,
        torch.uint16,
        torch.uint32,
        torch.uint64,
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.float64,
        torch.complex64,
        torch.complex128,
        torch.bool,
    }
)


def only(tensors: Sequence[torch.Tensor], what: str) -> torch.Tensor:
    """The tensor of a call: PyTorch passes lists, of which only one element is of use."""
    if isinstance(tensors, torch.Tensor):
        return tensors
    if len(tensors) != 1:
        raise ArgumentError(f"{what}: one tensor per rank is wanted, not {len(tensors)}")
    return tensors[0]


def dense(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, or a copy of it that is contiguous."""
    if tensor.layout != torch.strided:
        raise ArgumentError(
            f"a {tensor.layout} tensor: only all_reduce takes sparse tensors; use to_dense()"
        )
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    return tensor.detach().contiguous()


def as_moved(tensor: torch.Tensor) -> torch.Tensor:
    """A contiguous tensor for a call that only moves elements: of a type that the core knows."""
    if tensor.dtype in _KNOWN:
        return tensor
    return tensor.reshape(-1).view(torch.uint8)


def readable(tensor: torch.Tensor) -> torch.Tensor:
    """What is sent by a call that moves elements."""
    return as_moved(dense(tensor))


_BATCHED_BYTES = 64 << 10  # a batch copies each tensor twice: larger ones are calls of their own


def batches(tensors: Sequence[torch.Tensor]) -> list[list[torch.Tensor]]:
    """Splits the tensors of a coalesced reduction into batches, and keeps their order.

    Neighbours share a batch if they are small and of one type.  All ranks get the same batches,
    since types and sizes alone decide, on which ranks agree.
    """

    def kind(tensor: torch.Tensor) -> Any:
        small = tensor.layout == torch.strided and tensor.nbytes < _BATCHED_BYTES
        return tensor.dtype if small else object()

    return [list(batch) for _, batch in groupby(tensors, kind)]


class Landing:
    """Where a call puts a result that belongs into `target`.

    buffer: what the call writes.  copy_back: None, or what to do after it.
    fresh: also where the target is contiguous (what the call reads lies in it).
    """

    def __init__(self, target: torch.Tensor, fresh: bool = False):
        self.copy_back: Finish | None = None
        if target.layout != torch.strided:
            raise ArgumentError(f"a {target.layout} tensor cannot hold a result; use a dense one")
        target = target.detach()
        if target.is_contiguous() and not fresh and not target.is_conj() and not target.is_neg():
            self.buffer = target
            return
        self.buffer = made = torch.empty(target.shape, dtype=target.dtype, device=target.device)

        def copy_back() -> None:
            target.copy_(made)

        self.copy_back = copy_back

    @property
    def moved(self) -> torch.Tensor:
        return as_moved(self.buffer)


class Parts:
    """Tensors that a call sees as one after the other."""

    def __init__(self, tensors: Sequence[torch.Tensor]):
        self.tensors = [tensor.detach() for tensor in tensors]
        if len({tensor.dtype for tensor in tensors}) > 1:
            raise ArgumentError(
                "tensors of different types: "
                + ", ".join(sorted({str(tensor.dtype) for tensor in tensors}))
            )
        first = self.tensors[0]
        scale = 1 if first.dtype in _KNOWN else first.element_size()
        self.counts = [tensor.numel() * scale for tensor in self.tensors]
        self.even = len(set(self.counts)) == 1
        self._adjacent = _adjacent(self.tensors)

    def gathered(self) -> torch.Tensor:
        """One tensor with their elements: their own memory, or a copy."""
        if self._adjacent is not None:
            return as_moved(self._adjacent)
        return as_moved(torch.cat([dense(tensor).reshape(-1) for tensor in self.tensors]))

    def landing(self) -> tuple[torch.Tensor, Finish | None]:
        """One tensor for results that belong into them, and what to do after the call."""
        if self._adjacent is not None:
            return as_moved(self._adjacent), None
        lengths = [tensor.numel() for tensor in self.tensors]
        first = self.tensors[0]
        made = torch.empty(sum(lengths), dtype=first.dtype, device=first.device)

        def copy_back() -> None:
            for tensor, part in zip(self.tensors, made.split(lengths), strict=True):
                tensor.copy_(part.view(tensor.shape))

        return as_moved(made), copy_back


def _adjacent(tensors: Sequence[torch.Tensor]) -> torch.Tensor | None:
    """The memory of tensors that lie one after the other in one storage."""
    first = tensors[0]
    at, storage = first.data_ptr(), first.untyped_storage().data_ptr()
    for tensor in tensors:
        if (
            not tensor.is_contiguous()
            or tensor.is_conj()
            or tensor.is_neg()
            or (tensor.numel() != 0 and tensor.data_ptr() != at)
            or tensor.untyped_storage().data_ptr() != storage
        ):
            return None
        at += tensor.numel() * tensor.element_size()
    total = sum(tensor.numel() for tensor in tensors)
    return first.as_strided((total,), (1,)) if total else first.new_empty(0)


def share_memory(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether contiguous tensors overlap."""
    start, its_start = one.data_ptr(), other.data_ptr()
    length = one.numel() * one.element_size()
    its_length = other.numel() * other.element_size()
    return start < its_start + its_length and its_start < start + length
