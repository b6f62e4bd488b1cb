# SPDX-License-Identifier: BSD-3-Clause
"""`stretto bench pairs`: how much concurrency a node has."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any, NoReturn

import click
import numpy as np

import stretto
from stretto import _core
from stretto.cli.bench import surroundings
from stretto.cli.launcher import Options, in_job, launch_again
from stretto.cli.pairs_plot import plot
from stretto.cli.rows import WRONG, Column, Printer, number
from stretto.cli.streams import BETWEEN, INSIDE, Place, measure, placement, places, usual_counts
from stretto.cli.tables import write_json
from stretto.cli.tune import existing
from stretto.cli.units import SIZES, Unit, parse_ranks

COLUMNS = (
    Column("bytes", 12, lambda row: f"{row['bytes']:,}"),
    Column("pairs", 5, lambda row: str(row["pairs"])),
    number("MBps", 12, 2, "MB/s"),
    number("relative", 8, 2, "relative"),
    number("messages_per_second", 12, 0, "messages/s"),
    Column("window", 6, lambda row: str(row["window"])),
    WRONG,
)
FORMAT = 2  # the first one of profiles that has "concurrency"


def parse_counts(text: str) -> list[int]:
    """Numbers of pairs: "1,2,4", "1:8"."""
    try:
        return parse_ranks(text)
    except ValueError:
        raise ValueError(f"'{text}' is no list of numbers of pairs; 4, 1,2,4 and 1:8 are") from None


@click.command()
@click.option("-n", "--ranks", type=click.IntRange(1), help="Ranks to start.  [default: 4]")
@click.option("--pin", is_flag=True, help="Keep rank r on core r mod cores.")
@click.option(
    "--sizes",
    type=SIZES,
    default="4:4M*4",
    show_default=True,
    help="Bytes of a message, as for bench.",
)
@click.option(
    "--pairs",
    "counts",
    type=Unit("pairs", parse_counts),
    help="Numbers of pairs; 1 is always among them.  [default: 1, 2, 4, ... and all]",
)
@click.option(
    "--where",
    "wanted",
    type=click.Choice([INSIDE, BETWEEN]),
    multiple=True,
    help="Pairs on one host, or of two hosts; may be given twice.  [default: what there is]",
)
@click.option(
    "--window",
    type=click.IntRange(1, 65536),
    default=64,
    show_default=True,
    help="Messages that a sender starts before it waits; fewer if 16 MiB do not hold as many.",
)
@click.option(
    "--repeat",
    type=click.IntRange(1),
    default=7,
    show_default=True,
    help="Repetitions, of which the median counts.",
)
@click.option("--json", "json_path", metavar="FILE", help="Write the results to FILE (- prints).")
@click.option("--plot", "plot_path", metavar="PNG", help="Draw the results.")
@click.option(
    "--tuning-file",
    "profile",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A profile (STRETTO_TUNING_FILE): writes what pairs move into it.  The rest of it stays.",
)
def pairs(ranks: int | None, pin: bool, **options: Any) -> None:
    """Times k pairs of ranks that send at the same time, and one pair; checks what arrives.

    \b
    stretto bench pairs -n 8 --sizes 4:4M*4 --plot pairs.png
    STRETTO_FAKE_HOSTS=a,a,b,b stretto bench pairs -n 4 --where between
    mpirun -x STRETTO_ADDR -H node1:8,node2:8 stretto bench pairs --tuning-file cluster.json

    It is the multiple bandwidth test of the OSU micro-benchmarks.  Inside a host, the first half of
    the ranks of the host that has the most sends to the second half; between hosts, its ranks send
    to those of another host.  A sender starts a window of messages before it waits for any of them,
    and its receiver answers each window by one byte.

    MB/s: 10^6 bytes per second of all pairs together, by the time of the slowest sender, the median
    over repetitions.  relative: that over one pair, the median over repetitions, in each of which
    all numbers of pairs take turns.  If pairs do not disturb one another, it is their number; if
    one pair fills what they share, it is 1.  Messages hold other data in each round, and all are
    checked.

    Outside a job it starts its own ranks.  The exit status is 1 if data are wrong.
    """
    if not in_job():
        sys.exit(launch_again("bench", Options(ranks or 4, prefix=False, pin=pin)))
    with stretto.init() as comm:
        if ranks not in (None, comm.size):
            raise click.UsageError(f"-n {ranks} inside a job of {comm.size} ranks")
        rows = run_places(comm, **options)
    sys.exit(1 if any(row["wrong"] for row in rows) else 0)


def run_places(
    comm: stretto.Communicator,
    sizes: list[int],
    counts: list[int] | None,
    wanted: tuple[str, ...],
    window: int,
    repeat: int,
    json_path: str | None,
    plot_path: str | None,
    profile: Path | None,
) -> list[dict[str, Any]]:
    """Collective.  Rank 0 prints and writes."""
    sizes = sorted(set(sizes))
    try:
        chosen = choose(placement(comm), wanted, counts, sizes)
    except ValueError as error:
        refuse(comm, str(error))
    before = read_profile(comm, profile) if profile else {}
    meta = {
        "version": stretto.__version__,
        "ranks": comm.size,
        "window": window,
        "repeat": repeat,
        "places": [
            {"where": place.where, "hosts": place.hosts, "pairs": place.pairs} for place in chosen
        ],
        **surroundings(),
    }
    speaks = comm.rank == 0 and json_path != "-"
    rows: list[dict[str, Any]] = []
    for place in chosen:
        printer = Printer(speaks, COLUMNS)
        pairs_in_words = f"{place.title}, pairs of ranks {place.named()}"
        printer.begin(pairs_in_words, f"of {comm.size} ranks; MB: 10^6 bytes")
        for size in sizes:
            mine = counts_of(place, counts)
            for row in measure(comm, place, size, mine, window, repeat):
                rows.append(row)
                printer.row(row)
        printer.end([row for row in rows if row["where"] == place.where])
        if speaks:
            click.echo()
    if comm.rank == 0:
        if json_path:
            write_json(json_path, {"meta": meta, "rows": rows})
        if plot_path:
            plot(meta, rows, plot_path)
        if profile:
            written = with_concurrency(before, chosen, rows, meta)
            profile.write_text(_core.checked_profile(json.dumps(written)))
            click.echo(f"export STRETTO_TUNING_FILE={profile.resolve()}", err=json_path == "-")
    return rows


def choose(
    host_of: list[int], wanted: tuple[str, ...], counts: list[int] | None, sizes: list[int]
) -> list[Place]:
    """The places to measure.  Raises ValueError with what to do where there are too few ranks."""
    found = places(host_of)
    if sizes[0] < 1:
        raise ValueError("--sizes: a message has at least one byte")
    if not found:
        raise ValueError("a job of one rank has no pairs; start two ranks or more (-n 4)")
    for where in wanted:
        if where not in found and where == INSIDE:
            raise ValueError(
                "--where inside: no host has two ranks; start two or more on a host, or leave "
                "--where out"
            )
        if where not in found:
            raise ValueError(
                "--where between: all ranks are on one host; start ranks on two hosts, or try it "
                "with STRETTO_FAKE_HOSTS=a,b"
            )
    chosen = [found[where] for where in (INSIDE, BETWEEN) if where in (wanted or found)]
    for place in chosen:
        if counts and max(counts) > len(place.pairs):
            needed = f"{2 * max(counts)} ranks on it" if place.where == INSIDE else (
                f"{max(counts)} ranks on each of the two"
            )  # fmt: skip
            raise ValueError(
                f"--pairs {max(counts)}: there are {len(place.pairs)} pairs {place.title}; start "
                f"{needed}, or name fewer pairs"
            )
    return chosen


def counts_of(place: Place, counts: list[int] | None) -> list[int]:
    return sorted({1, *counts}) if counts else usual_counts(len(place.pairs))


def refuse(comm: stretto.Communicator, why: str) -> NoReturn:
    """On all ranks; rank 0 says why."""
    if comm.rank == 0:
        click.echo(f"stretto bench pairs: {why}", err=True)
    sys.exit(2)


def read_profile(comm: stretto.Communicator, path: Path) -> dict[str, Any]:
    """Rank 0's, before anything is measured; the others get nothing.  Collective."""
    before: dict[str, Any] = {}
    trouble = ""
    if comm.rank == 0:
        try:
            before = existing(path, "--tuning-file")
        except click.ClickException as error:
            trouble = error.message
    if comm.broadcast(np.array([bool(trouble)], np.int64))[0]:
        refuse(comm, trouble)
    return before


def with_concurrency(
    before: dict[str, Any], chosen: list[Place], rows: list[dict[str, Any]], meta: dict[str, Any]
) -> dict[str, Any]:
    """The profile with what was measured now in the place of what it says of the same place."""
    new = {"host": socket.gethostname(), "date": meta["when"]}
    profile = {**(before or new), "format": FORMAT}
    profile["concurrency"] = dict(profile.get("concurrency", {}))
    for place in chosen:
        mine = [row for row in rows if row["where"] == place.where]
        counts = sorted({row["pairs"] for row in mine})
        profile["concurrency"][place.where] = {
            "how": f"{place.title}, pairs of ranks {place.named()}; windows of {meta['window']}, "
            f"{meta['repeat']} repetitions, {meta['when']}",
            "pairs": counts,
            "rows": [
                {
                    "bytes": one["bytes"],
                    "throughput": float(f"{one['MBps'] * 1e6:.4g}"),
                    "relative": [
                        float(f"{row['relative']:.4g}") for row in mine
                        if row["bytes"] == one["bytes"]
                    ],
                }
                for one in mine if one["pairs"] == 1
            ],
        }  # fmt: skip
    return profile
