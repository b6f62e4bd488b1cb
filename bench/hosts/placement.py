# SPDX-License-Identifier: BSD-3-Clause
"""Where ranks are: 4, 8x2, 3+1+4."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Placement:
    """So many ranks on each of the hosts h1, h2, …"""

    per_host: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> Placement:
        """4: a rank on each of 4 hosts; 8x2: 2 on each of 8; 3+1+4: 3 on the first, 1 on the next.

        Raises ValueError for anything else.
        """
        if even := re.fullmatch(r"(\d+)(?:x(\d+))?", text):
            per_host = [int(even[2] or 1)] * int(even[1])
        else:
            per_host = [int(item) for item in text.split("+")]
        if not per_host or min(per_host) < 1:
            raise ValueError(f"{text}: every host has a rank")
        return cls(tuple(per_host))

    def __str__(self) -> str:
        if not self.is_even:
            return "+".join(map(str, self.per_host))
        return f"{self.hosts}x{self.per_host[0]}" if self.shares_hosts else str(self.hosts)

    @property
    def hosts(self) -> int:
        return len(self.per_host)

    @property
    def ranks(self) -> int:
        return sum(self.per_host)

    @property
    def is_even(self) -> bool:
        return len(set(self.per_host)) == 1

    @property
    def shares_hosts(self) -> bool:
        return self.ranks > self.hosts

    def slots(self) -> str:
        """For launchers of MPI: h1:3,h2:1,h3:4."""
        return ",".join(f"h{number}:{ranks}" for number, ranks in enumerate(self.per_host, 1))

    def host_of_ranks(self) -> str:
        """For the lab: the host of each rank."""
        hosts = enumerate(self.per_host, 1)
        return ",".join(str(number) for number, ranks in hosts for _ in range(ranks))


def placements(text: str) -> list[Placement]:
    return [Placement.parse(item) for item in text.split(",")]


def spoken(placement: str) -> str:
    """For readers: 8 × 2."""
    return placement.replace("x", " × ")
