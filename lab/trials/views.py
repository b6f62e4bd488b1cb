# SPDX-License-Identifier: BSD-3-Clause
"""Which ranks continued together, as they report it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection

import units

from .crew import Crew, Rank

View = tuple[int, ...]  # the ranks of a communicator, by their first numbers in the job

# "... are no majority of ranks 0-5, 7-12, and the others may go on without it", "ranks 0-3 went on
# without it".
_NAMED = re.compile(r"ranks ([-0-9, ]+?)(?:, and the others may go| went) on without it")


def history(rank: Rank, size: int) -> list[View]:
    """The communicators that this rank has been in, one after the other."""
    views = [tuple(range(size))] if rank.said("joined") else []
    for event in rank.all("shrunk"):
        views.append(tuple(int(each) for each in event.fields[0].split(",")))
    return views


def named(rank: Rank) -> set[View]:
    """The communicators that this rank, which does not continue, reports as decided."""
    texts = [text for event in rank.all("outside") for text in _NAMED.findall(event.fields[-1])]
    return {
        tuple(each for part in text.split(",") for each in units.span(part) or ()) for text in texts
    }


def is_out(rank: Rank) -> bool:
    """The rank got ExcludedError, or has ended."""
    return rank.ended or rank.said("outside")


def is_going(rank: Rank) -> bool:
    """The rank has made some calls in its communicator, and none has failed."""
    last = [event.what for event in rank.events if event.what in ("going", "failed", "shrunk")][-1:]
    return last == ["going"]


def is_quorum(some: Collection[int], all_of_them: Collection[int]) -> bool:
    """More than half, or half with the lowest."""
    return 2 * len(some) > len(all_of_them) or (
        2 * len(some) == len(all_of_them) and min(all_of_them) in some
    )


def contradictions(crew: Crew) -> list[str]:
    """Checks the communicators of all ranks.  Together they must form one sequence, each a majority
    of the one before; all ranks must end in the same one, and agree on the calls to repeat.

    A rank need not have been in all of them.  If members are lost while ranks still shrink, some
    ranks have the next communicator already, and others, whose shrink starts over, skip it
    (docs/failures.md).  If all ranks skip a communicator, the excluded ranks report it."""
    found = []
    seen: set[View] = set()
    last: dict[View, set[int]] = {}  # the last communicators: completed calls in all, of each rank
    for rank in crew:
        views = history(rank, len(crew.ranks))
        seen |= {*views, *named(rank)}
        for before, view in itertools.pairwise(views):
            if rank.rank not in view or not set(view) <= set(before):
                found.append(f"{rank.name} is in a communicator of {view} after {before}")
        shrunk = rank.all("shrunk")
        if shrunk and is_going(rank) and not rank.killed:
            completed = sum(int(event.fields[1]) for event in shrunk)
            last.setdefault(views[-1], set()).add(completed)
    for before, view in itertools.pairwise(sorted(seen, key=len, reverse=True)):
        if not set(view) < set(before):
            found.append(f"split brain: {before} and {view} have members of their own")
        elif not is_quorum(view, before):
            found.append(f"{view} goes on after {before} without a majority")
    if len(last) > 1:
        found.append(f"split brain: at the end go on {sorted(last)}")
    for view, counts in last.items():
        if len(counts) > 1:
            found.append(f"{view} repeat different calls, from {sorted(counts)} on")
    return found
