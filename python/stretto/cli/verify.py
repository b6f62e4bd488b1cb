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
from stretto.cli.effort import foresee
from stretto.cli.groups import GROUPS, groups_of, steps_of
from stretto.cli.hosts import NOWHERE, hosts_option, read_hosts, says_ranks, shapes
from stretto.cli.tables import console, table, write_json
from stretto.cli.units import RANKS, SIZE, show_ranges, show_size

ELEMENT = 4
PROOF_BYTES = 1300  # of memory for each block that a rank sends
PROPERTIES = ("order_preserving", "consistent", "canonical")


@click.command()
@click.argument("algorithms", nargs=-1)
@click.option("--ranks", type=RANKS, help="Numbers of ranks.  [default: that of --hosts, or 1:64]")
@hosts_option("Which ranks share a host; all: every shape, neighbours sharing one or dealt out")
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
@click.option(
    "--groups",
    type=click.Choice(GROUPS),
    default=None,
    help="For algorithms over groups: the cyclic one, the product of primes, or every product in "
    "every order.",
)
@click.option("--all-r", is_flag=True, help="For algorithms that can save steps: every number r.")
@click.option(
    "--json",
    "json_path",
    metavar="[FILE]",
    is_flag=False,
    flag_value="-",
    help="Print every proof as JSON, or write it to FILE (with the table printed).",
)
@click.option(
    "--schedule",
    "schedules",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Prove the schedule in this JSON file instead.",
)
def verify(
    algorithms: tuple[str, ...],
    ranks: list[int] | None,
    hosts: str | None,
    collective: str | None,
    size: int,
    each: bool,
    groups: str | None,
    all_r: bool,
    json_path: str | None,
    schedules: tuple[Path, ...],
) -> None:
    """Proves ALGORITHMs, or all, for every timing, and that they are what they declare to be.

    \b
    stretto verify
    stretto verify ring 'segmented_ring(segments=4)' --ranks 1:64 --each
    stretto verify generalized --ranks 1:130 --all-r --groups all
    stretto verify 'hierarchical(intra=direct, inter=ring, leaders=2)' --hosts 3,1,2
    stretto verify hierarchical --ranks 1:24 --hosts all
    stretto verify --json
    stretto verify --json proofs.json
    stretto verify --schedule mine.json

    A proof runs all ranks symbolically without any buffering: every contribution is in every result
    exactly once, no deadlock, no unmatched message, no read before a write.  Messages, bytes,
    reductions and scratch are of the rank that has most.  The exit status is 1 if any proof fails.
    """
    if json_path in algorithm_names():
        raise click.UsageError(
            f"--json {json_path}: this writes a file of that name; name algorithms before --json"
        )
    if schedules:
        rows = [prove_file(path, size) for path in schedules]
    else:
        places = list(all_places(ranks, hosts))
        cases = list(all_cases(choose(algorithms, collective), places, groups, all_r))
        if not cases:
            raise click.UsageError("none of these algorithms runs at these numbers of ranks")
        flat = [(choice, count, root) for choice, count, _, root in cases]
        foresee(flat, lambda schedule: schedule.prove(elements(size), ELEMENT), PROOF_BYTES)
        watched = track(cases, "proving", transient=True, disable=not sys.stderr.isatty())
        rows = [prove(choice, count, where, root, size) for choice, count, where, root in watched]
    if json_path:
        write_json(json_path, rows)
    if json_path != "-":
        show(rows, each or bool(schedules))
    failed = [row for row in rows if not row["ok"]]
    for row in failed:
        click.echo(
            f"FAILED {row['collective']} {row['algorithm']}, {row['ranks']} ranks{on(row)}: "
            f"{row['failure']}",
            err=True,
        )
    sys.exit(1 if failed else 0)


def algorithm_names() -> set[str]:
    return {each["name"] for each in _core.algorithms()}


