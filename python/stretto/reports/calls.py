# SPDX-License-Identifier: BSD-3-Clause
"""The calls that the ranks of a job have recorded (docs/report.md), by call site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stretto.reports.lateness import Lateness, Times, needs, of_ranks

# Calls of a site are alike in these.
KEYS = (
    "communicator", "communicator_name", "size", "collective", "count", "dtype", "op", "root",
    "bytes",
)  # fmt: skip


@dataclass(frozen=True)
class Noted:
    """The record of one rank of its calls at one site."""

    about: dict[str, Any]
    """The rank."""
    kind: dict[str, Any]
    """The calls, as _core.read_calls has them."""

    @property
    def rank(self) -> int:
        """In the communicator."""
        return self.kind["rank"]

    def offsets(self, chosen: set[int]) -> Times | None:
        """What to add for the job's clock, for each of these calls; None: nobody knows.

        Until the ranks have found out, what they find first counts.
        """
        known = sorted(
            (begin, offset)
            for kind in self.about["kinds"]
            for _, begin, _, offset in kind["kept"]
            if offset is not None
        )
        if not known:
            return None
        first = known[0][1]
        return np.array(
            [
                first if offset is None else offset
                for number, _, _, offset in self.kind["kept"]
                if number in chosen
            ],
            np.int64,
        )


@dataclass(frozen=True)
class Site:
    """Calls that a program makes at one place, as far as the library can distinguish them, of all
    ranks."""

    key: tuple[Any, ...]
    ranks: list[Noted]
    """In the order of the communicator; of some there may be nothing."""
    numbers: list[int]
    """Of the calls that were looked at, all of the sample that all ranks have ended."""
    came: Times
    left: Times
    """Of these calls and the ranks, on one clock."""
    clocks_known: bool

    def __getitem__(self, name: str) -> Any:
        return self.key[KEYS.index(name)]

    @property
    def missing(self) -> list[int]:
        return sorted(set(range(self["size"])) - {each.rank for each in self.ranks})

    @property
    def calls(self) -> int:
        """That all ranks have ended."""
        return min(each.kind["complete"] for each in self.ranks)

    def lateness(self) -> list[Lateness] | None:
        """None if there is no call, or no other rank to compare with."""
        comparable = self.clocks_known and len(self.ranks) > 1
        if not self.numbers or not comparable:
            return None
        columns = {each.rank: column for column, each in enumerate(self.ranks)}
        waits_for = needs(self["collective"], len(self.ranks), columns.get(self["root"]))
        return of_ranks(self.came, self.left, waits_for)

    def held_up(self) -> float:
        """The possible gain in seconds, by which sites are sorted."""
        return sum(each.held_up for each in self.lateness() or ()) * self.calls


def sites(ranks: list[dict[str, Any]]) -> list[Site]:
    """The sites in the ranks' records, with the largest possible gain first."""
    noted: dict[tuple[Any, ...], list[Noted]] = {}
    for about in ranks:
        for kind in about["kinds"]:
            key = tuple(kind[name] for name in KEYS)
            noted.setdefault(key, []).append(Noted(about, kind))
    found = [site(key, sorted(each, key=lambda one: one.rank)) for key, each in noted.items()]
    return sorted(found, key=Site.held_up, reverse=True)


def site(key: tuple[Any, ...], ranks: list[Noted]) -> Site:
    ended = [{call[0] for call in each.kind["kept"] if call[2]} for each in ranks]
    chosen = set.intersection(*ended)
    times = np.array(
        [[call[1:3] for call in each.kind["kept"] if call[0] in chosen] for each in ranks],
        np.int64,
    ).reshape(len(ranks), len(chosen), 2)
    apart = offsets(ranks, chosen)
    if apart is not None:
        times += apart[:, :, np.newaxis]
    return Site(
        key, ranks, sorted(chosen), times[:, :, 0].T, times[:, :, 1].T, apart is not None
    )  # fmt: skip


def offsets(ranks: list[Noted], chosen: set[int]) -> Times | None:
    """By rank and call.  Ranks that share a clock have the same, those of the first of them; if all
    do there is nothing to add."""
    apart = np.zeros((len(ranks), len(chosen)), np.int64)
    leaders: dict[str, int] = {}
    for index, each in enumerate(ranks):
        leaders.setdefault(each.about["clock"], index)
    if len(leaders) == 1:
        return apart
    for index, each in enumerate(ranks):
        known = ranks[leaders[each.about["clock"]]].offsets(chosen)
        if known is None:
            return None
        apart[index] = known
    return apart
