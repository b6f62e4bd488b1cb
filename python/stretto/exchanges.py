# SPDX-License-Identifier: BSD-3-Clause
"""Collectives whose counts only the two ranks of each pair know: a part of the communicator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stretto import _core
from stretto.arrays import AnyArray, Given, listed
from stretto.data import form_of
from stretto.errors import ArgumentError
from stretto.request import InPlace, Request
from stretto.streams import AnyStream, handle_of

Counts = Sequence[int]


class Exchanges:
    """Parts of any size for each rank, anywhere in an array.

    counts: elements for each rank, or from each; displacements: where each part begins, in
    elements; None: one after the other.  If a rank sends another count than its receiver expects,
    both raise MismatchError.
    """

    _core: _core.Communicator
    rank: int
    size: int

    def gatherv(
        self,
        send: AnyArray | InPlace,
        counts: Counts | None = None,
        recv: Given | None = None,
        displacements: Counts | None = None,
        root: int = 0,
        *,
        timeout: float | None = None,
    ) -> Given | np.ndarray | None:
        """Puts the ranks' arrays, of any sizes, into one array of `root`.

        Only `root` looks at counts, recv and displacements.  Without recv, a new array of
        sum(counts) elements.  IN_PLACE (root): its part lies in recv already.
        Returns recv; None on other ranks.
        """
        return self.igatherv(send, counts, recv, displacements, root).wait(timeout)

    def igatherv(
        self,
        send: AnyArray | InPlace,
        counts: Counts | None = None,
        recv: AnyArray | None = None,
        displacements: Counts | None = None,
        root: int = 0,
        *,
        stream: AnyStream | None = None,
    ) -> Request:
        """Starts a `gatherv`; stream: as of `iallreduce`."""
        own, order = _given(send), handle_of(stream)
        if self.rank != root:
            return Request(self._core.gatherv(own, None, None, None, root, order), None)
        if recv is None:
            recv = _room(send, counts, displacements)
        counts = listed(counts)
        places = listed(displacements)
        return Request(self._core.gatherv(own, recv, counts, places, root, order), recv)

    def scatterv(
        self,
        send: AnyArray | None,
        counts: Counts | None,
        recv: Given | InPlace,
        displacements: Counts | None = None,
        root: int = 0,
        *,
        timeout: float | None = None,
    ) -> Given | np.ndarray | None:
        """Gives each rank its part of an array of `root`, in `recv`, whose size is the part's.

        Only `root` looks at send, counts and displacements.  IN_PLACE as recv (root): it keeps its
        part where it is.  Returns recv; None in place.
        """
        return self.iscatterv(send, counts, recv, displacements, root).wait(timeout)

    def iscatterv(
        self,
        send: AnyArray | None,
        counts: Counts | None,
        recv: AnyArray | InPlace,
        displacements: Counts | None = None,
        root: int = 0,
        *,
        stream: AnyStream | None = None,
    ) -> Request:
        """Starts a `scatterv`; stream: as of `iallreduce`."""
        own, order = _given(recv), handle_of(stream)
        if self.rank != root:
            return Request(self._core.scatterv(own, None, None, None, root, order), own)
        if send is None:
            raise ArgumentError("send: the root scatters an array")
        counts = listed(counts)
        places = listed(displacements)
        return Request(self._core.scatterv(own, send, counts, places, root, order), own)

    def alltoallv(
        self,
        send: AnyArray | InPlace,
        send_counts: Counts | None,
        recv_counts: Counts,
        recv: Given | None = None,
        send_displacements: Counts | None = None,
        recv_displacements: Counts | None = None,
        *,
        timeout: float | None = None,
    ) -> Given | np.ndarray:
        """Sends each rank a part of `send` and receives a part from each.

        send_counts[r] elements go to rank r, recv_counts[r] come from it.  Without recv, a new
        array of sum(recv_counts) elements.  IN_PLACE: recv holds the contribution, laid out as the
        result will be, and send_counts is not looked at.  Returns recv.
        """
        request = self.ialltoallv(
            send, send_counts, recv_counts, recv, send_displacements, recv_displacements
        )
        return request.wait(timeout)

    def ialltoallv(
        self,
        send: AnyArray | InPlace,
        send_counts: Counts | None,
        recv_counts: Counts,
        recv: AnyArray | None = None,
        send_displacements: Counts | None = None,
        recv_displacements: Counts | None = None,
        *,
        stream: AnyStream | None = None,
    ) -> Request:
        """Starts an `alltoallv`; stream: as of `iallreduce`."""
        if recv is None:
            recv = _room(send, recv_counts, recv_displacements)
        core = self._core.alltoallv(
            _given(send),
            listed(send_counts),
            listed(send_displacements),
            recv,
            listed(recv_counts),
            listed(recv_displacements),
            handle_of(stream),
        )
        return Request(core, recv)


def _given(array: AnyArray | InPlace) -> Any:
    if array is None:
        raise ArgumentError("an array, or IN_PLACE, is wanted")
    return None if isinstance(array, InPlace) else array


def _room(
    send: AnyArray | InPlace, counts: Counts | None, displacements: Counts | None
) -> np.ndarray:
    """A new array for parts that lie one after the other."""
    if isinstance(send, InPlace):
        raise ArgumentError("recv: IN_PLACE needs an array that holds the contribution")
    if counts is None or displacements is not None:
        raise ArgumentError("recv: without an array, counts are wanted and no displacements")
    dtype = send.dtype if isinstance(send, np.ndarray) else form_of(send).dtype
    return np.empty(sum(listed(counts)), dtype)
