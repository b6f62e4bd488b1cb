# SPDX-License-Identifier: BSD-3-Clause
"""What stands in place of a core communicator while somebody observes its calls.

A process group calls a core communicator.  An observer has the same methods, and passes each call
on; so observers can be put one before the other, and a group without any pays nothing for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

_NAMES = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "alltoall": "all_to_all",
}


@dataclass(frozen=True)
class Call:
    """A call, in PyTorch's words."""

    name: str
    """Such as "all_reduce"."""
    inputs: Sequence[Any] = ()
    """Tensors, as far as this rank has any."""
    outputs: Sequence[Any] = ()
    op: str | None = None
    root: int | None = None
    counts: Sequence[int] = ()
    """Elements of each rank, where ranks have different numbers of them."""
    peer: int | None = None
    """Of a message; ANY_SOURCE: anybody."""
    tag: int = 0

    @property
    def is_message(self) -> bool:
        return self.peer is not None


def collective(
    name: str, send: Any, recv: Any, op: Any, root: int, counts: Sequence[int] = ()
) -> Call:
    """The call that `play` and `start` of the core make by these arguments."""
    sent = [send] if send is not None else []
    received = [recv] if recv is not None else []
    if name in ("allreduce", "reduce", "broadcast"):  # of one tensor, which may be in place
        sent = received = sent or received
    reduces = "reduce" in name
    rooted = name in ("reduce", "broadcast", "gather", "scatter")
    named = _NAMES.get(name, name)
    return Call(
        f"{named}_v" if counts else named,
        sent,
        received,
        str(op) if reduces else None,
        root if rooted else None,
        counts,
    )


def _batch(arrays: list[Any], op: Any) -> Call:
    return Call("allreduce_coalesced", arrays, arrays, str(op))


class Observer:
    """Passes calls to a core communicator, or to the next observer, and sees them."""

    def __init__(self, core: Any):
        self._core = core

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)

    def run(self, call: Call, act: Callable[[], None]) -> None:
        """Runs a call that ends in `act`."""
        raise NotImplementedError

    def begin(self, call: Call, act: Callable[[], Any]) -> Any:
        """Starts a call by `act`, and returns its request, or one that stands for it."""
        raise NotImplementedError

    # ---- the core's methods

    def play(
        self,
        name: str,
        send: Any,
        recv: Any,
        op: Any,
        root: int,
        timeout: float | None = None,
        counts: Sequence[int] = (),
    ) -> None:
        self.run(
            collective(name, send, recv, op, root, counts),
            lambda: self._core.play(name, send, recv, op, root, timeout, counts),
        )

    def start(
        self,
        name: str,
        send: Any,
        recv: Any,
        op: Any,
        root: int,
        counts: Sequence[int] = (),
        stream: int | None = None,
    ) -> Any:
        return self.begin(
            collective(name, send, recv, op, root, counts),
            lambda: self._core.start(name, send, recv, op, root, counts, stream),
        )

    def allreduce_batch(self, arrays: list[Any], op: Any, timeout: float | None = None) -> None:
        self.run(_batch(arrays, op), lambda: self._core.allreduce_batch(arrays, op, timeout))

    def iallreduce_batch(self, arrays: list[Any], op: Any, stream: int | None = None) -> Any:
        return self.begin(
            _batch(arrays, op), lambda: self._core.iallreduce_batch(arrays, op, stream)
        )

    def alltoallv(self, send: Any, send_counts: Any, at: Any, recv: Any, *rest: Any) -> Any:
        return self.begin(
            Call("all_to_all", [send], [recv]),
            lambda: self._core.alltoallv(send, send_counts, at, recv, *rest),
        )

    def isend(self, buffer: Any, dest: int, tag: int, *order: Any) -> Any:
        return self.begin(
            Call("send", [buffer], peer=dest, tag=tag),
            lambda: self._core.isend(buffer, dest, tag, *order),
        )

    def irecv(self, buffer: Any, source: int, tag: int, *order: Any) -> Any:
        return self.begin(
            Call("recv", outputs=[buffer], peer=source, tag=tag),
            lambda: self._core.irecv(buffer, source, tag, *order),
        )


class ObservedRequest:
    """Stands for a request of the core whose end somebody wants to see."""

    def __init__(self, request: Any):
        self._request = request

    def __getattr__(self, name: str) -> Any:
        return getattr(self._request, name)
