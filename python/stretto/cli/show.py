# SPDX-License-Identifier: BSD-3-Clause
"""`stretto show`: a schedule, to be read or to start one of your own from."""

from __future__ import annotations

import click

from stretto import _core
from stretto.cli.catalog import choose_one, collective_option, schedule_of
from stretto.cli.effort import foresee
from stretto.cli.hosts import hosts_option, placed, ranks_option

TEXT_BYTES = 300  # of memory for each block that a rank sends


@click.command()
@click.argument("algorithm", metavar="SCHEDULE")
@ranks_option(4)
@hosts_option("Which ranks share a host")
@click.option("--root", type=click.IntRange(0), default=0, help="Of reduce and broadcast.")
@collective_option
@click.option("--json", "as_json", is_flag=True, help="In the form `verify --schedule` reads.")
def show(
    algorithm: str,
    ranks: int | None,
    hosts: str | None,
    root: int,
    collective: str | None,
    as_json: bool,
) -> None:
    """Prints a schedule: what each rank sends, receives, reduces and copies.

    \b
    stretto show ring --ranks 3
    stretto show ring --ranks 3 --json > mine.json; stretto verify --schedule mine.json
    stretto show 'hierarchical(inter=ring)' --hosts 3,1,2
    stretto show mine.json

    SCHEDULE is an algorithm, or a JSON file as --json writes it.
    """

    def written(schedule: _core.Schedule) -> str:
        return schedule.to_json() if as_json else schedule.to_text()

    count, where = placed(hosts, ranks, 4)
    if not algorithm.endswith(".json"):
        foresee([(choose_one(algorithm, collective), count, root)], written, TEXT_BYTES)
    click.echo(written(schedule_of(algorithm, collective, count, root, where).schedule))
