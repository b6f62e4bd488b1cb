# SPDX-License-Identifier: BSD-3-Clause
"""A picture of one call, as its ranks have traced it: ranks down, time across."""

from __future__ import annotations

from typing import Any

import click

from stretto.cli.drawing import FONT, INK, PAPER, QUIET, UNITS, WIDTH, save
from stretto.cli.pyplot import pyplot
from stretto.cli.traces import Trace
from stretto.cli.units import show_seconds, show_size

ROW = 0.5  # inches, as all of these
LEFT, RIGHT, HEAD, FOOT = 0.75, 0.25, 0.36, 0.72
TOP, BOTTOM = 0.14, 0.86  # of a row
# The colours of steps, by what they do.
COLOURS = {
    "send": "#56b4e9",
    "receive": "#009e73",
    "receive and send": "#0072b2",
    "reduce": "#d55e00",
    "reduce and send": "#e69f00",
    "copy": "#999999",
}
WAITING = "#f2f2f2"


def draw_call(traces: list[Trace], number: int | None, path: str) -> None:
    """Draws the call of this number; without one, the longest that all ranks have ended."""
    calls = {trace.rank: {c["args"]["call"]: c for c in trace.spans("call")} for trace in traces}
    chosen = longest(list(calls.values())) if number is None else number
    if not any(chosen in mine for mine in calls.values()):
        raise click.ClickException(
            f"no rank has traced a blocking call {chosen} of the job's communicator; "
            "`stretto trace merge` shows all that there is"
        )
    first = {rank: mine[chosen] for rank, mine in calls.items() if chosen in mine}
    begin = min(call["ts"] for call in first.values())
    end = max(call["ts"] + call["dur"] for call in first.values())
    plt, matplotlib = pyplot()
    whole = HEAD + ROW * len(traces) + FOOT
    with matplotlib.rc_context(
        {"svg.hashsalt": "stretto", "font.size": FONT, "hatch.linewidth": 0.5}
    ):
        figure = plt.figure(figsize=(WIDTH, whole))
        axes = figure.add_axes(
            (LEFT / WIDTH, FOOT / whole, 1 - (LEFT + RIGHT) / WIDTH, ROW * len(traces) / whole)
        )
        used = Picture(axes, begin, end).paint(traces, first)
        axes.set_title(title(next(iter(first.values())), end - begin), loc="left",
                       fontsize=FONT + 2, color=INK)  # fmt: skip
        legend(figure, used)
        save(figure, path)
        plt.close(figure)


def longest(ranks: list[dict[int, dict[str, Any]]]) -> int:
    common = [
        call for call in set.intersection(*(set(mine) for mine in ranks))
        if not any(mine[call]["args"].get("unfinished") for mine in ranks)
    ]  # fmt: skip
    if not common:
        raise click.ClickException(
            "there is no blocking call that all ranks have traced to its end; name one with --call"
        )

    def length(call: int) -> int:
        ends = [mine[call]["ts"] + mine[call]["dur"] for mine in ranks]
        return max(ends) - min(mine[call]["ts"] for mine in ranks)

    return max(sorted(common), key=length)


def title(call: dict[str, Any], nanoseconds: int) -> str:
    what = call["args"]
    size = f" of {show_size(what['bytes'])}" if "bytes" in what else ""
    return (
        f"call {what['call']}: {call['name']}{size}, {what['algorithm']}: "
        f"{show_seconds(nanoseconds * 1e-9)}"
    )


