# SPDX-License-Identifier: BSD-3-Clause
"""Messages per second where a thousand receives or messages of each rank wait: Stretto with lists
and with queues that adapt, and other libraries."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import launching
from compare import ROOT, build_programs, cpu_name
from peers import PEERS, Peer
from rich.console import Console
from rich.table import Table

PATTERNS = {  # as queues_bench.c knows them
    "in-order": "from one rank, in the order of the receives",
    "reverse": "from one rank, in the reverse order",
    "random": "from one rank, in any order",
    "sources": "from all other ranks, in any order",
    "early": "from one rank, in any order, before the receives",
}
LIMIT_SECONDS = 600  # of one launch


def parse_arguments() -> argparse.Namespace:
    def names(known: dict) -> object:
        def parse(text: str) -> list[str]:
            if unknown := set(text.split(",")) - set(known):
                raise argparse.ArgumentTypeError(
                    f"no {', '.join(sorted(unknown))}; of {', '.join(known)}"
                )
            return text.split(",")

        return parse

    parser = argparse.ArgumentParser(prog="queues.py", description=__doc__)
    add = parser.add_argument
    add("--ranks", type=int, default=64, help="on this host (64)")
    add("--messages", type=int, default=1000, help="that wait at each rank (1000)")
    add("--turns", type=int, default=7, help="of each contestant, 1 to 64 (7)")
    add("--patterns", type=names(PATTERNS), default=list(PATTERNS), help="(all)")
    add("--peers", type=names(PEERS), default=list(PEERS), help=f"of {','.join(PEERS)} (all)")
    add("--library", type=Path, help="folder of a built libstretto.so; built if not given")
    add("--json", type=Path, default=ROOT / "results" / "queues.json")
    return parser.parse_args()


def measure(peer: Peer, program: Path, arguments: argparse.Namespace) -> Iterator[dict]:
    """A record for each pattern.  Raises LaunchError if mpirun fails."""
    command = [*peer.command(arguments.ranks), str(program), str(arguments.turns)]
    command += [str(arguments.messages), ",".join(arguments.patterns)]
    settings = peer.settings(arguments.ranks)[0]  # those for the shortest messages
    for record in launching.lines(command, peer.environment(settings), LIMIT_SECONDS):
        yield {"library": peer.name, **summarize(record)}


def summarize(record: dict) -> dict:
    """Medians of the rates, and of the ratios of each turn: both rates of one are of the same
    minute."""
    peer, plain, adaptive = (record[who]["rates"] for who in ("peer", "list", "adaptive"))
    return {
        **record,
        "rates": {who: median(record[who]["rates"]) for who in ("peer", "list", "adaptive")},
        "over_list": median(a / b for a, b in zip(adaptive, plain, strict=True)),
        "over_peer": median(a / b for a, b in zip(adaptive, peer, strict=True)),
        "wrong": sum(record[who]["wrong"] for who in ("peer", "list", "adaptive")),
    }


HEADER = (
    "pattern", "library", "its rate", "list", "adaptive", "÷ list", "÷ library", "looks, list",
    "looks, adaptive", "index",
)  # fmt: skip


def cells(row: dict) -> list[str]:
    thousands = [f"{row['rates'][who] / 1000:,.0f}" for who in ("peer", "list", "adaptive")]
    return [
        row["pattern"],
        PEERS[row["library"]].title,
        *thousands,
        f"{row['over_list']:.2f}",
        f"{row['over_peer']:.2f}",
        f"{row['list']['looks']:.1f}",
        f"{row['adaptive']['looks']:.1f}",
        row["adaptive"]["scheme"],
    ]


def in_order(rows: list[dict]) -> list[dict]:
    """All libraries of a pattern together."""
    return sorted(rows, key=lambda row: list(PATTERNS).index(row["pattern"]))


def markdown(rows: list[dict]) -> str:
    align = [":--", ":--", *["--:"] * 7, ":--"]
    lines = [HEADER, align, *(cells(row) for row in in_order(rows))]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def show(rows: list[dict], arguments: argparse.Namespace, console: Console) -> None:
    table = Table(
        title=f"thousand messages per second, {arguments.ranks} ranks, "
        f"{arguments.messages} messages waiting at each"
    )
    for i, name in enumerate(HEADER):
        table.add_column(name, justify="right" if 2 <= i < len(HEADER) - 1 else "left")
    for row in in_order(rows):
        table.add_row(*cells(row))
    console.print(table)


def main() -> int:
    console = Console()
    console.width = max(console.width, 120)
    arguments = parse_arguments()
    peers = [PEERS[name] for name in arguments.peers]
    programs = build_programs(peers, arguments.library, console, "queues_bench.c", "meeting.c")
    meta = {
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "cpu": cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "peers": {peer.name: peer.packages for peer in peers},
        "ranks": arguments.ranks,
        "messages": arguments.messages,
        "turns": arguments.turns,
    }
    rows, failures = [], []
    for peer in peers:
        try:
            for row in measure(peer, programs[peer], arguments):
                rows.append(row)
                console.print(
                    f"{peer.title}, {row['pattern']}: {row['over_list']:.2f} × lists, "
                    f"{row['over_peer']:.2f} × the library",
                    highlight=False,
                )
        except launching.LaunchError as error:
            failures.append(str(error))
            console.print(f"{peer.title}: {error}", style="red", markup=False)
    wrong = sum(row["wrong"] for row in rows)
    if rows:
        show(rows, arguments, console)
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        results = {"meta": {**meta, "failures": failures}, "rows": rows}
        arguments.json.write_text(json.dumps(results, indent=1))
        arguments.json.with_suffix(".md").write_text(markdown(rows))
        console.print(f"{wrong:.0f} wrong messages; wrote {arguments.json}")
    return 1 if failures or wrong else 0
