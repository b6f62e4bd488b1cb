# SPDX-License-Identifier: BSD-3-Clause
"""`stretto report`: which ranks come late to which calls, from what STRETTO_REPORT makes."""

from __future__ import annotations

from typing import Any

import click

from stretto.cli import queues
from stretto.cli.calls import read_folder
from stretto.cli.drawing import check_name
from stretto.cli.report_picture import draw
from stretto.cli.tables import console, table, write_json
from stretto.cli.units import show_seconds, show_size
from stretto.reports.calls import Noted, Site, sites
from stretto.reports.lateness import Lateness

SHOWN = 5


@click.command()
@click.argument("folder", metavar="DIR")
@click.option("--top", type=click.IntRange(1), default=SHOWN, show_default=True,
              help="How many call sites to show.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON, of all call sites.")
@click.option("--plot", metavar="FILE", help="Draw the shown sites (.png, .svg or .pdf).")
@click.option("--job", metavar="ID", help="Which, if the folder has reports of several.")
def report(folder: str, top: int, as_json: bool, plot: str | None, job: str | None) -> None:
    """Shows which ranks come late to which calls, and what it costs the others.

    \b
    STRETTO_REPORT=late stretto run -n 4 python train.py
    stretto report late
    stretto report late --plot late.png

    The site at which most time could be gained comes first.  Times of waiting, working, computing
    (between calls) and holding others up are means for one call.
    """
    if plot is not None:
        check_name(plot)
    ranks = read_folder(folder, job)
    found = sites(ranks)
    if as_json:
        write_json("-", {**about(ranks), "sites": [described(each) for each in found]})
    else:
        show(ranks, found, top)
    if plot is not None:
        drawn = [each for each in found[:top] if each.lateness()]
        if not drawn:
            raise click.ClickException("there is no call to draw that all ranks have ended")
        draw(drawn, plot)
        click.echo(plot, err=as_json)


def show_folder(folder: str) -> None:
    """What the command shows without options."""
    ranks = read_folder(folder)
    show(ranks, sites(ranks), SHOWN)


def show(ranks: list[dict[str, Any]], found: list[Site], top: int) -> None:
    """Tables, and notes on them."""
    if not found:
        click.echo("no blocking calls of two and more ranks")
    for each in found[:top]:
        console().print(shown(each))
    for line in queues.sentences(ranks):
        click.echo(line)
    for line in remarks(ranks, found, top):
        click.echo(line, err=True)


def shown(site: Site) -> Any:
    made = table(
        "rank", "host", ">calls", ">last", ">late: median", ">90 %", ">99 %", ">trend", ">waiting",
        ">working", ">computing", ">holds up", title=title(site),
    )  # fmt: skip
    found = site.lateness()
    for index, each in enumerate(site.ranks):
        late = found[index] if found else None
        made.add_row(
            named(site, each), each.about["host"], str(each.kind["complete"]),
            *columns(late, len(site.numbers), computing(each)),
        )  # fmt: skip
    return made


def columns(late: Lateness | None, calls: int, between: float) -> list[str]:
    if late is None:
        return [*7 * ["-"], show_seconds(between), "-"]
    trend = "-" if late.trend is None else f"{'+' * (late.trend > 0)}{show_seconds(late.trend)}"
    return [
        f"{late.last / calls:.0%}", show_seconds(late.late_p50), show_seconds(late.late_p90),
        show_seconds(late.late_p99), trend, show_seconds(late.waiting),
        show_seconds(late.working), show_seconds(between), show_seconds(late.held_up),
    ]  # fmt: skip


def title(site: Site) -> str:
    text = site["collective"]
    if site["dtype"]:
        text += f", {site['count']} x {site['dtype']}"
        text += f" {site['op']}" if site["op"] else ""
        text += f" ({show_size(site['bytes'])})"
    text += f", root {site['root']}" if site["root"] >= 0 else ""
    if not of_job(site):
        text += ", on " + site["communicator_name"].removesuffix(
            " of " + site.ranks[0].about["job"]
        )
    looked = len(site.numbers)
    text += f": {looked} " + ("call" if looked == 1 else "calls")
    return text if looked == site.calls else f"{text} of {site.calls} looked at"


def of_job(site: Site) -> bool:
    """Of the job's own communicator, whose ranks are those of the job."""
    return site["communicator"] == site.ranks[0].about["id"]


def named(site: Site, noted: Noted) -> str:
    own = noted.about["rank"]
    return str(noted.rank) if of_job(site) else f"{noted.rank} (rank {own} of the job)"


def computing(noted: Noted) -> float:
    """Between the calls, for one of them."""
    return noted.kind["outside_ns"] * 1e-9 / max(1, noted.kind["begun"])


def absent(ranks: list[dict[str, Any]]) -> list[int]:
    return sorted(set(range(ranks[0]["ranks"])) - {each["rank"] for each in ranks})


def remarks(ranks: list[dict[str, Any]], found: list[Site], top: int) -> list[str]:
    """Notes for the reader of the report."""
    lines = []
    if gone := absent(ranks):
        lines.append("no report of rank " + ", ".join(map(str, gone)) + ": not compared")
    if len(found) > top:
        lines.append(f"more call sites: {len(found) - top}; --top {len(found)} shows all")
    if not all(site.clocks_known for site in found):
        lines.append(
            "the clock offsets of the hosts are not known: ranks measure them in the first second "
            "or two of a job"
        )
    if left_out := sum(each["left_out"] for each in ranks):
        lines.append(f"{left_out} calls are of still other sites, for which there was no room")
    return lines


def about(ranks: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "job": ranks[0]["job"], "id": f"{ranks[0]['id']:016x}", "ranks": ranks[0]["ranks"],
        "missing": absent(ranks), "left_out": sum(each["left_out"] for each in ranks),
        "queues": [queues.described(each) for each in ranks],
    }  # fmt: skip


def described(site: Site) -> dict[str, Any]:
    found = site.lateness()
    return {
        "communicator": site["communicator_name"], "of_job": of_job(site), "size": site["size"],
        "collective": site["collective"], "count": site["count"], "bytes": site["bytes"],
        "dtype": site["dtype"] or None, "op": site["op"] or None,
        "root": site["root"] if site["root"] >= 0 else None,
        "calls": site.calls, "looked_at": len(site.numbers), "clocks_known": site.clocks_known,
        "missing": site.missing, "held_up_seconds": site.held_up(),
        "ranks": [
            of_rank(each, found[index] if found else None)
            for index, each in enumerate(site.ranks)
        ],
    }  # fmt: skip


def of_rank(noted: Noted, late: Lateness | None) -> dict[str, Any]:
    calls = noted.kind
    return {
        "rank": noted.rank, "rank_in_job": noted.about["rank"], "host": noted.about["host"],
        "calls": calls["complete"], "unfinished": calls["begun"] - calls["complete"],
        "seconds": calls["inside_ns"] * 1e-9, "between_seconds": calls["outside_ns"] * 1e-9,
        "last": late and late.last,
        "late_p50_seconds": late and late.late_p50, "late_p90_seconds": late and late.late_p90,
        "late_p99_seconds": late and late.late_p99, "trend_seconds": late and late.trend,
        "waiting_seconds_per_call": late and late.waiting,
        "working_seconds_per_call": late and late.working,
        "held_up_seconds_per_call": late and late.held_up,
    }  # fmt: skip
