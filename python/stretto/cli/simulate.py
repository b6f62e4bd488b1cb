# SPDX-License-Identifier: BSD-3-Clause
"""`stretto simulate`: when each rank is done, in a model of a network."""

from __future__ import annotations

import click

from stretto.cli.catalog import collective_option, schedule_of
from stretto.cli.network import Model, network_options
from stretto.cli.tables import console, table, write_json
from stretto.cli.units import show_seconds, show_size

BAR = 30


@click.command()
@click.argument("algorithm", metavar="SCHEDULE")
@click.option("--ranks", type=click.IntRange(1), default=8, show_default=True)
@click.option("--root", type=click.IntRange(0), default=0, help="Of reduce and broadcast.")
@collective_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON (times in seconds).")
@network_options
def simulate(
    algorithm: str, ranks: int, root: int, collective: str | None, as_json: bool, model: Model
) -> None:
    """Plays a schedule in the Hockney model: a message of m bytes takes alpha + beta * m.

    \b
    stretto simulate ring --ranks 8 --bytes 4M --network 10gbe
    stretto simulate direct --ranks 16 --late 3:4ms --late 5:1ms
    stretto simulate 'segmented_ring(segments=4)' --mode ordered --json
    stretto simulate mine.json

    SCHEDULE is an algorithm, or a JSON file as `stretto show --json` writes it.

    A rank sends one message and receives one at a time.  A message starts when the receiver has
    reached exactly that receive (posted), has arrived (arrived), at once (eager), or when its own
    order allows it (ordered).
    """
    what = schedule_of(algorithm, collective, ranks, root)
    result = model.play(what.schedule)
    arrivals = model.arrivals(what.schedule.ranks)
    if as_json:
        write_json("-", {
            "algorithm": what.text, "collective": what.collective, "ranks": what.schedule.ranks,
            **model.parameters(), "arrivals": arrivals, **result,
        })  # fmt: skip
        return
    shown = table(">rank", ">arrives", ">done", ">elapsed", "")
    makespan = result["makespan"] or 1.0
    for rank, (begin, end) in enumerate(zip(arrivals, result["finish"], strict=True)):
        before, inside = round(BAR * begin / makespan), round(BAR * end / makespan)
        bar = f"[dim]{'·' * before}[/dim]{'█' * max(0, inside - before)}"
        cells = (show_seconds(begin), show_seconds(end), show_seconds(end - begin))
        shown.add_row(str(rank), *cells, bar)
    console().print(
        f"{what.collective} {what.text}, {what.schedule.ranks} ranks, {show_size(model.size)}"
    )
    console().print(shown)
    console().print(
        f"last rank done after {show_seconds(result['makespan'])}; a rank takes "
        f"{show_seconds(result['mean_elapsed'])} in the mean from its arrival"
    )
