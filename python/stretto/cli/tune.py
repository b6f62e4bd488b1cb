# SPDX-License-Identifier: BSD-3-Clause
"""`stretto tune`: measures the network and the times of calls, for a profile that jobs use."""

from __future__ import annotations

import json
import os
import socket
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import click
from rich.console import Console

import stretto
from stretto import _core
from stretto.cli.catalog import COLLECTIVES
from stretto.cli.launcher import Options, in_job, launch_again
from stretto.cli.tables import console, table, write_json
from stretto.cli.tuning import Row, Tuner
from stretto.cli.units import SIZES, show_seconds, show_size

KIND = ("collective", "ranks", "hosts", "host_of")  # the keys that identify calls in profiles


@click.command()
@click.option("-n", "--ranks", type=click.IntRange(1), help="Ranks to start.  [default: 2]")
@click.option("--pin", is_flag=True, help="Keep rank r on core r mod cores.")
@click.option(
    "--collective",
    "collectives",
    type=click.Choice(COLLECTIVES),
    multiple=True,
    default=("allreduce",),
    show_default=True,
    help="Which to tune; may be given several times.",
)
@click.option(
    "--sizes",
    type=SIZES,
    default="4:16M*4",
    show_default=True,
    help="Bytes of the vector, as for stretto bench.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    help="About how long the measurement of calls may take, after that of the network.",
)
@click.option(
    "--skew",
    type=click.FloatRange(0, 1000),
    default=0.5,
    show_default=True,
    help="Also time calls with ranks late by up to this multiple of the call's time; 0: do not.",
)
@click.option("--seed", type=click.IntRange(0), default=1, help="The seed of the random delays.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default="stretto-profile.json",
    show_default=True,
    help="The profile.  If it exists, its times of other calls are kept.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (times in seconds).")
def tune(ranks: int | None, pin: bool, output: Path, **options: Any) -> None:
    """Measures the times of calls, and writes a profile by which jobs then choose algorithms.

    \b
    stretto tune -n 4 --seconds 20
    mpirun -n 8 -H node1:4,node2:4 stretto tune -o cluster.json
    export STRETTO_TUNING_FILE=$PWD/cluster.json

    On several hosts it first measures the network between rank 0 and every other host.  Then, for
    each collective and size, the algorithms whose price or prediction is close take turns: with
    all ranks together (what the slowest rank takes, from a barrier on), and with ranks that come
    late by random times (from the last arrival to the last finish).  The choice goes by the
    geometric mean of the two.  When the time is over, what was measured is kept; a size that is
    begun is finished first, in short.

    On one host the profile holds what calls take and nothing of a network; there it decides where
    it was clearly faster than what Stretto's rules name.

    Tune on a machine that does nothing else, with as many ranks as jobs will have, placed alike:
    a profile says nothing of other numbers and placements.  One file may hold several.

    Outside a job it starts its own ranks.
    """
    if not in_job():
        sys.exit(launch_again("tune", Options(ranks or 2, prefix=False, pin=pin)))
    if os.environ.get("STRETTO_TUNING_FILE") != "assumed":
        os.environ["STRETTO_TUNING_FILE"] = "thorough"
    os.environ["STRETTO_AUTOTUNE"] = "0"  # calls here are trials themselves
    with stretto.init() as comm:
        if ranks not in (None, comm.size):
            raise click.UsageError(f"-n {ranks} inside a job of {comm.size} ranks")
        if comm.size == 1:
            click.echo("one rank: there is nothing to tune")
            return
        tune_ranks(comm, output, **options)


