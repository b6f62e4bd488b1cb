# SPDX-License-Identifier: BSD-3-Clause
"""Estimates the time and memory of work on schedules of many ranks before it begins."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from typing import Any

import click

import stretto
from stretto import _core
from stretto.cli.catalog import Choice
from stretto.cli.units import show_size

FROM = 512  # ranks; fewer take so little time that no estimate is printed
SMALLER, LARGER = 64, 128  # ranks by which the memory of more is judged
ENOUGH = 0.3  # seconds of work by which the time of more is judged
LONG = 20.0  # seconds from which on an estimate is printed

Work = Callable[[_core.Schedule], Any]
Case = tuple[Choice, int, int]  # with the number of ranks, and the root


def foresee(cases: Iterable[Case], work: Work, bytes_per_move: int) -> None:
    """Prints how long `work` on all of these takes, if that is long.

    Memory grows with what is moved: blocks, of all ranks together.  How that grows with the number
    of ranks is seen at 64 and 128 of them; and how time does, at as many as take a moment.
    bytes_per_move: memory for each block that a rank sends.
    Raises ClickException if one of them takes more memory than there is.
    """
    many = [(choice, ranks) for choice, ranks, _ in cases if ranks >= FROM]
    most: dict[Choice, int] = {}
    for choice, ranks in many:
        if choice.runs(SMALLER) and choice.runs(LARGER):
            most[choice] = max(ranks, most.get(choice, 0))
    for choice, ranks in most.items():
        few, more = (_moves(choice.schedule(count)) for count in (SMALLER, LARGER))
        growth = math.log2(max(more, 1) / max(few, 1))
        _check_memory(choice, ranks, more * (ranks / LARGER) ** growth * bytes_per_move)
    paces = {choice: _pace(choice, ranks, work) for choice, ranks in most.items()}
    seconds = sum(paces[choice](ranks) for choice, ranks in many if choice in paces)
    if seconds > LONG:
        click.echo(
            f"stretto: this takes about {_rough(seconds)}; fewer ranks (--ranks) take less",
            err=True,
        )


def _moves(schedule: _core.Schedule) -> float:
    elements = 1 << 20
    row = schedule.prove(elements, 1)
    return schedule.ranks * schedule.blocks * row["bytes_sent"] / elements


def _check_memory(choice: Choice, ranks: int, needed: float) -> None:
    available = stretto.examine().memory_available
    if available is not None and needed > available:
        raise click.ClickException(
            f"{choice.collective} by {choice.text} at {ranks} ranks takes about "
            f"{show_size(needed)} of memory here, and {show_size(available)} are free; fewer "
            "ranks (--ranks) take less"
        )


def _pace(choice: Choice, most: int, work: Work) -> Callable[[int], float]:
    """Seconds by the number of ranks."""
    ranks, before, taken = SMALLER, 0.0, 0.0
    while taken < ENOUGH and 2 * ranks <= most and choice.runs(2 * ranks):
        ranks *= 2
        schedule = choice.schedule(ranks)
        start = time.perf_counter()
        work(schedule)
        before, taken = taken, time.perf_counter() - start
    growth = min(max(math.log2(taken / before), 1.0), 3.0) if before > 0 else 2.0
    return lambda count: taken * (count / ranks) ** growth


def _rough(seconds: float) -> str:
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
