# SPDX-License-Identifier: BSD-3-Clause
"""`stretto simulate`: when each rank is done, in a model of a network."""

from __future__ import annotations

from typing import Any

import click
import numpy as np
from rich.table import Table

from stretto.cli.catalog import collective_option
from stretto.cli.hosts import ranks_option
from stretto.cli.network import Model, network_options
from stretto.cli.tables import console, table, write_json
from stretto.cli.units import show_seconds, show_size

BAR = 30
MOST_ROWS = 64  # of a table, unless --all
PERCENTILES = (0, 10, 50, 90, 100)


@click.command()
@click.argument("algorithm", metavar="SCHEDULE")
@ranks_option(8)
@click.option("--root", type=click.IntRange(0), default=0, help="Of reduce and broadcast.")
@collective_option
@click.option(
    "--all", "show_all", is_flag=True, help=f"A row for each rank, also of more than {MOST_ROWS}."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (times in seconds).")
@network_options
def simulate(
    algorithm: str,
    ranks: int | None,
    root: int,
    collective: str | None,
    show_all: bool,
    as_json: bool,
    model: Model,
) -> None:
    """Plays a schedule in the Hockney model: a message of m bytes takes alpha + beta * m.

    \b
    stretto simulate ring --ranks 8 --bytes 4M --network 10gbe
    stretto simulate direct --ranks 16 --late 3:4ms --late 5:1ms
    stretto simulate pre_reduced_ring --ranks 1024 --pattern one-late:50ms --sorted
    stretto simulate ring --ranks 64 --per-host 4 --rack 8 --oversubscribe 4
    stretto simulate hierarchical --hosts cyclic:3x4 --network 10gbe
    stretto simulate 'segmented_ring(segments=4)' --mode ordered --json
    stretto simulate mine.json

    SCHEDULE is an algorithm, or a JSON file as `stretto show --json` writes it.

    A rank sends one message and receives one at a time.  A message starts when the receiver has
    reached exactly that receive (posted), has arrived (arrived), at once (eager), or when its own
    order allows it (ordered).

    Ranks of a host (--hosts, --per-host) share its port, one message out and one in at a time;
    hosts of a rack (--rack) share its uplinks, as many as hosts or fewer (--oversubscribe).  What
    ranks of one host send each other takes as long, and none of these.

    --sorted gives position 0 of the schedule to the rank that comes first, and so on, as calls do
    that know when ranks come; the steps of a pre_reduced_ring are then those that fit.
    """
    what = model.schedule(algorithm, collective, model.sharing.ranks(ranks, 8), root)
    model = model.on_hosts_of(what.schedule)
    result = model.play(what.schedule)
    ranks, arrivals = what.schedule.ranks, model.arrivals(what.schedule.ranks)
    bound = model.bound(what)
    if as_json:
        write_json("-", {
            "algorithm": what.text, "collective": what.collective, "ranks": ranks,
            **model.parameters(ranks), **result, "bound": bound,
        })  # fmt: skip
        return
    where = model.sharing.describe(ranks)
    out = console()
    out.print(f"{what.collective} {what.text}, {ranks} ranks{where}, {show_size(model.size)}")
    if ranks <= MOST_ROWS or show_all:
        out.print(rows(arrivals, result))
    else:
        out.print(summary(arrivals, result["finish"]))
        out.print(f"{extremes(arrivals, result['finish'])} (--all: all ranks)")
    out.print(
        f"last rank done after {show_seconds(result['makespan'])}; a rank takes "
        f"{show_seconds(result['mean_elapsed'])} in the mean from its arrival"
    )
    if bound:
        out.print(
            f"no allreduce is done before {show_seconds(bound['last_finish'])}, or takes less than "
            f"{show_seconds(bound['mean_elapsed'])} in the mean"
        )


def rows(arrivals: list[float], result: dict[str, Any]) -> Table:
    """One for each rank."""
    shown = table(">rank", ">arrives", ">done", ">elapsed", "")
    makespan = result["makespan"] or 1.0
    for rank, (begin, end) in enumerate(zip(arrivals, result["finish"], strict=True)):
        before, inside = round(BAR * begin / makespan), round(BAR * end / makespan)
        bar = f"[dim]{'·' * before}[/dim]{'█' * max(0, inside - before)}"
        cells = (show_seconds(begin), show_seconds(end), show_seconds(end - begin))
        shown.add_row(str(rank), *cells, bar)
    return shown


def summary(arrivals: list[float], finish: list[float]) -> Table:
    """How times are spread over ranks."""
    shown = table("", ">least", ">10 %", ">median", ">90 %", ">most", ">mean")
    elapsed = np.subtract(finish, arrivals)
    for name, times in (("arrives", arrivals), ("done", finish), ("elapsed", elapsed)):
        cells = [*np.percentile(times, PERCENTILES), np.mean(times)]
        shown.add_row(name, *(show_seconds(float(each)) for each in cells))
    return shown


def extremes(arrivals: list[float], finish: list[float]) -> str:
    """Who is first and last; the first of them, if several are."""
    elapsed = np.subtract(finish, arrivals)
    return (
        f"rank {np.argmin(finish)} is done first, {np.argmax(finish)} last; "
        f"rank {np.argmin(elapsed)} takes least, {np.argmax(elapsed)} most"
    )
