# SPDX-License-Identifier: BSD-3-Clause
"""`stretto list`: the algorithms and what they promise."""

from __future__ import annotations

from typing import Any

import click

from stretto import _core
from stretto.cli.catalog import MOST_RANKS, collective_option, properties
from stretto.cli.tables import console, table, write_json
from stretto.cli.units import show_ranges


@click.command("list")
@collective_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_command(collective: str | None, as_json: bool) -> None:
    """Lists the algorithms with what they declare; `stretto verify` proves it.

    \b
    stretto list
    stretto list --collective allreduce --json

    \b
    in order    operands stay in the order of ranks: fit for operations that do not commute
    same bits   all ranks end with identical results
    canonical   the one expression tree that is the same for all algorithms that have this property
    """
    entries = [
        {**each, **properties(each)}
        for each in _core.algorithms()
        if collective in (None, each["collective"])
    ]
    if as_json:
        write_json("-", entries)
        return
    shown = table("collective", "algorithm", "ranks", "in order", "same bits", "canonical", "what")
    for entry in entries:
        names = ", ".join(each["name"] for each in entry["parameters"])
        shown.add_row(
            entry["collective"],
            entry["name"] + (f"({names})" if names else ""),
            show_ranks(entry["runs"], list(range(1, MOST_RANKS + 1)), "any"),
            *(
                show_ranks(entry[each], entry["runs"], "yes")
                for each in ("order_preserving", "consistent", "canonical")
            ),
            f"{entry['summary']} [dim]({entry['source']})[/dim]",
        )
    console().print(shown)
    for entry in entries:
        for each in entry["parameters"]:
            click.echo(
                f"{entry['collective']} {entry['name']}({with_default(each)}): "
                f"{each['meaning']}, {values(each)}"
            )


def values(parameter: dict[str, Any]) -> str:
    return ", ".join(parameter["names"]) or f"{parameter['least']} to {parameter['most']}"


def with_default(parameter: dict[str, Any]) -> str:
    return parameter["name"] + ("" if parameter["list"] else f"={parameter['default']}")


def show_ranks(ranks: list[int], possible: list[int], all_of_them: str) -> str:
    """How many ranks a property holds for, in few words."""
    if ranks == possible:
        return all_of_them
    if not ranks:
        return "no"
    powers = [each for each in possible if each & (each - 1) == 0]
    if ranks == powers:
        return "powers of two"
    ranges = show_ranges(ranks).split(", ")
    return ", ".join(ranges[:3] + ["..."] if len(ranges) > 3 else ranges)
