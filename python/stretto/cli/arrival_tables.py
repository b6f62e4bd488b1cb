# SPDX-License-Identifier: BSD-3-Clause
"""What `stretto bench arrival` has measured, as tables 3 and 4 of Proficz (2018)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from stretto.cli.tables import table
from stretto.cli.units import show_size

NONE = "–"
MODES = {
    "one-late": "one rank late",
    "rand-late": "all late at random",
    "moving-late": "another rank late after every 8 calls",
    "any-late": "one rank late, unknown to the others",
}
COMPARED = "pre_reduced_ring"  # of table 4
BOUNDS = {"bound": "elapsed_bound_us", "bound, buffered": "buffered_bound_us"}
BETTER = 1.005  # from here on a speed-up is more than 1.00 as it is printed
Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    text: str
    better: bool = False
    """Better than the reference; bold in the paper."""


@dataclass(frozen=True)
class Grid:
    """Lines of cells under a head; the first cell of each is its label."""

    title: str
    head: list[str]
    lines: list[list[Cell]]


def tables(rows: list[Row]) -> list[Grid]:
    """All that there are of them."""
    made = []
    for mode in seen(rows, "mode"):
        made += [by_algorithm(rows, mode, size) for size in seen(rows, "bytes")]
    for mode in seen(rows, "mode"):
        compared = [row for row in rows if row["mode"] == mode and row["algorithm"] == COMPARED]
        if any(row["speedup"] for row in compared):
            made.append(against_ring(rows, mode))
    return made


def by_algorithm(rows: list[Row], mode: str, size: int) -> Grid:
    """Table 3: mean elapsed times, and speed-ups under them."""
    mine = [row for row in rows if row["mode"] == mode and row["bytes"] == size]
    delays = seen(mine, "delay_us")
    lines = []
    for name in seen(mine, "algorithm"):
        of = {row["delay_us"]: row for row in mine if row["algorithm"] == name}
        lines += _pair(name, [of.get(delay) for delay in delays], milliseconds)
    for name, field in BOUNDS.items():
        bounds = {row["delay_us"]: row[field] for row in mine}
        if any(bound is not None for bound in bounds.values()):
            lines.append([Cell(name), *(Cell(_ms(bounds[delay])) for delay in delays)])
    over = mine[0]["reference"]
    title = f"Mean elapsed time, ms, and speed-up over {over}: {show_size(size)}, {MODES[mode]}"
    return Grid(title, _head("late by, ms", delays), lines)


def against_ring(rows: list[Row], mode: str, name: str = COMPARED) -> Grid:
    """Table 4: by how much an algorithm is slower than the reference, and its speed-up."""
    mine = [row for row in rows if row["mode"] == mode and row["algorithm"] == name]
    delays = seen(mine, "delay_us")
    lines = []
    for size in seen(mine, "bytes"):
        of = {row["delay_us"]: row for row in mine if row["bytes"] == size}
        lines += _pair(show_size(size), [of.get(delay) for delay in delays], difference)
    title = f"{name}: ms more than {mine[0]['reference']}, and speed-up: {MODES[mode]}"
    return Grid(title, _head("late by, ms", delays), lines)


def milliseconds(row: Row) -> str:
    return _ms(row["elapsed_us"])


def difference(row: Row) -> str:
    """Of the reference, by whose time its speed-up is reckoned."""
    return _ms(row["elapsed_us"] * (1 - row["speedup"])) if row["speedup"] else NONE


def seen(rows: list[Row], field: str) -> list[Any]:
    """Its values, in the order of rows."""
    return list(dict.fromkeys(row[field] for row in rows))


def shown(grid: Grid) -> Table:
    made = table(grid.head[0], *(f">{each}" for each in grid.head[1:]))
    for line in grid.lines:
        made.add_row(*(Text(cell.text, "bold" if cell.better else "") for cell in line))
    return made


def markdown(grid: Grid) -> list[str]:
    lines = [f"| {' | '.join(grid.head)} |", "|:--|" + "---:|" * (len(grid.head) - 1)]
    for line in grid.lines:
        cells = (f"**{cell.text}**" if cell.better else cell.text for cell in line)
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _pair(name: str, rows: list[Row | None], first: Callable[[Row], str]) -> list[list[Cell]]:
    """A line of times, and one of speed-ups under it."""
    better = [bool(row and row["speedup"] and row["speedup"] >= BETTER) for row in rows]
    upper = [first(row) if row else NONE for row in rows]
    lower = [f"{row['speedup']:.2f}" if row and row["speedup"] else NONE for row in rows]
    return [
        [Cell(name), *map(Cell, upper, better)],
        [Cell(""), *map(Cell, lower, better)],
    ]


def _head(first: str, delays: list[float]) -> list[str]:
    return [first, *(f"{delay * 1e-3:g}" for delay in delays)]


def _ms(microseconds: float | None) -> str:
    """With as many digits as in the paper, and more for short times."""
    if microseconds is None:
        return NONE
    ms = microseconds * 1e-3
    return f"{ms:.{1 if abs(ms) >= 10 else 3}f}"
