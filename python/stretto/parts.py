# SPDX-License-Identifier: BSD-3-Clause
"""Collectives whose ranks have parts of an array: a part of the communicator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stretto import _core
from stretto.arrays import AnyArray, Given, given, like, listed, shape_of
from stretto.errors import ArgumentError
from stretto.operation import AnyOp
from stretto.request import IN_PLACE, InPlace, Request
from stretto.streams import AnyStream, handle_of


class Parts:
    """Parts lie one after the other in the order of ranks, of n elements each, or of counts[r] for
    rank r.  Counts are the same on all ranks and may be 0."""

    _core: _core.Communicator
    rank: int
    size: int

    def reduce_scatter(
        self,
        send: AnyArray | InPlace,
        recv: Given | None = None,
        op: AnyOp = "sum",
        *,
        timeout: float | None = None,
    ) -> Given | np.ndarray:
        """Reduces the ranks' arrays and gives each rank its part of the result.

        send: size * n elements.  recv: the n reduced elements from rank * n on; without it, a new
        array, of shape send.shape[1:] if the first dimension is `size`, else (n,).
        IN_PLACE: recv holds size * n elements and the result is its first n, which are returned (if
        recv is a NumPy array; else recv).
        """
        recv, result = self._scattered(send, recv)
        self._core.play("reduce_scatter", given(send), recv, op, 0, timeout)
        return result

    def ireduce_scatter(
        self,
        send: AnyArray | InPlace,
        recv: AnyArray | None = None,
        op: AnyOp = "sum",
        *,
        stream: AnyStream | None = None,
    ) -> Request:
        """Starts a `reduce_scatter`."""
        recv, result = self._scattered(send, recv)
        return self._begin("reduce_scatter", given(send), recv, stream, op=op, result=result)

    def reduce_scatterv(
        self,
        send: AnyArray | InPlace,
        counts: Sequence[int],
        recv: Given | None = None,
        op: AnyOp = "sum",
        *,
        timeout: float | None = None,
    ) -> Given | np.ndarray:
        """As `reduce_scatter`, with parts of different sizes.

        send: sum(counts) elements.  recv: counts[rank] elements; without it, a new array.
        IN_PLACE: recv holds sum(counts) elements, the result is its first counts[rank].
        """
        counts, recv, result = self._scattered_by(send, counts, recv)
        self._core.play("reduce_scatter", given(send), recv, op, 0, timeout, counts)
        return result

    def ireduce_scatterv(
        self,
        send: AnyArray | InPlace,
        counts: Sequence[int],
        recv: AnyArray | None = None,
        op: AnyOp = "sum",
        *,
        stream: AnyStream | None = None,
    ) -> Request:
        """Starts a `reduce_scatterv`."""
        counts, recv, result = self._scattered_by(send, counts, recv)
        return self._begin(
            "reduce_scatter", given(send), recv, stream, op=op, counts=counts, result=result
        )

    def allgather(
        self,
        send: AnyArray | InPlace,
        recv: Given | None = None,
        *,
        timeout: float | None = None,
    ) -> Given | np.ndarray:
        """Puts the ranks' arrays one after another; every rank gets them all.

        send: n elements.  recv: size * n elements, those of rank r from r * n on; without it, a new
        array of shape (size, *send.shape).  IN_PLACE: this rank's part is already there.  Returns
        recv.
        """
        recv = self._gathered(send, recv)
        self._core.play("allgather", given(send), recv, "sum", 0, timeout)
        return recv

    def iallgather(
        self,
        send: AnyArray | InPlace,
        recv: AnyArray | None = None,
        *,
        stream: AnyStream | None = None,
    ) -> Request:
        """Starts an `allgather`."""
        recv = self._gathered(send, recv)
        return self._begin("allgather", given(send), recv, stream)

    def allgatherv(
        self,
        send: AnyArray | InPlace,
        counts: Sequence[int],
        recv: Given | None = None,
        *,
        timeout: float | None = None,
    ) -> Given | np.ndarray:
        """As `allgather`, with parts of different sizes.

        send: counts[rank] elements.  recv: sum(counts) elements; without it, a new array, of one
        dimension.  IN_PLACE: this rank's part already lies there.  Returns recv.
        """
        counts, recv = _gathered_by(send, counts, recv)
        self._core.play("allgather", given(send), recv, "sum", 0, timeout, counts)
        return recv

    def iallgatherv(
        self,
        send: AnyArray | InPlace,
        counts: Sequence[int],
        recv: AnyArray | None = None,
        *,
        stream: AnyStream | None = None,
    ) -> Request:
        """Starts an `allgatherv`."""
        counts, recv = _gathered_by(send, counts, recv)
        return self._begin("allgather", given(send), recv, stream, counts=counts)

    def gather(
        self,
        send: AnyArray | InPlace,
        recv: Given | None = None,
        root: int = 0,
        *,
        timeout: float | None = None,
    ) -> Given | np.ndarray | None:
        """As `allgather`, but only `root` gets the arrays (and looks at `recv`); None elsewhere."""
        recv = self._gathered(send, recv) if self.rank == root else None
        self._core.play("gather", given(send), recv, "sum", root, timeout)
        return recv

    def igather(
        self,
        send: AnyArray | InPlace,
        recv: AnyArray | None = None,
        root: int = 0,
        *,
        stream: AnyStream | None = None,
    ) -> Request:
        """Starts a `gather`."""
        recv = self._gathered(send, recv) if self.rank == root else None
        return self._begin("gather", given(send), recv, stream, root=root)

    def scatter(
        self,
        send: AnyArray | None,
        recv: Given | InPlace | None = None,
        root: int = 0,
        *,
        timeout: float | None = None,
    ) -> Given | np.ndarray:
        """Gives each rank its part of an array of `root`.

        send (root; others pass anything): size * n elements.  recv: the n elements from rank * n
        on.  The root may leave it out for a new array, of shape send.shape[1:] if the first
        dimension is `size`, else (n,); or pass IN_PLACE to keep its part in `send`, of which it is
        returned.  Returns recv.
        """
        send, recv, result = self._dealt(send, recv, root)
        self._core.play("scatter", send, recv, "sum", root, timeout)
        return result

    def iscatter(
        self,
        send: AnyArray | None,
        recv: AnyArray | InPlace | None = None,
        root: int = 0,
        *,
        stream: AnyStream | None = None,
    ) -> Request:
        """Starts a `scatter`."""
        send, recv, result = self._dealt(send, recv, root)
        return self._begin("scatter", send, recv, stream, root=root, result=result)

    def alltoall(
        self,
        send: AnyArray | InPlace,
        recv: Given | None = None,
        *,
        timeout: float | None = None,
    ) -> Given | np.ndarray:
        """Sends each rank a part of `send` and gets a part from each.

        send: size * n elements, those for rank r from r * n on.  recv: as many, those from rank r
        from r * n on; without it, a new array of send's shape.  IN_PLACE: recv holds the
        contribution.  Returns recv.
        """
        recv = like(send, recv)
        self._core.play("alltoall", given(send), recv, "sum", 0, timeout)
        return recv

    def ialltoall(
        self,
        send: AnyArray | InPlace,
        recv: AnyArray | None = None,
        *,
        stream: AnyStream | None = None,
    ) -> Request:
        """Starts an `alltoall`."""
        recv = like(send, recv)
        return self._begin("alltoall", given(send), recv, stream)

    # ---- nonblocking calls of all kinds

    def _begin(
        self,
        collective: str,
        send: Any,
        recv: Any,
        stream: AnyStream | None,
        *,
        op: AnyOp = "sum",
        root: int = 0,
        counts: Sequence[int] = (),
        result: Any = None,
    ) -> Request:
        """`result`: what `wait` returns, if it is not `recv`."""
        core = self._core.start(collective, send, recv, op, root, list(counts), handle_of(stream))
        return Request(core, recv if result is None else result)

    # ---- arrays for results

    def _gathered(self, send: AnyArray | InPlace, recv: Any) -> Any:
        if recv is not None:
            return recv
        send = shape_of(send)
        return np.empty((self.size, *send.shape), send.dtype)

    def _part_of(self, whole: Any) -> np.ndarray:
        whole = shape_of(whole)
        if whole.ndim > 1 and whole.shape[0] == self.size:
            return np.empty(whole.shape[1:], whole.dtype)
        return np.empty(whole.size // self.size, whole.dtype)

    # The receive buffer, and the part of it that is the result.
    def _scattered(self, send: AnyArray | InPlace, recv: Any) -> tuple[Any, Any]:
        if recv is None:
            recv = self._part_of(send)
        if send is not IN_PLACE or not isinstance(recv, np.ndarray):
            return recv, recv
        return recv, recv.reshape(-1)[: recv.size // self.size]

    def _scattered_by(
        self, send: AnyArray | InPlace, counts: Sequence[int], recv: Any
    ) -> tuple[list[int], Any, Any]:
        counts = listed(counts)
        own = counts[self.rank] if self.rank < len(counts) else 0
        if recv is None:
            recv = np.empty(own, shape_of(send).dtype)
        in_place = send is IN_PLACE and isinstance(recv, np.ndarray)
        return counts, recv, recv.reshape(-1)[:own] if in_place else recv

    def _dealt(self, send: Any, recv: Any, root: int) -> tuple[Any, Any, Any]:
        if self.rank != root:
            if recv is None or recv is IN_PLACE:
                raise ArgumentError("recv: only the root of a scatter knows what comes; an array")
            return None, recv, recv
        if send is None or send is IN_PLACE:
            raise ArgumentError("send: the root scatters an array; it may pass IN_PLACE as recv")
        if recv is not IN_PLACE:
            recv = self._part_of(send) if recv is None else recv
            return send, recv, recv
        if not isinstance(send, np.ndarray):
            return send, None, send
        part = send.size // self.size
        return send, None, send.reshape(-1)[self.rank * part :][:part]


def _gathered_by(
    send: AnyArray | InPlace, counts: Sequence[int], recv: Any
) -> tuple[list[int], Any]:
    counts = listed(counts)
    return counts, np.empty(sum(counts), shape_of(send).dtype) if recv is None else recv