def tune_ranks(
    comm: stretto.Communicator,
    output: Path,
    collectives: tuple[str, ...],
    sizes: list[int],
    seconds: float,
    skew: float,
    seed: int,
    as_json: bool,
) -> None:
    """Collective.  Rank 0 prints and writes."""
    tuner = Tuner(comm, seconds, skew, seed)
    before: dict[str, Any] = {}
    trouble = ""
    if comm.rank == 0:
        try:
            before = existing(output)
        except click.ClickException as error:
            trouble = error.message
    if not tuner.agreed(not trouble):
        if comm.rank == 0:
            click.echo(f"stretto tune: {trouble}", err=True)
        sys.exit(1)
    cases = [(collective, size) for collective in dict.fromkeys(collectives) for size in sizes]
    rows: list[Row] = []
    left_out = 0
    speaker = Console(stderr=True, quiet=comm.rank != 0 or not sys.stderr.isatty())
    with speaker.status("") as status:
        for place, (collective, size) in enumerate(cases):
            status.update(f"{collective} of {show_size(size)}")
            row = tuner.measure(collective, size, len(cases) - place)
            if row is None:
                left_out += 1  # of another collective there may be smaller ones
            elif not any(row.call == each.call for each in rows):
                rows.append(row)
    if comm.rank == 0:
        profile = merged(before, json.loads(comm._core.network_profile()), rows)
        output.write_text(_core.checked_profile(json.dumps(profile)))
        if as_json:
            found = [row.summary() for row in rows]
            write_json("-", {"profile": str(output.resolve()), "left_out": left_out, "rows": found})
            return
        report(profile, rows, output)
        if left_out:
            click.echo(f"{left_out} of {len(cases)} sizes were left out, as the time was over")


def existing(output: Path, option: str = "--output") -> dict[str, Any]:
    """The profile that is there, and that the file can be written; else a ClickException that says
    which option names another."""
    try:
        with output.open("a"):
            pass
        text = output.read_text()
        return json.loads(_core.checked_profile(text)) if text else {}
    except (OSError, UnicodeDecodeError, stretto.Error) as error:
        raise click.ClickException(
            f"{output} cannot be the profile: {error}; name another with {option}"
        ) from None


def merged(before: dict[str, Any], network: dict[str, Any], rows: list[Row]) -> dict[str, Any]:
    """The profile: what was there, but for the network if it was measured now, and calls of the
    kinds that were timed."""
    several = any(row.call["hosts"] > 1 for row in rows)
    profile = dict(network if several else before)
    if "concurrency" in before:  # `stretto bench pairs` measured it
        profile["concurrency"], profile["format"] = before["concurrency"], before["format"]
    profile["host"] = socket.gethostname()
    profile["date"] = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
    timed: dict[str, dict[str, Any]] = {}
    for row in rows:
        kind = {key: row.call[key] for key in KIND if key in row.call}
        timed.setdefault(json.dumps(kind), {**kind, "times": []})["times"] += row.entries()
    new = {key: each for key, each in timed.items() if each["times"]}
    kept = [
        each
        for each in before.get("calls", [])
        if json.dumps({key: each[key] for key in KIND if key in each}) not in new
    ]
    profile["calls"] = [*kept, *new.values()]
    return profile


def report(profile: dict[str, Any], rows: list[Row], output: Path) -> None:
    out = console()
    if rows:
        call = rows[0].call
        out.print(
            f"{call['ranks']} ranks on {call['hosts']} {'host' if call['hosts'] == 1 else 'hosts'}"
        )
        if call["hosts"] > 1:
            out.print(f"between hosts: {profile['links']['between']['how']}")
    several = len({row.call["collective"] for row in rows}) > 1
    shown = table(
        *(["collective"] if several else []), ">bytes", "by price or rule", ">takes", ">late",
        "fastest", ">takes", ">late", ">ratio", ">calls",
    )  # fmt: skip
    for row in rows:
        head = ([row.call["collective"]] if several else []) + [show_size(row.call["bytes"])]
        if not row.times:
            shown.add_row(*head, row.chosen, "", "", "no other is close", "", "", "", "")
            continue
        calls = len(row.times[row.chosen]) + len(row.late.get(row.chosen, []))
        shown.add_row(
            *head, row.chosen, *show_both(row, row.chosen), row.fastest,
            *show_both(row, row.fastest), f"{row.ratio:.2f}", str(calls),
            style="bold" if row.fastest != row.chosen else None,
        )  # fmt: skip
    out.print(shown)
    click.echo(
        "takes: of the slowest rank, the median; late: from the last arrival to the last finish; "
        "ratio: of\nthe choice to the fastest, by the geometric mean of both; calls: of each "
        "algorithm\n\n"
        f"export STRETTO_TUNING_FILE={output.resolve()}"
    )


def show_both(row: Row, algorithm: str) -> tuple[str, str]:
    late = row.late_seconds(algorithm)
    return show_seconds(row.seconds(algorithm)), "" if late is None else show_seconds(late)
