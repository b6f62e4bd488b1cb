# SPDX-License-Identifier: BSD-3-Clause
"""Calls of a process group as events of PyTorch's profiler: stretto:all_reduce, and so on.

An event lasts as long as the caller is in the call: to the end of a blocking one, to the start of
one in flight, for whose end stretto:wait waits.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import torch
from torch._C._profiler import _RecordFunctionFast

Method = TypeVar("Method", bound=Callable[..., Any])

_enabled = torch.autograd._profiler_enabled


def profiled(name: str, inputs: int | None = None) -> Callable[[Method], Method]:
    """Of a method: its event has this name, and the shapes of the tensors in the argument of this
    number."""

    def decorate(method: Method) -> Method:
        @functools.wraps(method)
        def call(self: Any, *arguments: Any, **named: Any) -> Any:
            if not _enabled():
                return method(self, *arguments, **named)
            tensors = [] if inputs is None else list(_tensors(arguments[inputs]))
            with _RecordFunctionFast(f"stretto:{name}", tensors):
                return method(self, *arguments, **named)

        return call  # type: ignore[return-value]

    return decorate


def _tensors(nested: Any) -> Iterator[torch.Tensor]:
    if isinstance(nested, torch.Tensor):
        yield nested
    else:
        for each in nested:
            yield from _tensors(each)
