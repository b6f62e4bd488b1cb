# SPDX-License-Identifier: BSD-3-Clause
"""Which ranks share a host, as the commands take it: 4, 8x4, 3,1,2, cyclic:3x4, map:0,1,0,2."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import click

from stretto import Error, _core

NOWHERE = _core.Topology()
"""Nothing is known: all share one host."""
FORMS = "4, 8x4, 3,1,2, cyclic:3x4, map:0,1,0,2; 2x8/4: 4 ranks of a host share a cache"


def hosts_option(help: str, **more: Any) -> Callable[..., Any]:
    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        return click.option("--hosts", metavar="HOSTS", help=f"{help}: {FORMS}.", **more)(command)

    return decorate


def ranks_option(default: int) -> Callable[..., Any]:
    """--ranks, of which --hosts may say the number instead."""
    return click.option(
        "--ranks", type=click.IntRange(1), help=f"[default: those of --hosts, or {default}]"
    )


def read_hosts(text: str, ranks: int = 0) -> _core.Topology:
    try:
        return _core.Topology(text, ranks)
    except Error as error:
        raise click.UsageError(str(error)) from None


def says_ranks(text: str) -> bool:
    """Whether it says how many ranks there are: 8x4 does, 8 does not."""
    return not text.strip().removeprefix("cyclic:").partition("/")[0].strip().isdigit()


def placed(hosts: str | None, ranks: int | None, default: int) -> tuple[int, _core.Topology]:
    """The number of ranks, and where they are."""
    if hosts is None:
        return ranks or default, NOWHERE
    where = read_hosts(hosts, ranks or (0 if says_ranks(hosts) else default))
    return where.ranks, where


def shapes(ranks: int) -> Iterator[_core.Topology]:
    """All ways to put ranks on hosts of any sizes, neighbours sharing one or dealt out in turn."""
    for sizes in partitions(ranks, ranks):
        text = "1x" + str(sizes[0]) if len(sizes) == 1 else ",".join(map(str, sizes))
        blocked, dealt = _core.Topology(text), _core.Topology("cyclic:" + text)
        yield blocked
        if dealt != blocked:
            yield dealt


def partitions(total: int, most: int) -> Iterator[list[int]]:
    """4: [4], [3, 1], [2, 2], [2, 1, 1], [1, 1, 1, 1]."""
    if total == 0:
        yield []
    for first in range(min(total, most), 0, -1):
        for rest in partitions(total - first, first):
            yield [first, *rest]
