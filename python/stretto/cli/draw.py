# SPDX-License-Identifier: BSD-3-Clause
"""`stretto draw`: schedules as pictures."""

from __future__ import annotations

from typing import Any

import click

from stretto.cli import drawing, overview
from stretto.cli.catalog import Named, collective_option
from stretto.cli.drawing import Panel, check_name
from stretto.cli.hosts import ranks_option
from stretto.cli.network import Model, network_options
from stretto.cli.pyplot import pyplot
from stretto.cli.tables import write_json
from stretto.cli.units import show_seconds, show_size

MOST_RANKS = 64  # of which each message can be seen, if they are not more than these
MOST_MESSAGES = 20_000


@click.command()
@click.argument("schedules", nargs=-1, required=True, metavar="SCHEDULE...")
@ranks_option(4)
@click.option(
    "-o", "--output", metavar="FILE", help="The picture: .svg, .png or .pdf.  [default: NAME.svg]"
)
@click.option("--block", type=click.IntRange(0), help="Make this block stand out on its way.")
@click.option("--root", type=click.IntRange(0), default=0, help="Of reduce and broadcast.")
@collective_option
@click.option(
    "--json", "as_json", is_flag=True, help="Print the events or the grid instead of drawing."
)
@network_options
def draw(
    schedules: tuple[str, ...],
    ranks: int | None,
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
    stretto draw ring generalized --ranks 256 --late 255:20ms -o many.png
    stretto draw ring hierarchical --hosts 2x3 -o hosts.svg
    stretto draw mine.json
    stretto draw ring --json

    A SCHEDULE is an algorithm, or a JSON file as `stretto show --json` writes it; several share one
    axis of time.  A bar in a rank's row is a message that it receives, hatched if it is to be
    reduced; a bar below, its processor reducing.  Of more than 64 ranks, or 20,000 messages, a
    picture shows how busy ports are instead.  Ranks of every other host (--hosts) stand on a darker
    ground.  The model is that of `stretto simulate`.
    """
    if output:
        check_name(output)
    if not as_json:
        pyplot()  # or ends with the missing package, before any work
    count = model.sharing.ranks(ranks, 4)
    named = [model.schedule(text, collective, count, root) for text in schedules]
    for what in named:
        model = model.on_hosts_of(what.schedule)
    for what in named:
        if block is not None and block >= what.schedule.blocks:
            raise click.UsageError(
                f"{what.text} has blocks 0 to {what.schedule.blocks - 1} "
                f"at {what.schedule.ranks} ranks"
            )
    timelines = each_message(model, named, as_json)
    seen = timelines is not None
    if timelines is None:
        if block is not None:
            raise click.UsageError(
                f"--block is for pictures of up to {MOST_RANKS} ranks and {MOST_MESSAGES} messages"
            )
        timelines = [
            model.play(what.schedule, grid=overview.grid(what.schedule.ranks, as_json))
            for what in named
        ]
    if as_json:
        write_json("-", [
            {
                "algorithm": what.text, "collective": what.collective,
                "ranks": what.schedule.ranks, "blocks": what.schedule.blocks,
                **model.parameters(what.schedule.ranks), **plain(timeline),
            }
            for what, timeline in zip(named, timelines, strict=True)
        ])  # fmt: skip
        return
    panels = [
        Panel(
            title(what, timeline, model.sharing.describe(what.schedule.ranks)),
            what.schedule.ranks, what.schedule.blocks,
            model.arrivals(what.schedule.ranks), timeline,
            model.sharing.hosts_of(what.schedule.ranks),
        )
        for what, timeline in zip(named, timelines, strict=True)
    ]  # fmt: skip
    path = output or named[0].text.partition("(")[0] + ".svg"
    note = f"{show_size(model.size)}; {model}; messages start when {MEANING[model.mode]}"
    if seen:
        drawing.draw(panels, note, path, block)
    else:
        overview.draw(panels, note, path)
    click.echo(path)


def each_message(model: Model, named: list[Named], printed: bool) -> list[dict[str, Any]] | None:
    """Timelines with their events; none if there are too many to be seen, or ranks to print."""
    if any(what.schedule.ranks > MOST_RANKS for what in named):
        return None
    timelines = [model.play(what.schedule, events=True) for what in named]
    most = max(len(timeline["events"]) for timeline in timelines)
    return timelines if printed or most <= MOST_MESSAGES else None


def title(what: Named, timeline: dict[str, Any], where: str) -> str:
    text = f"{what.collective} {what.text}{where}: {show_seconds(timeline['makespan'])}"
    if "occupancy" not in timeline:
        return text
    receiving, reducing = overview.busy(what.schedule.ranks, timeline)
    return f"{text}; ports receive {receiving:.0%} of the time, processors reduce {reducing:.0%}"


def plain(timeline: dict[str, Any]) -> dict[str, Any]:
    """For JSON: busy time by kind."""
    if "occupancy" not in timeline:
        return timeline
    kinds = ("received_to_reduce", "received_as_it_is", "reducing")
    shares = (each.tolist() for each in timeline["occupancy"])
    return {**timeline, "occupancy": dict(zip(kinds, shares, strict=True))}


MEANING = {
    "posted": "their receive is reached (posted)",
    "arrived": "the receiver has arrived (arrived)",
    "eager": "they are sent (eager)",
    "ordered": "what they need is done (ordered)",
}
