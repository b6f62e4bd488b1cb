# SPDX-License-Identifier: BSD-3-Clause
"""Types of elements, by the names that Stretto and NumPy share."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from stretto import _core
from stretto.errors import ArgumentError


class Form(NamedTuple):
    """What a new array needs to know of one that is not NumPy's."""

    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)


def form_of(send: Any) -> Form:
    """Raises ArgumentError if it is no array, or none that a result of NumPy's can be like."""
    shape, name = _core.describe(send, "send")
    return Form(shape, dtype_named(name))


def dtype_named(name: str) -> np.dtype:
    """NumPy's type; it has bfloat16 only with the package ml_dtypes."""
    if name != "bfloat16":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        raise ArgumentError(
            "NumPy has no bfloat16 without the package ml_dtypes; install it, or pass an array "
            "for the result"
        ) from None
    return np.dtype(ml_dtypes.bfloat16)


def name_of(dtype: DTypeLike) -> str:
    """The name of a type, which may be given by name where NumPy does not know it."""
    # A type equals its name, so the latter must be a text.
    by_name = isinstance(dtype, str) and dtype == "bfloat16"
    return dtype if by_name else np.dtype(dtype).name
