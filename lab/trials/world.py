# SPDX-License-Identifier: BSD-3-Clause
"""The faults of a trial, and which hosts can reach one another as a result."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import faults
import state
from names import hostname

from .crew import Crew, Rank


@dataclass(frozen=True)
class Fault:
    text: str
    began: float  # seconds of the monotonic clock


class World:
    def __init__(self, cluster: str, crew: Crew):
        self._cluster = cluster
        self._crew = crew
        self.cuts: set[tuple[int, int]] = set()
        self.frozen: set[int] = set()  # hosts
        self.done: list[Fault] = []
        self.thawed_at: dict[int, float] = {}

    def kill_rank(self, rank: int) -> None:
        self._do(f"kill -9 {self._crew.ranks[rank].name}", lambda _: self._crew.kill(rank))

    def kill_host(self, host: int, power: bool) -> None:
        for rank in self._crew:
            rank.killed |= rank.host == host
        if power:  # the link is gone, for what is left of the trial
            self.cuts |= {(host, other) for other in set(self.hosts()) - {host}}
        what = "power off" if power else "kill"
        self._do(f"{what} {hostname(host)}", lambda cluster: faults.kill(cluster, host, power))

    def cut(self, host: int, others: Iterable[int] = ()) -> None:
        """From all others, or from these."""
        pairs = [(host, other) for other in (others or set(self.hosts()) - {host})]
        self.cuts |= set(pairs)
        to = " from " + ", ".join(map(hostname, others)) if others else ""
        self._do(f"cut {hostname(host)}{to}", lambda cluster: faults.set_loss(cluster, pairs, 1.0))

    def split(self, sides: list[list[int]]) -> None:
        pairs = [
            (a, b) for one, other in itertools.combinations(sides, 2) for a in one for b in other
        ]
        self.cuts |= set(pairs)
        text = " | ".join(" ".join(map(hostname, side)) for side in sides)
        self._do(f"split {text}", lambda cluster: faults.set_loss(cluster, pairs, 1.0))

    def heal(self) -> None:
        self.cuts.clear()
        with state.changing(self._cluster) as cluster:
            faults.heal(cluster)

    def freeze(self, host: int) -> None:
        self.frozen.add(host)
        self._do(f"freeze {hostname(host)}", lambda cluster: faults.freeze(cluster, host))

    def thaw(self) -> None:
        for host in sorted(self.frozen):
            self.thawed_at[host] = time.monotonic()
            with state.changing(self._cluster) as cluster:
                faults.thaw(cluster, host)
        self.frozen.clear()

    def tidy(self) -> None:
        """For the next trial."""
        self.thaw()
        self.heal()

    # ---- what follows

    def hosts(self) -> list[int]:
        return sorted({rank.host for rank in self._crew})

    def fit(self, rank: Rank) -> bool:
        """Lives and runs."""
        return not rank.killed and rank.host not in self.frozen

    def reach(self, a: int, b: int) -> bool:
        return (a, b) not in self.cuts and (b, a) not in self.cuts

    def together(self, ranks: Iterable[Rank]) -> bool:
        """All of them are fit and reach one another."""
        ranks = list(ranks)
        hosts = {rank.host for rank in ranks}
        return all(map(self.fit, ranks)) and all(
            self.reach(a, b) for a, b in itertools.combinations(hosts, 2)
        )

    def largest(self) -> list[frozenset[int]]:
        """The largest sets of ranks that can go on together: several if they are equal in size."""
        fit = [rank for rank in self._crew if self.fit(rank)]
        hosts = sorted({rank.host for rank in fit})
        found: dict[frozenset[int], None] = {}
        for count in range(1, len(hosts) + 1):
            for some in itertools.combinations(hosts, count):
                if all(self.reach(a, b) for a, b in itertools.combinations(some, 2)):
                    found[frozenset(rank.rank for rank in fit if rank.host in some)] = None
        most = max(map(len, found), default=0)
        return [each for each in found if len(each) == most]

    def _do(self, text: str, work: Callable[[state.Cluster], None]) -> None:
        self.done.append(Fault(text, time.monotonic()))
        with state.changing(self._cluster) as cluster:
            work(cluster)
