# SPDX-License-Identifier: BSD-3-Clause
"""Operations that a program makes: its own functions, and sums of multiples."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from stretto._core import Operation
from stretto.data import dtype_named, name_of

AnyOp = str | Operation


class Op(Operation):
    """An operation that a Python function performs, for `op` of any reduction.

    function(lower, higher): two arrays of the same length, in one dimension.  It either changes
    `higher` to the result, or returns the result, as NumPy's functions do (`Op(np.hypot)`); `lower`
    must stay as it is, and neither array may be kept.  It must be associative.
    commutative: if False, `lower` holds the operands of the lower ranks.

    The function is called for pieces of the arrays, by whichever thread drives the call, so it
    must not call the communicator.  If it raises, the call fails on every rank with an
    OperationError that says what was raised.  All ranks pass an operation of the same kind; whether
    their functions do the same cannot be checked.
    """

    def __init__(
        self, function: Callable[[np.ndarray, np.ndarray], Any], commutative: bool = True
    ) -> None:
        super().__init__(functools.partial(_apply, function), commutative)


def premul_sum(scalar: Any, dtype: DTypeLike) -> Operation:
    """The sum in which this rank's contribution counts `scalar` times, for arrays of this type.

    Each rank has a scalar of its own.
    """
    name = name_of(dtype)
    if name == "bfloat16":
        return Operation(_bfloat16(float(scalar)), name)
    return Operation(np.asarray(scalar, name).tobytes(), name)


def _bfloat16(value: float) -> bytes:
    """To nearest, a tie to the even."""
    bits = int(np.float32(value).view(np.uint32))
    if value != value:
        return b"\xc0\x7f"
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).to_bytes(2, "little")


def _apply(
    function: Callable[[np.ndarray, np.ndarray], Any],
    lower: memoryview,
    higher: memoryview,
    name: str,
) -> None:
    dtype = dtype_named(name)
    left, right = np.asarray(lower).view(dtype), np.asarray(higher).view(dtype)
    owners = [weakref.ref(_owner(left)), weakref.ref(_owner(right))]
    result = function(left, right)
    if result is not None and result is not right:
        if np.shape(result) != right.shape:
            raise ValueError(f"the result has shape {np.shape(result)}, not {right.shape}")
        np.copyto(right, result, casting="same_kind")
    del left, right, result
    if any(owner() is not None for owner in owners):
        raise ValueError("the function has kept an array whose memory is gone now")


def _owner(array: np.ndarray) -> memoryview:
    """What lives as long as the array and all its views do."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.base
