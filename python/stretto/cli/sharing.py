# SPDX-License-Identifier: BSD-3-Clause
"""Which ranks share which links in a simulation: ports of hosts, uplinks of racks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

PLACEMENTS = ("block", "round-robin")


@dataclass(frozen=True)
class Sharing:
    """What the options say."""

    hosts: int | None = None
    per_host: int | None = None
    placement: str = "block"
    rack: int | None = None
    oversubscribe: float = 1.0

    @property
    def shares_hosts(self) -> bool:
        return self.hosts is not None or self.per_host is not None

    def hosts_of(self, ranks: int) -> list[int]:
        """The host of each rank; none if each has its own."""
        if self.hosts is not None and self.per_host is not None:
            raise click.UsageError("--hosts and --per-host say the same; give one of them")
        if not self.shares_hosts:
            return []
        hosts = self.hosts if self.per_host is None else -(-ranks // self.per_host)
        assert hosts is not None
        if hosts > ranks:
            raise click.UsageError(f"{ranks} ranks cannot be on {hosts} hosts")
        if self.placement == "round-robin":
            return [rank % hosts for rank in range(ranks)]
        if self.per_host is not None:
            return [rank // self.per_host for rank in range(ranks)]
        return [rank * hosts // ranks for rank in range(ranks)]

    def racks_of(self, ranks: int) -> list[int]:
        """The rack of each host; none if one switch joins all."""
        if self.rack is None:
            if self.oversubscribe != 1:
                raise click.UsageError("--oversubscribe needs --rack, the hosts of a rack")
            return []
        hosts = max(self.hosts_of(ranks) or range(ranks)) + 1
        return [host // self.rack for host in range(hosts)]

    def uplinks(self) -> int:
        """Messages that a rack sends, and receives, at once."""
        links = (self.rack or 1) / self.oversubscribe
        if links != int(links):
            raise click.UsageError(
                f"--rack {self.rack} --oversubscribe {self.oversubscribe:g}: a rack of "
                f"{self.rack} hosts would have {links:.3g} uplinks; give a factor that makes a "
                "whole number"
            )
        return int(links)

    def describe(self, ranks: int) -> str:
        """ " on 12 hosts in 3 racks with 2 uplinks each"; nothing if nobody shares."""
        hosts, racks = self.hosts_of(ranks), self.racks_of(ranks)
        text = f" on {max(hosts) + 1} hosts" if hosts else ""
        if racks:
            text += f" in {max(racks) + 1} racks with {self.uplinks()} uplinks each"
        return text

    def parameters(self, ranks: int) -> dict[str, Any]:
        """For JSON."""
        if not self.describe(ranks):
            return {}
        return {
            "hosts": self.hosts_of(ranks), "racks": self.racks_of(ranks), "uplinks": self.uplinks()
        }  # fmt: skip


def sharing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--hosts, --per-host, --placement, --rack and --oversubscribe."""
    for option in (
        click.option(
            "--oversubscribe",
            type=click.FloatRange(1),
            default=1.0,
            metavar="FACTOR",
            help="A rack has fewer uplinks than hosts, by this factor.",
        ),
        click.option(
            "--rack", type=click.IntRange(1), metavar="HOSTS", help="So many hosts share uplinks."
        ),
        click.option(
            "--placement",
            type=click.Choice(PLACEMENTS),
            default="block",
            show_default=True,
            help="Ranks of a host: one after the other, or dealt.",
        ),
        click.option("--per-host", type=click.IntRange(1), help="Ranks that share a host's port."),
        click.option(
            "--hosts", type=click.IntRange(1), help="Hosts, whose ranks share a port evenly."
        ),
    ):
        command = option(command)
    return command
