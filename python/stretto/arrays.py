# SPDX-License-Identifier: BSD-3-Clause
"""The arrays of a call: what is given, and new ones for results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stretto.data import Form, form_of
from stretto.errors import ArgumentError
from stretto.request import IN_PLACE, InPlace


def given(array: np.ndarray | InPlace) -> np.ndarray | None:
    """As the extension module wants it: nothing stands for IN_PLACE."""
    return None if array is IN_PLACE else array


def shape_of(send: Any) -> np.ndarray | Form:
    """Something with the shape and the type of a contribution."""
    if isinstance(send, np.ndarray):
        return send
    if send is IN_PLACE:
        raise ArgumentError("recv: IN_PLACE needs an array that holds the contribution")
    return form_of(send)


def like(send: np.ndarray | InPlace, recv: np.ndarray | None) -> np.ndarray:
    """`recv`, or a new array like `send`."""
    if recv is not None:
        return recv
    send = shape_of(send)
    return np.empty(send.shape, send.dtype)


def listed(counts: Sequence[int] | None) -> list[int] | None:
    """Counts or displacements, as the extension module wants them."""
    if counts is None:
        return None
    counts = [int(count) for count in counts]
    if any(count < 0 for count in counts):
        raise ArgumentError("counts and displacements are not negative")
    return counts
