# SPDX-License-Identifier: BSD-3-Clause
"""Communicators made of others, and going on after a failure: a part of the communicator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from stretto import _core

Self = TypeVar("Self", bound="Family")


class Family:
    """A communicator that is made of another (a child) is used and finalized independently, before
    or after its parent, and the failure of one does not fail the other.  But in a job on several
    hosts, the death of any rank, or a failure of the communicator of `init`, fails all
    communicators.

    Creation raises an error on every member if a member has died or does not come within
    STRETTO_INIT_TIMEOUT.
    """

    _core: _core.Communicator

    def __init__(self, core: _core.Communicator):
        raise NotImplementedError

    def split(self: Self, color: int | None, key: int = 0) -> Self | None:
        """Makes a communicator of all ranks with the same color, ordered by `key` and then by rank.

        color: not negative; a rank that passes None gets None.  Collective.
        """
        core = self._core.split(_core.UNDEFINED if color is None else color, key)
        return None if core is None else type(self)(core)

    def dup(self: Self) -> Self:
        """Makes a communicator of the same ranks, whose calls are independent of this one's.

        It has the same forced algorithm and reproducible mode.  Collective.
        """
        return type(self)(self._core.dup())

    def create_group(self: Self, ranks: Sequence[int], tag: int = 0) -> Self:
        """Makes a communicator of the listed ranks, in this order.

        Only these ranks call, with the same list and tag.  Several threads may call at the same
        time if their lists or tags differ.
        """
        return type(self)(self._core.create_group(list(ranks), tag))

    def abort(self, reason: str = "") -> None:
        """Fails the communicator on all ranks, also while other threads are inside.

        Calls and waits of all threads end with AbortedError, which names this rank and the reason;
        those of this rank within milliseconds.  Does not wait; does nothing if the communicator has
        failed already.  After it the ranks can `finalize`, or `shrink`.
        """
        self._core.abort(reason)

    def shrink(self: Self) -> tuple[Self, int]:
        """Makes a communicator of the ranks that call this after a failure, in their old order.
        Returns it, and the number of collectives of the old one that every one of them has
        completed.  All ranks repeat the calls after these, including ranks that already had the
        results.

        The communicator has failed, and is the one of `init` or the result of an earlier shrink.
        (For another communicator this raises UnsupportedError: shrink the job's own, and make the
        other one again.)  Every rank that got an error calls this.  It does not wait for dead
        ranks; for a rank that lives and does not call, it waits for STRETTO_TIMEOUT.  If another
        rank is lost meanwhile, the remaining ranks start over automatically.  When it returns, no
        call in flight writes into any array.  The settings hold for the result.  The old
        communicator takes no more calls, but can be finalized.

        ExcludedError: the other ranks continued without this one, which was stopped or cut off; or,
        in a job on several hosts, too few ranks are left here, so that the others may continue
        elsewhere.

            try:
                step(comm)
            except stretto.PeerError:
                comm, completed = comm.shrink()
        """
        core, completed = self._core.shrink()
        return type(self)(core), completed

    def parent_rank(self, rank: int) -> int | None:
        """The rank in the parent of a rank of a child; None if there is none."""
        found = self._core.parent_rank(rank)
        return None if found < 0 else found
