# SPDX-License-Identifier: BSD-3-Clause
"""Runs peer_bench under an MPI's mpirun and reads its blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import launching
from peers import Peer, Settings

CONTESTANTS = ("peer", "stretto", "shared", "memcpy")


@dataclass(frozen=True)
class Block:
    """Calls of one size by all contestants, in turns, between two probes of the machine."""

    peer: str
    ranks: int
    bytes: int
    probe_ns: tuple[float, float]  # before and after
    ns: dict[str, list[float]]  # per contestant: a call's slowest rank
    wrong: dict[str, int]  # per contestant: wrong elements


def launches(
    peer: Peer, ranks: int, sizes: list[int], seconds: float
) -> Iterator[tuple[Settings, list[int], float]]:
    """The settings a peer needs for these sizes, each with its sizes and its share of the time."""
    every = peer.settings(ranks)
    for i, settings in enumerate(every):
        until = every[i + 1].from_bytes if i + 1 < len(every) else None
        mine = [s for s in sizes if s >= settings.from_bytes and (until is None or s < until)]
        if mine:
            yield settings, mine, seconds * len(mine) / len(sizes)


def measure(
    peer: Peer,
    program: Path,
    collective: str,
    ranks: int,
    sizes: list[int],
    seconds: float,
    settings: Settings,
) -> Iterator[Block]:
    """Yields the blocks as they are measured.  Raises LaunchError if mpirun fails."""
    command = [*peer.command(ranks), str(program), collective]
    command += [f"{seconds:.1f}", ",".join(map(str, sizes))]
    if settings.threads:
        command.append("threads")
    for record in launching.lines(command, peer.environment(settings), 2 * seconds + 120):
        yield _block(peer, ranks, record)


def _block(peer: Peer, ranks: int, record: dict) -> Block:
    return Block(
        peer.name,
        ranks,
        record["bytes"],
        tuple(record["probe_ns"]),
        {who: record[who]["ns"] for who in CONTESTANTS},
        {who: record[who]["wrong"] for who in CONTESTANTS},
    )
