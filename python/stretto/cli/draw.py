# SPDX-License-Identifier: BSD-3-Clause
"""`stretto draw`: schedules as pictures."""

from __future__ import annotations

import click

from stretto.cli.catalog import collective_option
from stretto.cli.drawing import Panel, check_name
from stretto.cli.drawing import draw as paint
from stretto.cli.network import Model, network_options
from stretto.cli.tables import write_json
from stretto.cli.units import show_seconds, show_size

MOST_RANKS = 64  # no picture shows more, nor more messages
MOST_MESSAGES = 20_000


@click.command()
@click.argument("schedules", nargs=-1, required=True, metavar="SCHEDULE...")
@click.option("--ranks", type=click.IntRange(1), default=4, show_default=True)
@click.option(
    "-o", "--output", metavar="FILE", help="The picture: .svg, .png or .pdf.  [default: NAME.svg]"
)
@click.option("--block", type=click.IntRange(0), help="Make this block stand out on its way.")
@click.option("--root", type=click.IntRange(0), default=0, help="Of reduce and broadcast.")
@collective_option
@click.option("--json", "as_json", is_flag=True, help="Print the events instead of drawing them.")
@network_options
def draw(
    schedules: tuple[str, ...],
    ranks: int,
    output: str | None,
    block: int | None,
    root: int,
    collective: str | None,
    as_json: bool,
    model: Model,
) -> None:
    """Draws SCHEDULEs as time diagrams: ranks down, time across, blocks as colours.

    \b
    stretto draw ring --ranks 4 -o ring.svg
    stretto draw ring direct --ranks 5 --late 0:4ms --block 2 -o late.png
    stretto draw 'segmented_ring(segments=2)' --mode ordered --gamma 5ns --network 1gbe
    stretto draw mine.json
    stretto draw ring --json

    A SCHEDULE is an algorithm, or a JSON file as `stretto show --json` writes it; several share one
    axis of time.  A bar in a rank's row is a message that it receives, hatched if it is to be
    reduced; a bar below, its processor reducing.  The model is that of `stretto simulate`, which
    sums up more ranks than a picture has room for.
    """
    if output:
        check_name(output)
    panels, shown = [], []
    for text in schedules:
        what = model.schedule(text, collective, ranks, root)
        count, blocks = what.schedule.ranks, what.schedule.blocks
        if count > MOST_RANKS:
            raise click.UsageError(
                f"{text}: a picture has room for {MOST_RANKS} ranks, not {count}; "
                "`stretto simulate` sums up when so many are done"
            )
        if block is not None and block >= blocks:
            raise click.UsageError(f"{text} has blocks 0 to {blocks - 1} at {count} ranks")
        timeline = model.play(what.schedule, events=True)
        if not as_json and len(timeline["events"]) > MOST_MESSAGES:
            raise click.UsageError(f"{text} has more messages than can be drawn; try fewer --ranks")
        title = f"{what.collective} {what.text}: {show_seconds(timeline['makespan'])}"
        panels.append(Panel(title, count, blocks, model.arrivals(count), timeline))
        shown.append({
            "algorithm": what.text, "collective": what.collective, "ranks": count,
            "blocks": blocks, **model.parameters(count), **timeline,
        })  # fmt: skip
    if as_json:
        write_json("-", shown)
        return
    path = output or shown[0]["algorithm"].partition("(")[0] + ".svg"
    note = f"{show_size(model.size)}; {model}; messages start when {MEANING[model.mode]}"
    paint(panels, note, path, block)
    click.echo(path)


MEANING = {
    "posted": "their receive is reached (posted)",
    "arrived": "the receiver has arrived (arrived)",
    "eager": "they are sent (eager)",
    "ordered": "what they need is done (ordered)",
}
