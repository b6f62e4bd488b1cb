# SPDX-License-Identifier: BSD-3-Clause
"""Which ranks share which links in a simulation: ports of hosts, uplinks of racks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from stretto import _core
from stretto.cli.hosts import NOWHERE, hosts_option, read_hosts, says_ranks

PLACEMENTS = ("block", "round-robin")


@dataclass(frozen=True)
class Sharing:
    """What the options say."""

    hosts: str | None = None
    per_host: int | None = None
    placement: str = "block"
    rack: int | None = None
    oversubscribe: float = 1.0

    def ranks(self, given: int | None, default: int) -> int:
        """How many there are: as --ranks says, or --hosts."""
        if given is None and self.hosts is not None and says_ranks(self.hosts):
            return read_hosts(self.hosts).ranks
        return given or default

    @property
    def shares_hosts(self) -> bool:
        return self.hosts is not None or self.per_host is not None

    def topology(self, ranks: int) -> _core.Topology:
        """Where they are, as far as the options say."""
        if self.hosts is not None and self.per_host is not None:
            raise click.UsageError("--hosts and --per-host say the same; give one of them")
        if not self.shares_hosts:
            return NOWHERE
        if self.hosts is not None and (self.placement == "block" or says_ranks(self.hosts)):
            if self.placement != "block":
                raise click.UsageError(
                    f"--placement {self.placement} is for a number of hosts; write --hosts "
                    f"cyclic:{self.hosts.removeprefix('cyclic:')}"
                )
            return read_hosts(self.hosts, ranks)
        hosts = self.hosts or str(-(-ranks // (self.per_host or 1)))
        if self.placement == "round-robin":
            return read_hosts("cyclic:" + hosts.removeprefix("cyclic:"), ranks)
        return _core.Topology.of([rank // (self.per_host or 1) for rank in range(ranks)])

    def hosts_of(self, ranks: int) -> list[int]:
        """The host of each rank; none if each has its own."""
        return self.topology(ranks).host_of

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
        """ " on 12 hosts in 3 racks with 2 uplinks each"; nothing if no links are shared."""
        hosts, racks = self.hosts_of(ranks), self.racks_of(ranks)
        number = max(hosts, default=0) + 1
        text = f" on {number} {'host' if number == 1 else 'hosts'}" if hosts else ""
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
        hosts_option("Which ranks share a host and its port"),
    ):
        command = option(command)
    return command
