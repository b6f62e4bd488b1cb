# SPDX-License-Identifier: BSD-3-Clause
"""Data for the jobs: they depend on rank and index, and no reduction of them rounds."""

from __future__ import annotations

import functools

import numpy as np

DTYPES = (np.float32, np.float64, np.int32, np.int64)
FOLDS = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}
POISON = 77


def data(rank: int, size: int, count: int, op: str, dtype=np.int64) -> np.ndarray:
    index = np.arange(count, dtype=np.int64)
    if op == "prod":  # one rank has a 3, the others 1 or -1
        return np.where(index % size == rank, 3, 1 - 2 * ((index + rank) % 3 == 0)).astype(dtype)
    return ((index * 31 + rank * 17) % 1009 - 500).astype(dtype)


def reduced(size: int, count: int, op: str) -> np.ndarray:
    # One by one: the contributions of 64 ranks on each of them would fill the memory.
    return functools.reduce(FOLDS[op], (data(rank, size, count, op) for rank in range(size)))


def poisoned(count: int, dtype) -> np.ndarray:
    return np.full(count, POISON, dtype)


def same(got: np.ndarray, right: np.ndarray, what: str) -> None:
    if not np.array_equal(got, right):
        wrong = np.flatnonzero(got.reshape(-1) != right.reshape(-1))
        raise SystemExit(
            f"{what}: {len(wrong)} of {right.size} wrong, the first at {wrong[0]}: "
            f"{got.reshape(-1)[wrong[0]]}, not {right.reshape(-1)[wrong[0]]}"
        )
