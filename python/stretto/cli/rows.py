# SPDX-License-Identifier: BSD-3-Clause
"""What `stretto bench` prints: a line as soon as it is measured, in columns wide enough for all."""

from __future__ import annotations

from collections.abc import Callable
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


def number(field: str, width: int, digits: int, head: str) -> Column:
    return Column(head, width, lambda row: f"{row[field]:,.{digits}f}")


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


class Printer:
    """Says what is measured, then row by row what came out."""

    def __init__(self, speaks: bool, meta: dict[str, Any]):
        self._speaks = speaks
        self._columns = SKEWED if meta["skew"] else TIMES
        self._say(
            f"{meta['collective']} of {meta['dtype']}"
            + (f", {meta['op']}" if "reduce" in meta["collective"] else "")
            + f", {meta['ranks']} ranks on {meta['cores']} cores, {meta['buffers']} buffers"
            + (", in place" if meta["inplace"] else "")
            + (f", {meta['skew']}" if meta["skew"] else "")
        )
        units = "times in µs" if meta["skew"] else "times in µs, bandwidths in GB/s, probe in ns"
        self._say(units + "\n")
        self._say("  ".join(each.fit(each.head) for each in self._columns))

    def row(self, row: dict[str, Any]) -> None:
        self._say("  ".join(each.fit(each.cell(row)) for each in self._columns))

    def end(self, rows: list[dict[str, Any]]) -> None:
        wrong = sum(row["wrong"] for row in rows)
        self._say(f"\n{wrong:,} wrong elements" if wrong else "\nall results right")

    def _say(self, line: str) -> None:
        if self._speaks:
            click.echo(line)
