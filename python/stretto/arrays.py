# SPDX-License-Identifier: BSD-3-Clause
"""The arrays of a call: the caller's, and new ones for results."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from stretto.data import Form, form_of
from stretto.errors import ArgumentError
from stretto.request import IN_PLACE, InPlace

if TYPE_CHECKING:
    from typing_extensions import Buffer  # of collections.abc, since Python 3.12
else:

    class Buffer(Protocol):
        """Whatever has the buffer protocol, such as array.array."""


class Tensor(Protocol):
    """Whatever has DLPack, such as a tensor of PyTorch, in the memory of the CPU or of CUDA."""

    def __dlpack__(self, *, stream: Any = ...) -> Any: ...

    def __dlpack_device__(self) -> tuple[Any, int]: ...


class CudaArray(Protocol):
    """Whatever has `__cuda_array_interface__`, such as a device array of Numba."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


AnyArray = np.ndarray | Buffer | Tensor | CudaArray
"""Every array that a call takes."""
Given = TypeVar("Given", bound=AnyArray)
"""The array for a result, which the call returns."""


def given(array: AnyArray | InPlace) -> Any:
    """As the extension module wants it: nothing stands for IN_PLACE."""
    return None if array is IN_PLACE else array


def shape_of(send: Any) -> np.ndarray | Form:
    """Something with the shape and the type of a contribution."""
    if isinstance(send, np.ndarray):
        return send
    if send is IN_PLACE:
        raise ArgumentError("recv: IN_PLACE needs an array that holds the contribution")
    return form_of(send)


def like(send: AnyArray | InPlace, recv: Any) -> Any:
    """`recv`, or a new array like `send`, which is in host memory then."""
    if recv is not None:
        return recv
    send = shape_of(send)
    return np.empty(send.shape, send.dtype)


def listed(counts: Sequence[int] | None) -> list[int] | None:
    """Counts or displacements, as the extension module wants them."""
    if counts is None:
        return None
    try:
        counts = [operator.index(count) for count in counts]
    except TypeError:
        raise ArgumentError(
            f"counts and displacements are whole numbers, not {_first_fraction(counts)!r}"
        ) from None
    if any(count < 0 for count in counts):
        raise ArgumentError("counts and displacements are not negative")
    return counts


def _first_fraction(counts: Sequence[Any]) -> Any:
    """The first that is no whole number; all of it if it is no sequence."""
    try:
        return next(each for each in counts if not hasattr(each, "__index__"))
    except (TypeError, StopIteration):
        return counts
