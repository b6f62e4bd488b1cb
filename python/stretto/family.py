# SPDX-License-Identifier: BSD-3-Clause
"""Communicators made of others: a part of the communicator."""

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

    def parent_rank(self, rank: int) -> int | None:
        """Which rank of its parent a rank of a child is; None if there is none."""
        found = self._core.parent_rank(rank)
        return None if found < 0 else found
