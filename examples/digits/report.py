# SPDX-License-Identifier: BSD-3-Clause
"""The collectives, which worker waited for which, and the cost of each algorithm."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table


@dataclass
class Share:
    """How one worker spent its time: seconds."""

    rank: int
    computing: float
    working: float  # in collectives, moving and reducing data
    waiting: float  # in collectives, for other workers


def gather(group, value) -> list:
    """`value` (anything JSON can hold) of every rank, in order, on every rank."""
    text = json.dumps(value).encode()
    lengths = np.zeros(group.size, np.int32)
    group.allgather(np.array([len(text)], np.int32), lengths)
    # Collectives carry 32-bit numbers: texts travel in the room of the longest, rounded up to 4.
    room = (int(lengths.max()) + 3) // 4 * 4
    padded = np.frombuffer(text.ljust(room), np.int32)
    everything = np.zeros((group.size, len(padded)), np.int32)
    group.allgather(padded, everything)
    return [json.loads(row.tobytes()) for row in everything]


def share(rank: int, computing: float, stats: list[dict]) -> Share:
    inside = sum(line["seconds"] for line in stats)
    waiting = sum(line["waiting_seconds"] for line in stats)
    return Share(rank, computing, inside - waiting, waiting)


def show_collectives(console: Console, per_rank: list[list[dict]]) -> None:
    """One line for each collective and algorithm: calls of a rank, traffic of all ranks."""
    table = new_table("What the collectives did")
    for name in ("collective", "algorithm"):
        table.add_column(name)
    for name in ("calls", "bytes", "messages", "copied", "reduced"):
        table.add_column(name, justify="right")
    for first, lines in ((lines[0], lines) for lines in zip(*per_rank, strict=True)):
        total = {
            key: sum(line[key] for line in lines)
            for key in ("messages", "bytes_copied", "bytes_reduced")
        }
        table.add_row(
            first["collective"],
            first["algorithm"],
            f"{first['calls']:,}",
            size(first["bytes"]),
            f"{total['messages']:,}",
            size(total["bytes_copied"]),
            size(total["bytes_reduced"]),
        )
    console.print(table)
    console.print(
        "[dim]calls and bytes of each rank; messages, bytes copied into shared memory and bytes "
        "read to be reduced of all ranks together[/dim]\n"
    )


def show_shares(console: Console, shares: list[Share], slow: int | None) -> None:
    table = new_table("Where the time went (seconds)")
    table.add_column("rank", justify="right")
    for name in ("computing", "working", "waiting"):
        table.add_column(name, justify="right")
    table.add_column("waiting, as a share of its time")
    for each in shares:
        part = each.waiting / (each.computing + each.working + each.waiting)
        table.add_row(
            f"{each.rank}" + (" (slow)" if each.rank == slow else ""),
            f"{each.computing:.2f}",
            f"{each.working:.2f}",
            f"{each.waiting:.2f}",
            f"{'█' * round(20 * part):<20} {part:4.0%}",
        )
    console.print(table)
    console.print("[dim]working and waiting: inside collectives[/dim]")
    console.print(f"{verdict(shares)}\n")


def verdict(shares: list[Share]) -> str:
    """Which worker delayed the others: the rank that the others waited for itself waits least."""
    late = min(shares, key=lambda each: each.waiting)
    others = [each.waiting for each in shares if each is not late]
    if not others or min(others) < 2 * late.waiting:
        return "No worker delayed the others for long."
    return (
        f"The others waited for rank {late.rank}: {min(others):.2f} s at the least, "
        f"it {late.waiting:.2f} s."
    )


def show_algorithms(
    console: Console, medians: dict[str, float], chosen: str, bytes_of_gradient: int, ranks: int
) -> None:
    """`medians`: microseconds a call, by algorithm."""
    table = new_table(
        f"This gradient ({size(bytes_of_gradient)}, {ranks} ranks) by every algorithm"
    )
    table.add_column("algorithm")
    table.add_column("µs a call", justify="right")
    table.add_column("to the fastest", justify="right")
    table.add_column("")
    fastest = min(medians.values())
    for name, median in sorted(medians.items(), key=lambda item: item[1]):
        table.add_row(
            name,
            f"{median:.1f}",
            f"{median / fastest:.2f}x",
            "Stretto's choice" if name == chosen else "",
        )
    console.print(table)
    console.print("[dim]median of calls, each as long as its slowest rank took[/dim]\n")


def new_table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)


def size(count: float) -> str:
    """Bytes for people: 75.0 KiB."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"
