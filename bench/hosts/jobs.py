# SPDX-License-Identifier: BSD-3-Clause
"""Launches of peers with Stretto in their processes, and what they measured."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

from cluster import Cluster
from placement import Placement
from recipes import KIB, MIB, Job, Recipe, Variant

# With the first peer only: plain sockets need no library beside them.
PLAIN = ("ring", "exchange", "tree")
SMALL = 64 * KIB  # up to here the processor and the kernel are measured, not the links
LARGE = 16 * MIB  # from here on a call is long beside all that its first one does
# Calls before those that are timed, the same number for all contestants: MPIs connect at the first,
# and Stretto tries algorithms of similar price, at most five of them, in calls 9 to 48.
WARMUP = 60


@dataclass(frozen=True)
class Measured:
    """One contestant at one size in one launch."""

    placement: Placement
    bytes: int
    peer: str
    variant: str
    who: str  # "peer", "stretto" or one of PLAIN
    us: list[float]  # the slowest rank of each call, in the order of calls
    cpu_us: list[float]  # of a call, all ranks together
    wrong: int
    chosen: str = ""  # Stretto's algorithm, where the contestant is Stretto


def plan(sizes: list[int], patience: float = 1.0) -> str:
    """How often each size is called, for hosts_bench: BYTES/WARMUP/TURNS/CALLS, + for back to
    back."""

    def times(number: int) -> int:
        return max(1, round(number * patience))

    def item(size: int) -> str:
        if size <= SMALL:
            return f"{size}/{WARMUP}/{times(10)}/40"
        if size < LARGE:
            return f"{size}/{WARMUP}/{times(4)}/8+"
        return f"{size}/0/{times(3 if size < 128 * MIB else 2)}/1"

    return ",".join(item(size) for size in sizes)


def launches(
    cluster: Cluster, placement: Placement, recipes: list[Recipe], sizes: list[int],
    patience: float, every_variant: bool,
) -> Iterator[tuple[Job, Recipe, Variant]]:  # fmt: skip
    """All launches of a placement: each variant with the sizes that are its own.  Where plain
    sockets go with them, small and large ones are apart: their roles are others."""
    for number, recipe in enumerate(recipes):
        plain = number == 0 and recipe.takes_plain_sockets
        for variant in recipe.variants:
            if not (variant.usual or every_variant):
                continue
            if variant.of_several and not placement.shares_hosts:
                continue
            mine = [s for s in sizes if variant.from_bytes <= s <= variant.to_bytes]
            for small, group in itertools.groupby(mine, lambda s: plain and s <= SMALL):  # noqa: B023
                who = ("stretto", "peer", *(PLAIN if small else PLAIN[:1] if plain else ()))
                job = Job(cluster, placement, who, plan(list(group), patience))
                yield job, recipe, variant


def records(
    job: Job, recipe: Recipe, variant: Variant, limit: float | None = None
) -> Iterator[dict]:
    """Yields what ranks print: what Stretto found of the network, from hosts_bench, as `profile`,
    and the record of each size.  Raises LaunchError, also if it takes longer than `limit` seconds.
    """
    if limit is None:
        limit = 120 + 5 * job.placement.ranks
    with tempfile.NamedTemporaryFile(prefix="hosts-bench-") as meeting:
        command, environment = recipe.start(job, variant, meeting.name)
        yield from job.cluster.lines(command, environment, limit)


def measure(
    job: Job, recipe: Recipe, variant: Variant, limit: float | None = None
) -> Iterator[Measured]:
    """Yields what is measured, size by size; as `records`."""
    for record in records(job, recipe, variant, limit):
        if "bytes" in record:
            yield from measured(job, recipe, variant, record)


def measured(job: Job, recipe: Recipe, variant: Variant, record: dict) -> Iterator[Measured]:
    """The contestants of a record, in their order."""
    for who, found in record.items():
        if isinstance(found, dict):
            yield Measured(
                job.placement,
                record["bytes"],
                recipe.name,
                variant.name,
                who,
                [ns / 1e3 for ns in found["ns"]],
                [ns / 1e3 for ns in found["cpu_ns"]],
                found["wrong"],
                found.get("chosen", ""),
            )
