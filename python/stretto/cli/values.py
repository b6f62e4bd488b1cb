# SPDX-License-Identifier: BSD-3-Clause
"""Contributions of ranks to a collective, and its right answer: exact in every type and order.

Values depend on rank and index, so that a block in the wrong place is seen, and no result is the
same whatever the ranks give.  Whole numbers are folded in the type itself, where integers wrap.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# Whole numbers up to here have no gaps in the type; integers wrap, and never round.
EXACT = {"bfloat16": 1 << 8, "float16": 1 << 11, "float32": 1 << 24, "complex64": 1 << 24}
WIDEST = 500

LOGICAL = ("land", "lor", "lxor")
FOLDS: dict[str, Callable[..., np.ndarray]] = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "band": np.bitwise_and,
    "bor": np.bitwise_or,
    "bxor": np.bitwise_xor,
    "land": np.logical_and,
    "lor": np.logical_or,
    "lxor": np.logical_xor,
    "avg": np.add,
}


def contribution(
    dtype: np.dtype, op: str, rank: int, ranks: int, first: int, count: int
) -> np.ndarray:
    """What `rank` puts at elements first, first + 1, ..."""
    index = np.arange(first, first + count, dtype=np.int64)
    if dtype.kind == "b" or op in LOGICAL:
        return _truths(op, rank, ranks, index).astype(dtype)
    if op in ("band", "bor"):  # two ranks or so clear, or set, a bit
        noise = _noise(rank, index)
        bit = np.int64(1) << (noise % min(8 * dtype.itemsize, 63))
        bit[(noise >> 8) % ranks > 1] = 0
        return (~bit if op == "band" else bit).astype(dtype)
    values = _numbers(dtype, op, rank, ranks, index).astype(dtype)
    if dtype.kind == "c":
        if op == "prod":
            values[_noise(rank, index) % 3 == 0] *= 1j
        else:
            values += 1j * _numbers(dtype, op, rank, ranks, index + 1)
    return values


def reduction(dtype: np.dtype, op: str, ranks: int, first: int, count: int) -> np.ndarray:
    """Of all ranks' contributions."""
    result = contribution(dtype, op, 0, ranks, first, count)
    for other in range(1, ranks):
        result = FOLDS[op](result, contribution(dtype, op, other, ranks, first, count))
    if op in LOGICAL:
        result = result != 0  # also of one rank
    if op == "avg":
        wide = np.complex128 if dtype.kind == "c" else np.float64
        result = result.astype(wide) / ranks
    return result.astype(dtype)


def _numbers(dtype: np.dtype, op: str, rank: int, ranks: int, index: np.ndarray) -> np.ndarray:
    """Whole numbers whose sums, of whatever ranks, are exact: in the smallest type of 256 ranks."""
    noise = _noise(rank, index)
    if op == "prod":  # of one rank 3, of the others 1, with signs
        return np.where(index % ranks == rank, 3, 1) * (1 - 2 * (noise % 2))
    most = min(WIDEST, EXACT.get(dtype.name, 1 << 53) // ranks)
    if op == "avg":  # half of the ranks have 1 more and half 1 less, so that the division is exact
        most = max(1, most - 1)
        place = (index + rank) % ranks
        more = np.where(place < ranks // 2, 1, np.where(place < ranks // 2 * 2, -1, 0))
        return _noise(0, index) % (2 * most + 1) - most + more
    most = max(1, most)
    return noise % (2 * most + 1) - most


def _truths(op: str, rank: int, ranks: int, index: np.ndarray) -> np.ndarray:
    """Numbers that are 0 or not, such that results are now true and now false."""
    noise = _noise(rank, index)
    if op in ("land", "band", "min"):  # seldom false
        return np.where(noise % (2 * ranks + 1) == 0, 0, 1 + noise % 100)
    if op in ("lor", "bor", "max"):  # seldom true
        return np.where(noise % (2 * ranks + 1) == 0, 1 + noise % 100, 0)
    return noise % 3


def _noise(rank: int, index: np.ndarray) -> np.ndarray:
    """Numbers from 0 to 2^62 without a pattern, always the same."""
    mixed = (index + 1).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed += np.uint64((rank + 1) * 0xD1B54A32D192ED03 % (1 << 64))
    for shift in (30, 27):
        mixed ^= mixed >> np.uint64(shift)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return (mixed >> np.uint64(2)).astype(np.int64)
