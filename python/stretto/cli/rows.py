# SPDX-License-Identifier: BSD-3-Clause
"""What `stretto bench` prints: a line as soon as it is measured, in columns wide enough for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click

SHOWN_RANKS = 8


@dataclass(frozen=True)
class Column:
    head: str
    width: int  # negative: to the left
    cell: Callable[[dict[str, Any]], str]

    def fit(self, text: str) -> str:
        return text.ljust(-self.width) if self.width < 0 else text.rjust(self.width)


def algorithm(row: dict[str, Any]) -> str:
    same = row["algorithm"] == row["chosen"]
    return row["algorithm"] if same else f"{row['algorithm']}: {row['chosen']}"


def number(field: str, width: int, digits: int, head: str, unit: float = 1.0) -> Column:
    """A dash stands for unknown values."""

    def cell(row: dict[str, Any]) -> str:
        return "–" if row[field] is None else f"{row[field] / unit:,.{digits}f}"

    return Column(head, width, cell)


def by_rank(field: str, head: str) -> Column:
    def cell(row: dict[str, Any]) -> str:
        shown = " ".join(f"{each:.4g}" for each in row[field][:SHOWN_RANKS])
        return shown + (" ..." if len(row[field]) > SHOWN_RANKS else "")

    return Column(head, -1, cell)


FIRST = (Column("bytes", 12, lambda row: f"{row['bytes']:,}"), Column("algorithm", -24, algorithm))
WRONG = Column("wrong", 5, lambda row: f"{row['wrong']:,}")
TIMES = (
    *FIRST,
    number("t_min_us", 10, 2, "t_min"),
    number("t_p50_us", 10, 2, "t_p50"),
    number("t_p99_us", 10, 2, "t_p99"),
    number("algbw_GBps", 8, 3, "algbw"),
    number("busbw_GBps", 8, 3, "busbw"),
    number("probe_ns", 6, 1, "probe"),
    WRONG,
    by_rank("rank_mean_us", "means"),
)
SKEWED = (
    *FIRST,
    number("elapsed_us", 12, 1, "elapsed"),
    number("last_us", 12, 1, "last"),
    WRONG,
    by_rank("rank_elapsed_us", "elapsed of each rank"),
)


ARRIVALS = (
    FIRST[0],
    Column("mode", -9, lambda row: row["mode"]),
    Column("late by", 7, lambda row: f"{row['delay_us'] * 1e-3:g}"),
    FIRST[1],
    number("elapsed_us", 9, 2, "elapsed", 1e3),
    number("elapsed_bound_us", 9, 2, "bound", 1e3),
    number("buffered_bound_us", 9, 2, "buffered", 1e3),
    number("sigma_us", 7, 2, "σ", 1e3),
    number("speedup", 8, 3, "speed-up"),
    number("speedup_error", 5, 3, "±"),
    number("last_us", 9, 2, "last", 1e3),
    number("last_bound_us", 9, 2, "bound", 1e3),
    number("imbalance_factor", 9, 1, "imbalance"),
    WRONG,
)
TIMES_UNITS = "times in µs, bandwidths in GB/s, probe in ns"
SKEWED_UNITS = "times in µs"
ARRIVALS_UNITS = "times in ms"


class Printer:
    """Prints the head of the table, then a row for each result."""

    def __init__(self, speaks: bool, columns: Sequence[Column]):
        self._speaks = speaks
        self._columns = columns

    def begin(self, headline: str, units: str) -> None:
        self._say(f"{headline}\n{units}\n")
        self._say("  ".join(each.fit(each.head) for each in self._columns))

    def row(self, row: dict[str, Any]) -> None:
        self._say("  ".join(each.fit(each.cell(row)) for each in self._columns))

    def end(self, rows: list[dict[str, Any]], of: str = "elements") -> None:
        wrong = sum(row["wrong"] for row in rows)
        self._say(f"\n{wrong:,} wrong {of}" if wrong else "\nall results right")

    def _say(self, line: str) -> None:
        if self._speaks:
            click.echo(line)
