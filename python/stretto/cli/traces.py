# SPDX-License-Identifier: BSD-3-Clause
"""The traces of a job's ranks (docs/trace.md): found, read, and brought to one clock."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from stretto import Error, _core
from stretto.cli.rank_files import files_of_job

JOB = 1  # the track of the job's own communicator


@dataclass
class Trace:
    """Of one rank.  Times of events are nanoseconds of its host's clock, until it is aligned."""

    path: Path
    about: dict[str, Any]
    events: list[dict[str, Any]]

    @property
    def rank(self) -> int:
        return self.about["rank"]

    @property
    def killed(self) -> bool:
        """The rank has not ended as it should, or not yet."""
        return self.path.suffix == ".raw"

    def spans(self, kind: str, track: int = JOB) -> list[dict[str, Any]]:
        """Calls, steps or waits ("call", "step", "wait") of a track; no nonblocking calls."""
        return [
            event for event in self.events
            if event["ph"] == "X" and event["cat"] == kind and event["tid"] == track
        ]  # fmt: skip


def read_folder(folder: str, job: str | None = None) -> list[Trace]:
    """The traces of one job, by rank.  What keeps them from being read ends the command."""
    # Beside a raw file a JSON file is from a failure, and older.
    files = files_of_job(folder, ("raw", "json"), "traces", "STRETTO_TRACE", job)
    traces = [read(path) for path in files.values()]
    check(traces, folder)
    return traces


def read(path: Path) -> Trace:
    if path.suffix == ".raw":
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / "trace.json"
            try:
                _core.write_trace(str(path), str(made))
            except Error as error:
                raise click.ClickException(str(error)) from None
            found = parsed(made, path)
    else:
        found = parsed(path, path)
    try:
        trace = Trace(path, found["otherData"], found["traceEvents"])
        known = trace.about["producer"] == "stretto" and trace.rank >= 0 and trace.about["ranks"]
        for event in trace.events:
            if "ts" in event:
                event["ts"] = round(event["ts"] * 1000)
                event["dur"] = round(event.get("dur", 0) * 1000)
    except (KeyError, TypeError):
        known = False
    if not known:
        raise click.ClickException(f"{path} is no trace of Stretto")
    return trace


def parsed(made: Path, path: Path) -> Any:
    try:
        return json.loads(made.read_text())
    except OSError as error:
        raise click.ClickException(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise click.ClickException(
            f"{path} is cut off, or no JSON: {error}; copy it again, or leave it out"
        ) from None


def check(traces: list[Trace], folder: str) -> None:
    """Files may have been renamed, or copied from elsewhere."""
    for trace in traces:
        if any(trace.about[key] != traces[0].about[key] for key in ("id", "ranks")):
            raise click.ClickException(
                f"{trace.path} and {traces[0].path} are of different jobs; each job needs a folder "
                "of its own"
            )
    ranks = [trace.rank for trace in traces]
    if len(set(ranks)) != len(ranks):
        raise click.ClickException(f"two traces in {folder} are of the same rank")


def missing(traces: list[Trace]) -> list[int]:
    there = {trace.rank for trace in traces}
    return [rank for rank in range(traces[0].about["ranks"]) if rank not in there]


@dataclass(frozen=True)
class Alignment:
    """The offset of a clock to that of the first trace, in nanoseconds."""

    offset: int
    error: int | None
    """Its largest error; None: not known."""
    how: str
    """"same clock", "measured" by the ranks, "calls" that bound it, or "unknown"."""


def align(traces: list[Trace]) -> dict[int, Alignment]:
    """Converts all events to the clock of the first trace; returns the alignment of each rank.

    Ranks of one host share a clock.  For others the ranks have measured what their clocks are
    apart, and each call that nobody leaves before all have entered bounds it: an end on one host is
    later than any beginning on the other.
    """
    groups: dict[str, list[Trace]] = {}
    for trace in traces:
        groups.setdefault(trace.about["clock"], []).append(trace)
    first = next(iter(groups.values()))
    found = {}
    for group in groups.values():
        alignment = Alignment(0, 0, "same clock") if group is first else between(first, group)
        for trace in group:
            found[trace.rank] = alignment
            for event in trace.events:
                if "ts" in event:
                    event["ts"] += alignment.offset
    return dict(sorted(found.items()))


def between(first: list[Trace], other: list[Trace]) -> Alignment:
    here, there = limits(first), limits(other)
    common = here.keys() & there.keys()
    least = max((here[call][0] - there[call][1] for call in common), default=None)
    most = min((here[call][1] - there[call][0] for call in common), default=None)
    own, reference = measured_offset(other), measured_offset(first)
    measured = own - reference if own is not None and reference is not None else None
    if least is None or most is None:
        if measured is not None:
            return Alignment(measured, None, "measured")
        begins = [
            min(e["ts"] for t in group for e in t.events if "ts" in e) for group in (first, other)
        ]
        return Alignment(begins[0] - begins[1], None, "unknown")
    # Clocks drift, so that over a long time the limits may cross.
    least, most = min(least, most), max(least, most)
    if measured is None:
        return Alignment((least + most) // 2, (most - least + 1) // 2, "calls")
    offset = min(max(measured, least), most)
    return Alignment(offset, max(offset - least, most - offset), "measured")


def measured_offset(traces: list[Trace]) -> int | None:
    """What the ranks have found out that is to be added to the clock that these share."""
    known = (trace.about.get("clock_offset_ns") for trace in traces)
    return next((each for each in known if each is not None), None)


def limits(traces: Iterable[Trace]) -> dict[int, tuple[int, int]]:
    """Of each synchronizing call: when the last rank had begun it, and the first one ended it."""
    found: dict[int, tuple[int, int]] = {}
    for trace in traces:
        for call in trace.spans("call"):
            arguments = call["args"]
            if not arguments.get("synchronizing") or arguments.get("unfinished"):
                continue
            begin, end = call["ts"], call["ts"] + call["dur"]
            last, soonest = found.get(arguments["call"], (begin, end))
            found[arguments["call"]] = (max(last, begin), min(soonest, end))
    return found
