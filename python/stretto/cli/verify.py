# SPDX-License-Identifier: BSD-3-Clause
"""`stretto verify`: proofs of schedules."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.progress import track

from stretto import _core
from stretto.cli.catalog import ROOTED, Choice, choose, collective_option, read_schedule
from stretto.cli.tables import console, table, write_json
from stretto.cli.units import RANKS, SIZE, show_ranges, show_size

ELEMENT = 4
PROPERTIES = ("order_preserving", "consistent", "canonical")


@click.command()
@click.argument("algorithms", nargs=-1)
@click.option("--ranks", type=RANKS, default="1:64", show_default=True, help="Numbers of ranks.")
@collective_option
@click.option(
    "--bytes",
    "size",
    type=SIZE,
    default="1M",
    show_default=True,
    help="The vector that bytes are counted for.",
)
@click.option("--each", is_flag=True, help="A line for each number of ranks, not just the largest.")
@click.option("--json", "json_path", metavar="FILE", help="Write every proof to FILE (- prints).")
@click.option(
    "--schedule",
    "schedules",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Prove the schedule in this JSON file instead.",
)
def verify(
    algorithms: tuple[str, ...],
    ranks: list[int],
    collective: str | None,
    size: int,
    each: bool,
    json_path: str | None,
    schedules: tuple[Path, ...],
) -> None:
    """Proves ALGORITHMs, or all, for every timing, and that they are what they declare to be.

    \b
    stretto verify
    stretto verify ring 'segmented_ring(segments=4)' --ranks 1:64 --each
    stretto verify --json proofs.json
    stretto verify --schedule mine.json

    A proof runs all ranks symbolically without any buffering: every contribution is in every result
    exactly once, no deadlock, no unmatched message, no read before a write.  Messages, bytes,
    reductions and scratch are of the rank that has most.  The exit status is 1 if any proof fails.
    """
    if schedules:
        rows = [prove_file(path, size) for path in schedules]
    else:
        cases = list(all_cases(choose(algorithms, collective), ranks))
        if not cases:
            raise click.UsageError("none of these algorithms runs at these numbers of ranks")
        watched = track(cases, "proving", transient=True, disable=not sys.stderr.isatty())
        rows = [prove(choice, count, root, size) for choice, count, root in watched]
    if json_path:
        write_json(json_path, rows)
    if json_path != "-":
        show(rows, each or bool(schedules))
    failed = [row for row in rows if not row["ok"]]
    for row in failed:
        click.echo(
            f"FAILED {row['collective']} {row['algorithm']}, {row['ranks']} ranks: "
            f"{row['failure']}",
            err=True,
        )
    sys.exit(1 if failed else 0)


def all_cases(choices: list[Choice], ranks: list[int]) -> Iterator[tuple[Choice, int, int]]:
    """Algorithm, number of ranks, root: for rooted collectives the first, a middle and the last."""
    for choice in choices:
        for count in ranks:
            if choice.runs(count):
                roots = {0, count // 2, count - 1} if choice.collective in ROOTED else {0}
                for root in sorted(roots):
                    yield choice, count, root


def prove(choice: Choice, ranks: int, root: int, size: int) -> dict[str, Any]:
    count = 1 if choice.collective == "barrier" else elements(size)
    row = choice.schedule(ranks, root).prove(count, ELEMENT)
    declared = _core.declared(choice.collective, choice.name, ranks)[1:]
    for name, promised in zip(PROPERTIES, declared, strict=True):
        if row["ok"] and promised and not row[name]:
            row["ok"] = False
            row["failure"] = f"declared to be {name.replace('_', '-')}, but is not"
    return {**row, "root": root, "name": choice.text}


def prove_file(path: Path, size: int) -> dict[str, Any]:
    schedule = read_schedule(path)
    return {**schedule.prove(elements(size), ELEMENT), "root": 0, "name": str(path)}


def elements(size: int) -> int:
    return max(1, size // ELEMENT)


def show(rows: list[dict[str, Any]], each: bool) -> None:
    shown = table(
        "collective", "algorithm", ">ranks", "proved", ">steps", ">messages", ">bytes sent",
        ">reduced", ">scratch", "in order", "same bits", "tree",
    )  # fmt: skip
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["collective"], row["name"]), []).append(row)
    for group in groups.values():
        proved = sorted({row["ranks"] for row in group if row["ok"]})
        for row in group if each else [group[-1]]:
            own = [row["ranks"]] if row["ok"] else []
            shown.add_row(*cells(row, own if each else proved))
    console().print(shown)
    good = sum(row["ok"] for row in rows)
    console().print(f"{good} of {len(rows)} schedules proved")


def cells(row: dict[str, Any], proved: list[int]) -> list[str]:
    where = [row["collective"], row["algorithm"], str(row["ranks"])]
    if not row["ok"]:
        return [*where, show_ranges(proved) or "[red]none[/red]", *["-"] * 8]
    return [
        *where,
        show_ranges(proved),
        f"{row['steps']:,}",
        f"{row['messages']:,}",
        show_size(row["bytes_sent"]),
        show_size(row["bytes_reduced"]),
        show_size(row["scratch_bytes"]),
        "yes" if row["order_preserving"] else "no",
        "yes" if row["consistent"] else "no",
        "canonical" if row["canonical"] else f"{row['tree']:016x}",
    ]
