# SPDX-License-Identifier: BSD-3-Clause
"""Who went on with whom, as the ranks themselves say."""

from __future__ import annotations

from collections.abc import Collection

from .crew import Crew, Rank

View = tuple[int, ...]  # the ranks of a communicator, as they were called in the job at first


def history(rank: Rank, size: int) -> list[View]:
    """The communicators that this rank has been in, one after the other."""
    views = [tuple(range(size))] if rank.said("joined") else []
    for event in rank.all("shrunk"):
        views.append(tuple(int(each) for each in event.fields[0].split(",")))
    return views


def is_out(rank: Rank) -> bool:
    """It has been told that it does not go on, or has never come in."""
    return rank.ended or rank.said("outside")


def is_going(rank: Rank) -> bool:
    """It has made some calls in its communicator, and none has failed."""
    told = [event.what for event in rank.events if event.what in ("going", "failed", "shrunk")]
    return bool(told) and told[-1] == "going"


def is_quorum(some: Collection[int], all_of_them: Collection[int]) -> bool:
    """More than half, or half with the lowest."""
    return 2 * len(some) > len(all_of_them) or (
        2 * len(some) == len(all_of_them) and min(all_of_them) in some
    )


def contradictions(crew: Crew) -> list[str]:
    """Two communicators that follow the same one, one without a majority of its parent's, or one
    whose ranks do not agree on what to repeat."""
    found = []
    successors: dict[tuple[View, ...], set[View]] = {}
    completed: dict[tuple[View, ...], set[str]] = {}
    for rank in crew:
        views = history(rank, len(crew.ranks))
        for i in range(1, len(views)):
            successors.setdefault(tuple(views[:i]), set()).add(views[i])
            count = rank.all("shrunk")[i - 1].fields[1]
            completed.setdefault(tuple(views[: i + 1]), set()).add(count)
            if rank.rank not in views[i]:
                found.append(f"{rank.name} is in a communicator of {views[i]}")
            if not is_quorum(set(views[i]) & set(views[i - 1]), views[i - 1]):
                found.append(f"{views[i]} goes on after {views[i - 1]} without a majority")
    for views, next_ones in successors.items():
        if len(next_ones) > 1:
            found.append(f"split brain: after {views[-1]} go on {sorted(next_ones)}")
    for views, counts in completed.items():
        if len(counts) > 1:
            found.append(f"{views[-1]} repeat different calls, from {sorted(counts)} on")
    return found
