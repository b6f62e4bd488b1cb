# SPDX-License-Identifier: BSD-3-Clause
"""`stretto trace`: what the ranks of a job did, from the traces that STRETTO_TRACE makes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from stretto.cli.drawing import check_name
from stretto.cli.tables import console, table, write_json
from stretto.cli.trace_picture import draw_call
from stretto.cli.traces import JOB, Alignment, Trace, align, missing, read_folder
from stretto.cli.units import show_seconds, show_size

job_option: Callable[[Any], Any] = click.option(
    "--job", metavar="ID", help="Which, if the folder has traces of several."
)


@click.group()
def trace() -> None:
    """Shows what the ranks of a job did, and for which ranks they waited.

    \b
    STRETTO_TRACE=traces stretto run -n 4 python train.py
    stretto trace show traces                    how long each rank worked and waited
    stretto trace merge traces -o all.json       one file for ui.perfetto.dev
    stretto trace draw traces -o call.svg        one call over all ranks, as a picture
    """


@trace.command()
@click.argument("folder", metavar="DIR")
@click.option("-o", "--output", default="trace.json", show_default=True, help="The one file.")
@job_option
def merge(folder: str, output: str, job: str | None) -> None:
    """Joins the traces of a job's ranks in DIR to one, on one clock, for Perfetto.

    Open it at https://ui.perfetto.dev or chrome://tracing.  Ranks that were killed, or still run,
    are there as far as they got.
    """
    traces = read_folder(folder, job)
    alignments = align(traces)
    begin = min((e["ts"] for each in traces for e in each.events if "ts" in e), default=0)
    about = {
        "producer": "stretto", "job": traces[0].about["job"], "id": traces[0].about["id"],
        "ranks": traces[0].about["ranks"], "missing": missing(traces),
        "dropped": sum(each.about["dropped"] for each in traces),
        "clocks": [
            {"rank": rank, "offset_ns": each.offset, "error_ns": each.error, "how": each.how}
            for rank, each in alignments.items()
        ],
    }  # fmt: skip
    try:
        with open(output, "w") as file:
            file.write('{"displayTimeUnit":"ns","otherData":' + json.dumps(about))
            file.write(',"traceEvents":[')
            separator = "\n"
            for each in traces:
                for event in each.events:
                    file.write(separator + json.dumps(in_microseconds(event, begin)))
                    separator = ",\n"
            file.write("\n]}\n")
    except OSError as error:
        raise click.ClickException(f"cannot write {output}: {error.strerror}") from None
    click.echo(f"{output}: {sum(len(each.events) for each in traces)} events of {named(traces)}")
    for line in remarks(traces, alignments):
        click.echo(line, err=True)


def in_microseconds(event: dict[str, Any], begin: int) -> dict[str, Any]:
    if "ts" not in event:
        return event
    shown = {**event, "ts": (event["ts"] - begin) / 1000}
    if event["ph"] == "X":
        shown["dur"] = event["dur"] / 1000
    else:
        shown.pop("dur")
    return shown


def named(traces: list[Trace]) -> str:
    return "1 rank" if len(traces) == 1 else f"{len(traces)} ranks"


def remarks(traces: list[Trace], alignments: dict[int, Alignment]) -> list[str]:
    """What a reader of the trace should know of it."""
    lines = []
    if absent := missing(traces):
        lines.append("no trace of rank " + ", ".join(map(str, absent)))
    for each in traces:
        if each.about["dropped"]:
            lines.append(
                f"rank {each.rank}: its first {each.about['dropped']} records were dropped; raise "
                "STRETTO_TRACE_BYTES for more"
            )
        if each.killed:
            lines.append(f"rank {each.rank} has not ended its trace: it was killed, or runs")
    for rank, alignment in alignments.items():
        if alignment.how == "unknown":
            lines.append(f"rank {rank}: its clock offset from the others is not known")
        elif alignment.error:
            lines.append(
                f"rank {rank}: its clock is aligned by {alignment.how}, give or take "
                f"{show_seconds(alignment.error * 1e-9)}"
            )
    return lines


@trace.command()
@click.argument("folder", metavar="DIR")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@job_option
def show(folder: str, as_json: bool, job: str | None) -> None:
    """Shows how long each rank was in calls of the job's communicator, and for which rank it
    waited."""
    traces = read_folder(folder, job)
    alignments = align(traces)
    rows = [summary(each) for each in traces]
    if as_json:
        write_json("-", rows)
        return
    shown = table(
        "rank", "host", ">calls", ">in calls", ">waiting", ">mostly for", ">sent", ">received"
    )
    for row in rows:
        whom = row["waited_for"]
        most = max(whom, key=lambda rank: whom[rank], default=None)
        shown.add_row(
            str(row["rank"]), row["host"], str(row["calls"]), show_seconds(row["seconds"]),
            show_seconds(row["waiting_seconds"]), "-" if most is None else f"rank {most}",
            show_size(row["bytes_sent"]), show_size(row["bytes_received"]),
        )  # fmt: skip
    console().print(shown)
    for line in remarks(traces, alignments):
        click.echo(line, err=True)


def summary(trace: Trace) -> dict[str, Any]:
    calls = trace.spans("call")
    blocking = {call["args"]["call"] for call in calls}
    waits = [wait for wait in trace.spans("wait") if wait["args"]["call"] in blocking]
    whom: dict[int, float] = {}
    for wait in waits:
        if "for" in wait["args"]:
            rank = wait["args"]["for"]
            whom[rank] = whom.get(rank, 0.0) + wait["dur"] * 1e-9
    nonblocking = sum(
        event["ph"] == "b" and event["cat"] == "call" and event["tid"] == JOB
        for event in trace.events
    )
    return {
        "rank": trace.rank, "host": trace.about["host"], "pid": trace.about["pid"],
        "calls": len(calls) + nonblocking,
        "seconds": sum(call["dur"] for call in calls) * 1e-9,
        "waiting_seconds": sum(wait["dur"] for wait in waits) * 1e-9,
        "waited_for": whom,
        "bytes_sent": linked(trace, "sent"), "bytes_received": linked(trace, "received"),
        "records": trace.about["records"], "dropped": trace.about["dropped"],
        "ended": not trace.killed,
    }  # fmt: skip


def linked(trace: Trace, what: str) -> int:
    """Bytes over links to other hosts, of all communicators."""
    totals: dict[tuple[int, int], int] = {}
    for event in trace.events:
        if event["ph"] == "i" and event.get("cat") == "link" and event["name"].startswith(what):
            arguments = event["args"]
            totals[event["tid"], arguments["rank"]] = arguments["total"]
    return sum(totals.values())


@trace.command()
@click.argument("folder", metavar="DIR")
@click.option("-o", "--output", default="trace.svg", show_default=True, help="The picture.")
@click.option("--call", type=click.IntRange(0), help="Its number.  [default: the longest]")
@job_option
def draw(folder: str, output: str, call: int | None, job: str | None) -> None:
    """Draws one blocking call of the job's communicator over all ranks.

    Ranks down, time across: when each came, its sends, receives and reductions, and for which rank
    it waited.
    """
    check_name(output)
    traces = read_folder(folder, job)
    alignments = align(traces)
    draw_call(traces, call, output)
    click.echo(output)
    for line in remarks(traces, alignments):
        click.echo(line, err=True)