class Picture:
    """Draws the rows."""

    def __init__(self, axes: Any, begin: int, end: int):
        self._axes = axes
        self._begin = begin
        span = max((end - begin) * 1e-9, 1e-9)
        self._unit, self._unit_name = next(each for each in UNITS if span >= each[0])
        self._unit = self._unit or 1e-9
        self._span = span / self._unit
        self._points = (WIDTH - LEFT - RIGHT) * 72 / (self._span * 1.01)  # of paper for a unit

    def paint(self, traces: list[Trace], calls: dict[int, dict[str, Any]]) -> list[str]:
        """Gives the kinds of steps that there were."""
        axes = self._axes
        axes.set_xlim(0, self._span * 1.01)
        axes.set_ylim(len(traces), 0)
        axes.set_yticks(
            [row + 0.5 for row in range(len(traces))], [f"rank {trace.rank}" for trace in traces]
        )
        axes.tick_params(axis="y", length=0)
        axes.tick_params(axis="x", color=QUIET)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.spines["bottom"].set_color(QUIET)
        axes.annotate(
            f"time, {self._unit_name}", (0, 0), (-14, -5), xycoords="axes fraction",
            textcoords="offset points", ha="right", va="top",
        )  # fmt: skip
        used: set[str] = set()
        for row, trace in enumerate(traces):
            axes.axhline(row + 1, color="#e6e6e6", linewidth=0.6, zorder=0)
            if trace.rank in calls:
                self._row(row, trace, calls[trace.rank], used)
            else:
                self._text(self._span / 2, row, "has not called", QUIET)
        return [kind for kind in COLOURS if kind in used]

    def _row(self, row: int, trace: Trace, call: dict[str, Any], used: set[str]) -> None:
        number = call["args"]["call"]
        arrival, finish = self._time(call["ts"]), self._time(call["ts"] + call["dur"])
        if self._fits("not here yet", arrival):
            self._text(arrival / 2, row, "not here yet", QUIET)
        for time in (arrival, finish):
            self._axes.vlines(time, row + TOP - 0.06, row + BOTTOM + 0.06, color=INK,
                              linewidth=1.2, zorder=6)  # fmt: skip
        for wait in trace.spans("wait"):
            if wait["args"]["call"] == number:
                self._bar(row, wait, facecolor=WAITING, edgecolor="#c8c8c8", hatch="////")
                whom = wait["name"].removeprefix("wait for ")
                if self._fits(whom, self._length(wait)):
                    middle = self._time(wait["ts"]) + self._length(wait) / 2
                    self._text(middle, row, whom, INK)
        for step in trace.spans("step"):
            if step["args"]["call"] == number:
                used.add(step["name"])
                self._bar(row, step, facecolor=COLOURS[step["name"]], zorder=3)

    def _time(self, nanoseconds: int) -> float:
        return (nanoseconds - self._begin) * 1e-9 / self._unit

    def _length(self, event: dict[str, Any]) -> float:
        return event["dur"] * 1e-9 / self._unit

    def _bar(self, row: int, event: dict[str, Any], **style: Any) -> None:
        from matplotlib.patches import Rectangle

        style.setdefault("linewidth", 0)
        style.setdefault("zorder", 2)
        corner = (self._time(event["ts"]), row + TOP)
        self._axes.add_patch(Rectangle(corner, self._length(event), BOTTOM - TOP, **style))

    def _text(self, time: float, row: int, text: str, ink: str) -> None:
        from matplotlib.patheffects import withStroke

        shown = self._axes.text(
            time, row + 0.5, text, ha="center", va="center_baseline", color=ink, zorder=8
        )
        shown.set_path_effects([withStroke(linewidth=3, foreground=PAPER)])

    def _fits(self, text: str, time: float) -> bool:
        return 0.6 * FONT * len(text) < time * self._points


def legend(figure: Any, used: list[str]) -> None:
    from matplotlib.patches import Patch

    figure.legend(
        handles=[
            *(Patch(facecolor=COLOURS[kind], label=kind) for kind in used),
            Patch(facecolor=WAITING, edgecolor="#c8c8c8", hatch="////", label="wait, for rank"),
        ],
        loc="lower left", bbox_to_anchor=(LEFT / WIDTH - 0.01, 0), ncols=8, frameon=False,
        handlelength=1.4, borderaxespad=0.3,
    )  # fmt: skip
