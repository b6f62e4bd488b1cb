# SPDX-License-Identifier: BSD-3-Clause
"""Tensors whose elements tell rank and index, and whose reductions are exact in every type."""

from __future__ import annotations

from functools import reduce

import torch

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
COMPLEX = [torch.complex64, torch.complex128]
INTEGERS = [
    torch.int8,
    torch.uint8,
    torch.int16,
    torch.uint16,
    torch.int32,
    torch.uint32,
    torch.int64,
    torch.uint64,
]
# Types that no reduction has, of one to sixteen bytes.
MOVED_ONLY = [torch.float8_e4m3fn, torch.float8_e5m2, torch.complex32]
DTYPES = [*FLOATS, *COMPLEX, *INTEGERS, torch.bool]

_REDUCTIONS = {
    "SUM": torch.add,
    "PRODUCT": torch.mul,
    "MIN": torch.minimum,
    "MAX": torch.maximum,
    "BAND": torch.bitwise_and,
    "BOR": torch.bitwise_or,
    "BXOR": torch.bitwise_xor,
}


def counts(size: int) -> list[int]:
    """Numbers of elements that divide among ranks, and those that do not."""
    return sorted({0, 1, size - 1, size, size + 1, 97, 1009, 4096})


def operations(dtype: torch.dtype) -> list[str]:
    if dtype == torch.bool:
        return ["SUM", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"]
    if dtype.is_complex:
        return ["SUM", "AVG"]
    if dtype.is_floating_point:
        return ["SUM", "PRODUCT", "MIN", "MAX", "AVG"]
    return ["SUM", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"]


def numbers(rank: int, count: int) -> torch.Tensor:
    """Integers below 23, which differ between ranks and neighbours."""
    return (torch.arange(count) * 5 + rank * 7) % 23


def operand(rank: int, size: int, count: int, op: str) -> torch.Tensor:
    """Integers of a rank: no partial result of up to five ranks has more than eight bits."""
    all_numbers = numbers(rank, count)
    if op == "PRODUCT":
        return 1 + all_numbers % 2
    if op == "AVG":
        return all_numbers % 11 * size
    return all_numbers


def typed(integers: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    if dtype == torch.bool:
        return integers % 3 == 0
    if dtype.is_complex:
        return torch.complex(integers.double(), integers.double() * 0 + 2).to(dtype)
    return integers.to(dtype)


def mine(rank: int, size: int, count: int, dtype: torch.dtype, op: str = "SUM") -> torch.Tensor:
    """What a rank contributes."""
    return typed(operand(rank, size, count, op), dtype)


def reduced(size: int, count: int, dtype: torch.dtype, op: str) -> torch.Tensor:
    """What all contributions make."""
    wide = _wide(dtype)
    terms = [mine(rank, size, count, dtype, op).to(wide) for rank in range(size)]
    if dtype == torch.bool:  # any, all, as with NCCL
        op = {"SUM": "BOR", "PRODUCT": "BAND", "MIN": "BAND", "MAX": "BOR"}.get(op, op)
    if op == "AVG":
        return (reduce(torch.add, terms) / size).to(dtype)
    return reduce(_REDUCTIONS[op], terms).to(dtype)


def _wide(dtype: torch.dtype) -> torch.dtype:
    """A type in which PyTorch calculates."""
    if dtype.is_complex:
        return torch.complex128
    if dtype == torch.bool:
        return dtype
    return torch.float64 if dtype.is_floating_point else torch.int64


def poisoned(count: int, dtype: torch.dtype) -> torch.Tensor:
    """Memory that a call has to fill."""
    width = torch.empty(0, dtype=dtype).element_size()
    return torch.full((count * width,), 0xA5, dtype=torch.uint8).view(dtype)


def assert_same(got: torch.Tensor, wanted: torch.Tensor, what: object = "") -> None:
    """Byte for byte, since not all types compare."""
    assert got.dtype == wanted.dtype, what
    assert got.shape == wanted.shape, (what, got.shape, wanted.shape)
    a = got.contiguous().reshape(-1).view(torch.uint8)
    b = wanted.contiguous().reshape(-1).view(torch.uint8)
    assert torch.equal(a, b), f"{what}: {got} instead of {wanted}"
