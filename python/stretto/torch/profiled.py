# SPDX-License-Identifier: BSD-3-Clause
"""The calls that torch.profiler shows: "stretto:all_reduce", with its tensors as inputs.

A blocking call is one span.  Of a call in flight "stretto:all_reduce" is its start, and
"stretto:wait" the time in which a thread waits for its end.  The names are like those of PyTorch's
own backends, which programs look for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch._C._profiler import _RecordFunctionFast as Span

from stretto.messages import ANY_SOURCE
from stretto.torch.observed import Call, ObservedRequest, Observer


class Profiled(Observer):
    """A core communicator whose calls a running profiler shows."""

    def run(self, call: Call, act: Callable[[], None]) -> None:
        with _span(call):
            act()

    def begin(self, call: Call, act: Callable[[], Any]) -> Any:
        with _span(call):
            return _Request(act())


class _Request(ObservedRequest):
    def wait(self, limit: float | None = None) -> None:
        with Span("stretto:wait"):
            self._request.wait(limit)


def _span(call: Call) -> Any:
    about = {"op": call.op, "root": call.root}
    if call.is_message:
        about = {"peer": call.peer, "tag": call.tag}
    known = {name: value for name, value in about.items() if value is not None}
    in_place = call.outputs is call.inputs
    tensors = [*call.inputs] if in_place else [*call.inputs, *call.outputs]
    name = "recvAnySource" if call.peer == ANY_SOURCE else call.name
    return Span(f"stretto:{name}", tensors, known)
