# SPDX-License-Identifier: BSD-3-Clause
"""Communicators made of others, and what is left of one after a failure: a part of the
communicator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from stretto import _core

Self = TypeVar("Self", bound="Family")


class Family:
    """A child is a communicator like any other: it is used and finalized by itself, before or after
    its parent, and what fails in one does not fail in the other; but in a job on several hosts the
    death of any rank, or a failure of the communicator of `init`, is a failure of all.

    Creation raises an error on every member if one has died or does not come within
    STRETTO_INIT_TIMEOUT.
    """

    _core: _core.Communicator

    def __init__(self, core: _core.Communicator):
        raise NotImplementedError

    def split(self: Self, color: int | None, key: int = 0) -> Self | None:
        """Communicators of the ranks with the same color each, ordered by `key` and then by rank.

        color: not negative; None: this rank is in none of them, and gets None.  Collective.
        """
        core = self._core.split(_core.UNDEFINED if color is None else color, key)
        return None if core is None else type(self)(core)

    def dup(self: Self) -> Self:
        """The same ranks again: what is called there does not meet what is called here.

        A forced algorithm and the reproducible mode hold there as well.  Collective.
        """
        return type(self)(self._core.dup())

    def create_group(self: Self, ranks: Sequence[int], tag: int = 0) -> Self:
        """A communicator of the listed ranks, in this order.

        Only they call, with the same list and tag; several threads may at once, as long as their
        lists or tags differ.
        """
        return type(self)(self._core.create_group(list(ranks), tag))

    def shrink(self: Self) -> tuple[Self, int]:
        """What is left of a job after a failure: a communicator of the ranks that call this, in
        their old order, and how many collectives of the old one every one of them has completed.
        What came after those is to be repeated, also by ranks that had its result already.

        The communicator has failed; it is that of `init`, or what an earlier call of this gave
        (UnsupportedError for those made of others: shrink that one and make them again).  Every
        rank that was told of the failure calls this.  Dead ranks are not waited for; who lives and
        does not call is, for STRETTO_TIMEOUT.  If another rank is lost meanwhile, the rest starts
        over by itself.  What was in flight writes into no array any more, and what was set holds
        for the result.  The old communicator refuses further calls, but can be finalized.

        ExcludedError: the others went on without this rank, which was stopped or cut off; or, in a
        job on several hosts, too few are left here, so that others may go on elsewhere.

            try:
                step(comm)
            except stretto.PeerError:
                comm, completed = comm.shrink()
        """
        core, completed = self._core.shrink()
        return type(self)(core), completed

    def parent_rank(self, rank: int) -> int | None:
        """Which rank of its parent a rank of a child is; None if there is none."""
        found = self._core.parent_rank(rank)
        return None if found < 0 else found