def all_places(ranks: list[int] | None, hosts: str | None) -> Iterator[tuple[int, _core.Topology]]:
    """Numbers of ranks, and where they are."""
    if hosts is not None and hosts != "all" and says_ranks(hosts):
        where = read_hosts(hosts)
        for count in ranks or [where.ranks]:
            yield count, read_hosts(hosts, count)
        return
    for count in ranks or range(1, 65):
        if hosts is None:
            yield count, NOWHERE
        elif hosts == "all":
            yield from ((count, where) for where in shapes(count))
        elif ranks or int(hosts.removeprefix("cyclic:").partition("/")[0]) <= count:
            yield count, read_hosts(hosts, count)


def all_cases(
    choices: list[Choice],
    places: list[tuple[int, _core.Topology]],
    groups: str | None,
    all_r: bool,
) -> Iterator[tuple[Choice, int, _core.Topology, int]]:
    """Algorithm, number of ranks, hosts, root: for rooted collectives the first, a middle and the
    last."""
    for choice in choices:
        for count, where in places:
            for form in forms(choice, count, groups, all_r):
                if form.runs(count, where):
                    roots = {0, count // 2, count - 1} if form.collective in ROOTED else {0}
                    for root in sorted(roots):
                        yield form, count, where, root


def forms(choice: Choice, ranks: int, groups: str | None, all_r: bool) -> Iterator[Choice]:
    """The algorithm with every group and number of steps that is asked for and it has."""
    known = choice.parameters()
    given, open_group = choice.given(), groups is not None and "group" in known
    for group in groups_of(ranks, groups) if open_group and "group" not in given else [None]:
        shape = {"group": "x".join(map(str, group))} if group else {}
        saved = range(steps_of(group or [ranks]) + 1) if all_r and "r" in known else [None]
        for r in saved if "r" not in given else [None]:
            more = shape if r is None else {**shape, "r": str(r)}
            yield choice.with_parameters(more) if more else choice


def prove(
    choice: Choice, ranks: int, where: _core.Topology, root: int, size: int
) -> dict[str, Any]:
    count = 1 if choice.collective == "barrier" else elements(size)
    row = choice.schedule(ranks, root, where).prove(count, ELEMENT)
    declared = _core.declared(choice.collective, choice.text, ranks, where)[1:]
    for name, promised in zip(PROPERTIES, declared, strict=True):
        if row["ok"] and promised and not row[name]:
            row["ok"] = False
            row["failure"] = f"declared to be {name.replace('_', '-')}, but is not"
    hosts = {"hosts": str(where)} if where else {}
    return {**row, **hosts, "root": root, "name": choice.text, "line": line(choice)}


def line(choice: Choice) -> str:
    """What rows of the table have in common: the group differs with the number of ranks."""
    rest = {name: value for name, value in choice.given().items() if name != "group"}
    return Choice(choice.collective, choice.name).with_parameters(rest).text


def prove_file(path: Path, size: int) -> dict[str, Any]:
    schedule = read_schedule(path)
    return {
        **schedule.prove(elements(size), ELEMENT),
        "root": 0,
        "name": str(path),
        "line": str(path),
    }


def elements(size: int) -> int:
    return max(1, size // ELEMENT)


def on(row: dict[str, Any]) -> str:
    return f" on hosts {row['hosts']}" if "hosts" in row else ""


def show(rows: list[dict[str, Any]], each: bool) -> None:
    placed = any("hosts" in row for row in rows)
    shown = table(
        "collective", "algorithm", ">ranks", *(["hosts"] if placed else []), "proved",
        ">steps", ">messages", ">bytes sent", ">reduced", ">scratch", "in order", "same bits",
        "tree",
    )  # fmt: skip
    lines: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        lines.setdefault((row["collective"], row["line"]), []).append(row)
    for group in lines.values():
        proved = sorted({row["ranks"] for row in group if row["ok"]})
        for row in group if each else [group[-1]]:
            own = [row["ranks"]] if row["ok"] else []
            line = cells(row, own if each else proved)
            if placed:
                line.insert(3, row.get("hosts", ""))
            shown.add_row(*line)
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
