# SPDX-License-Identifier: BSD-3-Clause
"""Streams of CUDA, as libraries have them."""

from __future__ import annotations

import operator
from typing import Any, Protocol

from stretto.errors import ArgumentError

_LEGACY = 1  # CUDA's number of the default stream of all threads


class CudaStream(Protocol):
    """A stream by the protocol of cuda.core; also PyTorch's (`cuda_stream`), CuPy's (`ptr`)."""

    def __cuda_stream__(self) -> tuple[int, int]: ...


AnyStream = int | CudaStream | Any
"""A stream: its handle (0 and 1: the legacy default stream, 2: the thread's), or an object."""


def handle_of(stream: AnyStream | None) -> int | None:
    """The number by which CUDA's driver knows a stream; None: no stream.  Raises ArgumentError."""
    if stream is None:
        return None
    if hasattr(stream, "__cuda_stream__"):
        given = stream.__cuda_stream__()[1]
    else:
        given = getattr(stream, "cuda_stream", getattr(stream, "ptr", stream))
    try:
        handle = operator.index(given)
    except TypeError:
        handle = -1
    if handle < 0 or isinstance(stream, bool):
        raise ArgumentError(
            "stream: the handle of a CUDA stream is wanted, or an object with __cuda_stream__, "
            f"cuda_stream or ptr, not {stream!r}"
        )
    return handle or _LEGACY
