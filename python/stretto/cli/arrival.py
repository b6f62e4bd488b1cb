# SPDX-License-Identifier: BSD-3-Clause
"""`stretto bench arrival`: the benchmark of Proficz (2018), whose ranks come late to allreduces."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click
import numpy as np

import stretto
from stretto.cli import arrival_plot, arrival_tables
from stretto.cli.bench import split_names, surroundings
from stretto.cli.bounds import (
    Link,
    buffered_bound,
    elapsed_bound,
    imbalance_factor,
    last_bound,
    link_of,
)
from stretto.cli.launcher import Options, in_job, launch_again
from stretto.cli.measure import Bench, Case
from stretto.cli.rows import ARRIVALS, ARRIVALS_UNITS, Printer
from stretto.cli.skew import (
    ANNOUNCED,
    KINDS,
    Clock,
    Late,
    Skew,
    clock_of,
    evaluate,
    hosts_of,
    late_calls,
    paired_ratio,
)
from stretto.cli.tables import console, write_json
from stretto.cli.units import SIZES, TIME, TIMES

FLOAT = np.dtype(np.float32)
EXTRA = 0.1  # seconds that ranks compute beside the delay, as in line 3 of the paper's figure 9
BALANCED = "balanced"  # the choice of auto if arrivals are not known


@click.command()
@click.option("-n", "--ranks", type=click.IntRange(1), help="Ranks to start.  [default: 2]")
@click.option("--pin", is_flag=True, help="Keep rank r on core r mod cores.")
@click.option("--sizes", type=SIZES, help="Bytes, as for bench.  [default: 4M]")
@click.option("--floats", type=SIZES, help="Floats in their place; the paper's: 128K,512K:8M.")
@click.option(
    "--delays",
    type=TIMES,
    default="0,1ms,5ms,10ms,50ms,100ms,500ms,1000ms",
    show_default=True,
    help="By which ranks are late at most.",
)
@click.option(
    "--mode",
    "modes",
    type=click.Choice(KINDS),
    multiple=True,
    default=("one-late",),
    show_default=True,
    help="Rank 1 is late, all are by random times, or another rank is after every 8 calls; may be "
    "given again.",
)
@click.option(
    "--algorithms",
    default="ring,chain,pre_reduced_ring,late_rooted,auto",
    show_default=True,
    help="Names, with commas; balanced is the choice of auto if arrivals are not known.",
)
@click.option(
    "--reference",
    default="ring",
    show_default=True,
    metavar="NAME",
    help="The algorithm to which speed-ups refer.",
)
@click.option("--iters", type=click.IntRange(1), help="Calls of each.  [default: 2 s, 5 to 256]")
@click.option("--compute", type=TIME, help="Computation before a call.  [default: delay + 100ms]")
@click.option(
    "--edge",
    type=click.Choice(ANNOUNCED),
    default="right",
    show_default=True,
    help="What ranks announce when half of their computation is done (docs/arrivals.md); wrong: "
    "random times.",
)
@click.option("--json", "json_path", metavar="FILE", help="Write the results to FILE (- prints).")
@click.option("--plot", "plot_path", metavar="PNG", help="Draw the results.")
def arrival(ranks: int | None, pin: bool, **options: Any) -> None:
    """Times allreduces of floats at which ranks arrive at different times; checks every result.

    \b
    stretto bench arrival -n 4 --delays 0,10ms,50ms
    stretto bench arrival -n 8 --mode one-late --mode rand-late --floats 128K,512K:8M --iters 64
    lab/cluster run stretto bench arrival --sizes 4M --json four.json --plot four.png

    This is the benchmark of Proficz (2018), figure 9.  Ranks emulate computation by sleep; each
    comes to the call by its delay after a moment that all agree on.  Algorithms take turns, after
    five calls that do not count.  Between hosts, chain (the paper's SLT), pre_reduced_ring (its
    PRR) and late_rooted are made for the arrivals of the last calls and for the announcements that
    ranks make half-way; auto may choose them.

    elapsed: from a rank's arrival to its finish, mean over ranks and calls; σ: its standard
    deviation over calls; speed-up: the reference's time divided by it, and ±, half of the 95 %
    interval (calls of one turn are paired); last: from the last arrival to the last finish, the
    median over calls.  bound: the least time of any algorithm in a network with the measured ports
    and these arrivals; buffered: the same if hosts receive data for a rank that has not arrived.
    imbalance: how far apart arrivals are, in messages of the vector.  On one host there are neither
    bounds nor imbalance.

    At the end come tables as the paper's 3 and 4; --plot draws its figures 10 and 11, with bounds.
    Outside a job it starts its own ranks.  The exit status is 1 if a result is wrong.
    """
    if options["sizes"] and options["floats"]:
        raise click.UsageError("--sizes and --floats are the same in bytes and in floats: give one")
    if not in_job():
        sys.exit(launch_again("bench", Options(ranks or 2, prefix=False, pin=pin)))
    with stretto.init() as comm:
        if ranks not in (None, comm.size):
            raise click.UsageError(f"-n {ranks} inside a job of {comm.size} ranks")
        rows = run_points(comm, **options)
    sys.exit(1 if any(row["wrong"] for row in rows) else 0)


def run_points(
    comm: stretto.Communicator,
    sizes: list[int] | None,
    floats: list[int] | None,
    delays: list[float],
    modes: tuple[str, ...],
    algorithms: str,
    reference: str,
    iters: int | None,
    compute: float | None,
    edge: str,
    json_path: str | None,
    plot_path: str | None,
) -> list[dict[str, Any]]:
    """Collective.  Rank 0 prints and writes."""
    names, modes = list(dict.fromkeys(split_names(algorithms))), tuple(dict.fromkeys(modes))
    clock, hosts = clock_of(comm), hosts_of(comm)
    link = link_of(comm.network_profile()) if hosts > 1 else None
    meta = {
        "version": stretto.__version__,
        "ranks": comm.size,
        "hosts": hosts,
        "link": {"alpha": link.alpha, "beta": link.beta} if link else None,
        "edge": edge,
        "reference": reference,
        "clock": "common" if clock.common else "of each rank",
        **surroundings(),
    }
    printer = Printer(comm.rank == 0 and json_path != "-", ARRIVALS)
    printer.begin(headline(meta), ARRIVALS_UNITS)
    rows: list[dict[str, Any]] = []
    for size in sizes or [count * FLOAT.itemsize for count in floats or [1 << 20]]:
        bench = Bench(comm, Case("allreduce", "auto", size, FLOAT, "sum", False, False))
        for skew in (Skew(mode, delay) for mode in modes for delay in delays):
            point = measure_point(comm, bench, names, skew, iters, compute, edge, clock, link)
            compare(point, reference)
            for row in point:
                rows.append(row)
                printer.row(row)
    if comm.rank == 0:
        result = {"meta": meta, "rows": rows}
        if json_path != "-":
            for each in arrival_tables.tables(rows):
                console().print(f"\n{each.title}", arrival_tables.shown(each), sep="\n")
        printer.end(rows)
        if json_path:
            write_json(json_path, result)
        if plot_path:
            arrival_plot.plot([result], plot_path)
    return rows


def headline(meta: dict[str, Any]) -> str:
    hosts = f"{meta['hosts']} hosts" if meta["hosts"] > 1 else "one host"
    clock = "" if meta["clock"] == "common" else ", each by a clock of its own"
    return f"allreduce of float32, sum, {meta['ranks']} ranks on {hosts}{clock}"


def measure_point(
    comm: stretto.Communicator,
    bench: Bench,
    names: list[str],
    skew: Skew,
    iterations: int | None,
    compute: float | None,
    edge: str,
    clock: Clock,
    link: Link | None,
) -> list[dict[str, Any]]:
    """A row for each algorithm.  Collective.  A separate communicator has only the arrivals of this
    point."""
    before = skew.seconds + EXTRA if compute is None else compute
    calls = iterations or skew.usual_calls(before + skew.seconds)
    with comm.dup() as fresh:
        mine = bench.on(fresh)
        asked = {name: mine.chosen("auto") if name == BALANCED else name for name in names}
        found = late_calls(fresh, mine, asked, skew, calls, clock, before, edge)
    return [row(name, skew, bench.bytes, late, link) for name, late in found.items()]


def compare(rows: list[dict[str, Any]], reference: str) -> None:
    """With the reference, if it is among them."""
    base = next((each for each in rows if each["algorithm"] == reference), None)
    for each in rows:
        each["reference"] = reference
        each["speedup"], each["speedup_error"] = (
            paired_ratio(base["call_elapsed_us"], each["call_elapsed_us"]) if base else (None, None)
        )


def row(name: str, skew: Skew, size: int, late: Late, link: Link | None) -> dict[str, Any]:
    def of_calls(
        bound: Callable[[np.ndarray, int, Link], float],
        over: Callable[[list[float]], Any],
        scale: float = 1.0,
    ) -> float | None:
        if link is None:
            return None
        return float(over([bound(each, size, link) for each in late.arrival.T])) * scale

    return {
        "mode": skew.kind,
        "bytes": size,
        "delay_us": skew.seconds * 1e6,
        "algorithm": name,
        "chosen": late.chosen,
        "calls": late.arrival.shape[1],
        **evaluate(late.arrival, late.finish),
        "elapsed_bound_us": of_calls(elapsed_bound, np.mean, 1e6),
        "buffered_bound_us": of_calls(buffered_bound, np.mean, 1e6),
        "last_bound_us": of_calls(last_bound, np.median, 1e6),
        "imbalance_factor": of_calls(imbalance_factor, np.mean),
        "wrong": late.wrong,
    }
