# SPDX-License-Identifier: BSD-3-Clause
"""What the runs under one MPI library spent in MPI_Allreduce, as a table."""

from __future__ import annotations

import statistics
from collections.abc import Callable

MEAN, AFTER_LAST = 2, 3  # columns of a row of times.c
Value = Callable[[dict], float]  # of a run


def print_table(result: dict) -> None:
    """`result`: as run.compare makes it.  Each number is the median of the runs, in brackets the
    least; the ratio is that of medians."""
    runs = len(result["with"])
    print(
        f"\n{result['mpi']}: {runs} runs without and {runs} with Stretto, median (least); "
        f"checksum {result['checksum']} in all of them\n"
    )
    blank = "-" * 18
    print(f"| {'':<35} | calls | {'without':>18} | {'with Stretto':>18} | ratio |")
    print(f"|:{35 * '-'}-|------:|{blank}-:|{blank}-:|------:|")
    calls = rows(result["without"][0])
    every = sum(row[1] for row in calls.values())
    _line(result, "program, s", "", lambda run: run["allreduce"]["running_seconds"])
    _line(result, "CPU time, all ranks, s", "", lambda run: run["allreduce"]["cpu_seconds"])
    _line(result, "in allreduce, mean of ranks, s", every, lambda run: total(run, MEAN))
    _line(result, "in allreduce, after the last, s", every, lambda run: total(run, AFTER_LAST))
    for size, row in sorted(calls.items()):
        name = f"{size:,} B, a call after the last, us"
        _line(result, name, row[1], _of_call(size))
    print(flush=True)


def rows(run: dict) -> dict[int, list]:
    """Bytes, calls, mean seconds and seconds after the last rank, by bytes."""
    return {row[0]: row for row in run["allreduce"]["by_size"]}


def total(run: dict, column: int) -> float:
    return sum(row[column] for row in rows(run).values())


def _of_call(size: int) -> Value:
    def microseconds(run: dict) -> float:
        row = rows(run)[size]
        return 1e6 * row[AFTER_LAST] / row[1]

    return microseconds


def _line(result: dict, what: str, calls: object, value: Value) -> None:
    values = {kind: [value(run) for run in result[kind]] for kind in ("without", "with")}
    medians = {kind: statistics.median(each) for kind, each in values.items()}
    cells = [f"{_number(medians[kind])} ({_number(min(values[kind]))})" for kind in values]
    ratio = f"{medians['without'] / medians['with']:.2f}" if medians["with"] else "-"
    print(f"| {what:<35} | {calls:>5} | {cells[0]:>18} | {cells[1]:>18} | {ratio:>5} |")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
