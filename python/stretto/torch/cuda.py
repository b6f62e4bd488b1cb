# SPDX-License-Identifier: BSD-3-Clause
"""All that the backend asks of torch.cuda: where tensors lie, and streams of devices.

A stream is PyTorch's; its `cuda_stream` is the handle by which CUDA's driver knows it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import torch

from stretto.errors import ArgumentError
from stretto.streams import handle_of

Finish = Callable[[], None]


def built() -> bool:
    """Whether this build of PyTorch has tensors in CUDA memory."""
    return torch.version.cuda is not None


@cache
def present() -> bool:
    """Whether there are devices, so that calls may have such tensors."""
    return built() and torch.cuda.device_count() > 0


def streams_wait() -> bool:
    """Whether streams wait for the ends of calls, in place of the host: STRETTO_TORCH_CUDA.

    Raises ArgumentError if that is neither host nor stream.
    """
    wanted = os.environ.get("STRETTO_TORCH_CUDA", "")
    if wanted not in ("", "host", "stream"):
        raise ArgumentError(f"STRETTO_TORCH_CUDA={wanted}: host and stream exist")
    return wanted == "stream"


def device_types() -> list[str]:
    """Of the tensors that the backend takes, the preferred one first."""
    return ["cpu", "cuda"] if built() else ["cpu"]


def device_of(tensors: Iterable[torch.Tensor | None]) -> torch.device | None:
    """The CUDA device of the tensors of a call; None: they are in host memory, or there are none.

    Raises ArgumentError if they are not all in one place: no stream orders a call on several.
    """
    places = {tensor.device for tensor in tensors if tensor is not None}
    if len(places) > 1:
        names = ", ".join(sorted(map(str, places)))
        raise ArgumentError(f"the tensors of a call are on one device, not on {names}; use to()")
    device = places.pop() if places else None
    return device if device is not None and device.type == "cuda" else None


def current_stream(device: torch.device) -> Any:
    """The stream to which this thread gives work on the device."""
    return torch.cuda.current_stream(device)


def new_stream(device: torch.device) -> Any:
    return torch.cuda.Stream(device)


def working_on(stream: Any) -> AbstractContextManager[Any]:
    """Makes it the current stream of its device meanwhile."""
    return torch.cuda.stream(stream)


def handle(stream: Any) -> int:
    """The stream as the core takes it."""
    number = handle_of(stream)
    assert number is not None
    return number


def future(device: torch.device) -> torch.futures.Future:
    """A future whose value's readers wait on their streams, not on the host."""
    return torch.futures.Future(devices=[device])


def at_once(stream: Any, finish: Finish) -> Finish:
    """The same on this stream, and the host waits for it."""

    def settle() -> None:
        with working_on(stream):
            finish()
        stream.synchronize()

    return settle
