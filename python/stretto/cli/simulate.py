# SPDX-License-Identifier: BSD-3-Clause
"""`stretto simulate`: when each rank is done, in a model of a network."""

from __future__ import annotations

import click

from stretto.cli.catalog import choose_one, collective_option
from stretto.cli.tables import console, table, write_json
from stretto.cli.units import SIZE, TIME, parse_seconds, show_seconds, show_size

ELEMENT = 4
BAR = 30


@click.command()
@click.argument("algorithm")
@click.option("--ranks", type=click.IntRange(1), default=8, show_default=True)
@click.option("--bytes", "size", type=SIZE, default="1M", show_default=True, help="The vector.")
@click.option("--alpha", type=TIME, default="30us", show_default=True, help="Time of a message.")
@click.option("--beta", type=TIME, default="10ns", show_default=True, help="Time of a byte sent.")
@click.option(
    "--gamma", type=TIME, default="0.2ns", show_default=True, help="Time of a byte reduced."
)
@click.option("--late", multiple=True, metavar="RANK:TIME", help="This rank arrives late.")
@click.option(
    "--mode",
    type=click.Choice(["posted", "arrived", "eager", "ordered"]),
    default="posted",
    show_default=True,
    help="When a message may start.",
)
@click.option("--root", type=click.IntRange(0), default=0, help="Of reduce and broadcast.")
@collective_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON (times in seconds).")
def simulate(
    algorithm: str,
    ranks: int,
    size: int,
    alpha: float,
    beta: float,
    gamma: float,
    late: tuple[str, ...],
    mode: str,
    root: int,
    collective: str | None,
    as_json: bool,
) -> None:
    """Plays ALGORITHM in the Hockney model: a message of m bytes takes alpha + beta * m.

    \b
    stretto simulate ring --ranks 8 --bytes 4M
    stretto simulate direct --ranks 16 --late 3:4ms --late 5:1ms
    stretto simulate 'segmented_ring(segments=4)' --mode ordered --json

    A rank sends one message and receives one at a time.  A message starts when the receiver has
    reached exactly that receive (posted), has arrived (arrived), at once (eager), or when its own
    order allows it (ordered).
    """
    choice = choose_one(algorithm, collective)
    arrivals = [0.0] * ranks
    for each in late:
        rank, delay = parse_late(each, ranks)
        arrivals[rank] = delay
    result = choice.schedule(ranks, root).simulate(
        max(1, size // ELEMENT), ELEMENT, arrivals, alpha, beta, gamma, mode
    )
    if as_json:
        write_json("-", {
            "algorithm": choice.text, "collective": choice.collective, "ranks": ranks,
            "bytes": size, "alpha": alpha, "beta": beta, "gamma": gamma, "mode": mode,
            "arrivals": arrivals, **result,
        })  # fmt: skip
        return
    shown = table(">rank", ">arrives", ">done", ">elapsed", "")
    makespan = result["makespan"] or 1.0
    for rank, (begin, end) in enumerate(zip(arrivals, result["finish"], strict=True)):
        before, inside = round(BAR * begin / makespan), round(BAR * end / makespan)
        bar = f"[dim]{'·' * before}[/dim]{'█' * max(0, inside - before)}"
        cells = (show_seconds(begin), show_seconds(end), show_seconds(end - begin))
        shown.add_row(str(rank), *cells, bar)
    console().print(f"{choice.collective} {choice.text}, {ranks} ranks, {show_size(size)}")
    console().print(shown)
    console().print(
        f"last rank done after {show_seconds(result['makespan'])}; a rank takes "
        f"{show_seconds(result['mean_elapsed'])} in the mean from its arrival"
    )


def parse_late(text: str, ranks: int) -> tuple[int, float]:
    """ "3:4ms": rank 3 arrives at 0.004 s."""
    rank, _, delay = text.partition(":")
    try:
        if int(rank) not in range(ranks):
            raise ValueError(f"there is no rank {rank} among {ranks}")
        return int(rank), parse_seconds(delay)
    except ValueError as error:
        raise click.BadParameter(f"'{text}': {error}; 3:4ms makes rank 3 late by 4 ms") from None
