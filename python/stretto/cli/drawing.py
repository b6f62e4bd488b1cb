# SPDX-License-Identifier: BSD-3-Clause
"""Time diagrams of schedules: ranks down, time across, blocks as colours.

What all pictures of schedules have in common, and the one in which each message is seen (for more
of them than that see overview.py).  Each rank has a row.  Its upper bars are messages that it
receives, as long as they take; the lower ones are its processor, reducing.  A message of several
blocks is cut into as many stripes.  A thin line leads from the sender to the message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from stretto.cli.pyplot import pyplot
from stretto.cli.units import show_ranges

# Okabe and Ito's colours, which all kinds of colour vision tell apart, without their black.
COLOURS = (
    "#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#0072b2", "#d55e00", "#999999",
)  # fmt: skip
INK, QUIET, PAPER, GROUND = "#222222", "#9a9a9a", "#ffffff", "#f1f4f8"
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (0.0, "ns"))

WIDTH = 11.0  # inches, all of these
LEFT, RIGHT = 0.75, 0.25
HEAD, FOOT, BETWEEN = 0.36, 0.86, 0.42
ROW = 0.62
# Parts of a row, from its top.
RECEIVE, RECEIVE_END, WORK, WORK_END = 0.14, 0.64, 0.68, 0.86
FORMATS = (".svg", ".png", ".pdf")
FONT = 8.0  # points


@dataclass(frozen=True)
class Panel:
    """A schedule to draw: its timeline (events and finish) and the arrivals."""

    title: str
    ranks: int
    blocks: int
    arrivals: list[float]
    timeline: dict[str, Any]
    hosts: list[int] = field(default_factory=list)
    """The host of each rank; none if no two ranks share one."""


def check_name(path: str) -> None:
    """The format of a picture; an unknown one ends the command before any work."""
    if not path.lower().endswith(FORMATS):
        raise click.UsageError(f"'{path}': the picture ends in {', '.join(FORMATS)}")
    folder = Path(path).parent
    if not folder.is_dir():
        raise click.UsageError(f"'{path}': there is no folder '{folder}'; make it first")
    if Path(path).is_dir():
        raise click.UsageError(f"'{path}' is a folder; name a file in it")


def save(figure: Any, path: str) -> None:
    """The same bytes for the same picture."""
    made = {"svg": {"Date": None}, "png": {"Software": None}}.get(path.rpartition(".")[2])
    figure.savefig(path, dpi=120, metadata=made)


def draw(panels: list[Panel], note: str, path: str, block: int | None) -> None:
    """Draws the panels with each of their messages, as `sheet` does.

    block: stands out, with arrows along its way; the others go pale.
    """
    heights = [ROW * panel.ranks for panel in panels]
    sheet(
        panels, heights, path, lambda axes, panel, time: Painter(axes, panel, time, block).paint(),
        lambda figure, whole: legend(figure, whole, entries(block), note),
    )  # fmt: skip


class Time:
    """The axis that all panels share, in a unit that suits its end."""

    def __init__(self, end: float):
        self.end = end
        self.unit, self.unit_name = next(each for each in UNITS if end >= each[0])
        self.unit = self.unit or 1e-9

    def dress(self, axes: Any, panel: Panel, last: bool) -> None:
        """Title and axes; of the last panel with numbers."""
        axes.set_xlim(0, self.end * 1.01 / self.unit)
        axes.set_ylim(panel.ranks, 0)
        axes.set_title(panel.title, loc="left", fontsize=FONT + 2, color=INK)
        axes.tick_params(axis="x", color=QUIET, labelbottom=last)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.spines["bottom"].set_color(QUIET)
        if last:
            axes.annotate(
                f"time, {self.unit_name}", (0, 0), (-14, -5), xycoords="axes fraction",
                textcoords="offset points", ha="right", va="top",
            )  # fmt: skip


def sheet(
    panels: list[Panel],
    heights: list[float],
    path: str,
    paint: Callable[[Any, Panel, Time], None],
    sign: Callable[[Any, float], None],
) -> None:
    """Draws the panels below each other on one axis of time; the ending of `path` says the format.

    heights: of panels, inches.
    paint: a panel, with axes of its own.
    sign: the figure, so many inches high, with what stands below.
    """
    plt, matplotlib = pyplot()
    whole = HEAD + sum(heights) + BETWEEN * (len(panels) - 1) + FOOT
    time = Time(max([panel.timeline["makespan"] for panel in panels]) or 1e-9)
    with matplotlib.rc_context(
        {"svg.hashsalt": "stretto", "font.size": FONT, "hatch.linewidth": 0.7}
    ):
        figure = plt.figure(figsize=(WIDTH, whole))
        top = whole - HEAD
        for panel, height in zip(panels, heights, strict=True):
            axes = figure.add_axes(
                (LEFT / WIDTH, (top - height) / whole, 1 - (LEFT + RIGHT) / WIDTH, height / whole)
            )
            time.dress(axes, panel, last=panel is panels[-1])
            paint(axes, panel, time)
            top -= height + BETWEEN
        sign(figure, whole)
        save(figure, path)
        plt.close(figure)


class Painter:
    """Draws one panel."""

    def __init__(self, axes: Any, panel: Panel, time: Time, block: int | None):
        self._axes = axes
        self._panel = panel
        self._block = block
        self._end, self._unit = time.end, time.unit
        self._points = (WIDTH - LEFT - RIGHT) * 72 / (time.end * 1.01)  # of paper for a second

    def paint(self) -> None:
        panel, axes = self._panel, self._axes
        axes.set_yticks(
            [rank + (RECEIVE + RECEIVE_END) / 2 for rank in range(panel.ranks)],
            [self._name(rank) for rank in range(panel.ranks)],
        )
        axes.tick_params(axis="y", length=0)
        for rank in range(panel.ranks):
            self._row(rank)
        for event in panel.timeline["events"]:
            if event["kind"] == "message":
                self._message(event)
                self._line(event)
            else:
                self._work(event)

    def _name(self, rank: int) -> str:
        hosts = self._panel.hosts
        return f"rank {rank}\nhost {hosts[rank]}" if hosts else f"rank {rank}"

    def _row(self, rank: int) -> None:
        """Every other host stands on a ground of its own."""
        if self._panel.hosts and self._panel.hosts[rank] % 2 == 1:
            self._axes.axhspan(rank, rank + 1, color=GROUND, linewidth=0, zorder=-1)
        arrival, finish = self._panel.arrivals[rank], self._panel.timeline["finish"][rank]
        middle = rank + (RECEIVE + WORK_END) / 2
        self._axes.hlines(
            rank + 1, 0, self._end * 1.01 / self._unit, color="#e6e6e6", linewidth=0.6, zorder=0
        )
        if arrival > 0:
            self._bar(rank, 0, arrival, RECEIVE, WORK_END, facecolor="#eeeeee", zorder=1)
            if self._fits("late", arrival):
                self._text(arrival / 2, middle, "late", QUIET)
        self._axes.vlines(
            finish / self._unit, rank + RECEIVE - 0.06, rank + WORK_END, color=INK, linewidth=1.4,
            zorder=6,
        )  # fmt: skip

    def _message(self, event: dict[str, Any]) -> None:
        """Its stripes, and which blocks they are where that can be read."""
        blocks, rank = event["blocks"], event["to"]
        start, end = event["start"], event["end"]
        height = (RECEIVE_END - RECEIVE) / len(blocks)
        for place, block in enumerate(blocks):
            top = RECEIVE + place * height
            self._bar(
                rank, start, end, top, top + height, facecolor=self._colour(block),
                edgecolor=self._edge(block), hatch="/////" if event["reduces"] else None,
                linewidth=0.0 if len(blocks) > 1 else 0.5, zorder=3,
            )  # fmt: skip
        outlined = self._block in blocks
        self._bar(
            rank, start, end, RECEIVE, RECEIVE_END, facecolor="none", edgecolor=PAPER,
            linewidth=0.8, zorder=3.5,
        )  # fmt: skip
        if outlined:
            top = RECEIVE + blocks.index(self._block) * height
            self._bar(
                rank, start, end, top, top + height, facecolor="none", edgecolor=INK,
                linewidth=1.3, zorder=5,
            )  # fmt: skip
        self._labels(event, height)

    def _labels(self, event: dict[str, Any], height: float) -> None:
        """A number in each stripe if they are high enough, else the range in the middle."""
        blocks, rank = event["blocks"], event["to"]
        length, middle = event["end"] - event["start"], (event["start"] + event["end"]) / 2
        if height * ROW * 72 >= FONT + 1.5:
            for place, block in enumerate(blocks):
                if self._fits(str(self._panel.blocks - 1), length):  # all numbers, or none
                    y = rank + RECEIVE + (place + 0.5) * height
                    self._text(middle, y, str(block), self._ink(block), self._colour(block))
            return
        label = show_ranges(sorted(blocks)).replace("-", "–")
        if self._fits(label, length):
            self._text(middle, rank + (RECEIVE + RECEIVE_END) / 2, label, INK, PAPER)

    def _work(self, event: dict[str, Any]) -> None:
        blocks = event["blocks"]
        height = (WORK_END - WORK) / len(blocks)
        for place, block in enumerate(blocks):
            top = WORK + place * height
            self._bar(
                event["to"], event["start"], event["end"], top, top + height,
                facecolor=self._colour(block), zorder=3,
                edgecolor=INK if block == self._block else self._edge(block),
                linewidth=1.0 if block == self._block else 0.3,
            )  # fmt: skip

    def _line(self, event: dict[str, Any]) -> None:
        """From the sender's row, when it begins to send, to the message."""
        down = event["to"] > event["from"]
        x = event["start"] / self._unit
        tip = (event["start"] + min(event["end"] - event["start"], self._end / 40) / 2) / self._unit
        tail = event["from"] + (WORK_END if down else RECEIVE)
        head = event["to"] + (RECEIVE if down else WORK_END)
        followed = self._block in event["blocks"]
        if followed:
            self._axes.annotate(
                "", (tip, event["to"] + (RECEIVE if down else RECEIVE_END)), (x, tail), zorder=7,
                arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 1.1, "shrinkA": 0,
                            "shrinkB": 0, "mutation_scale": 7},
            )  # fmt: skip
        else:
            faint = 0.25 if self._block is not None else 0.55
            self._axes.plot(
                (x, tip), (tail, head), color=QUIET, linewidth=0.5, alpha=faint, zorder=2
            )

    def _bar(
        self, rank: int, start: float, end: float, top: float, bottom: float, **style: Any
    ) -> None:
        from matplotlib.patches import Rectangle

        corner = (start / self._unit, rank + top)
        style.setdefault("linewidth", 0)
        self._axes.add_patch(Rectangle(corner, (end - start) / self._unit, bottom - top, **style))

    def _text(self, time: float, y: float, text: str, ink: str, halo: str | None = None) -> None:
        from matplotlib.patheffects import withStroke

        shown = self._axes.text(
            time / self._unit, y, text, ha="center", va="center_baseline", color=ink, zorder=8
        )
        if halo is not None:
            shown.set_path_effects([withStroke(linewidth=3, foreground=halo)])

    def _fits(self, text: str, seconds: float) -> bool:
        return 0.62 * FONT * len(text) + 3 < seconds * self._points

    def _colour(self, block: int) -> str:
        """Pale if another block is to be followed."""
        colour = plain_colour(block, self._panel.blocks)
        return blend(colour, 0.22) if self._block not in (None, block) else colour

    def _edge(self, block: int) -> str:
        """Of bars and of their hatches."""
        colour = plain_colour(block, self._panel.blocks)
        if self._block not in (None, block):
            return blend(colour, 0.55)
        return blend(colour, 0.55, INK)

    def _ink(self, block: int) -> str:
        if self._block not in (None, block):
            return "#777777"
        red, green, blue = channels(self._colour(block))
        return INK if 0.3 * red + 0.59 * green + 0.11 * blue > 105 else PAPER


def plain_colour(block: int, blocks: int) -> str:
    if blocks <= len(COLOURS):
        return COLOURS[block]
    import matplotlib
    from matplotlib.colors import to_hex

    return to_hex(matplotlib.colormaps["viridis"](0.15 + 0.85 * block / (blocks - 1)))


def blend(colour: str, share: float, with_colour: str = PAPER) -> str:
    """So much of the one, the rest of the other."""
    pairs = zip(channels(colour), channels(with_colour), strict=True)
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)


def channels(colour: str) -> Iterator[int]:
    return (int(colour[at : at + 2], 16) for at in (1, 3, 5))


def entries(block: int | None) -> list[tuple[Any, str]]:
    """Of the legend."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    shade = "#d0d0d0"
    shown = [
        (Patch(facecolor=shade, edgecolor="#666666", hatch="/////"), "received, to be reduced"),
        (Patch(facecolor=shade), "received as it is"),
        (Patch(facecolor=shade, edgecolor="#666666", linewidth=0.5), "reducing (lower bars)"),
        (Line2D([], [], color=INK, linewidth=1.4, marker="|", linestyle=""), "done"),
    ]
    if block is not None:
        shown.append((Patch(facecolor="none", edgecolor=INK, linewidth=1.3), f"block {block}"))
    return shown


def legend(figure: Any, whole: float, shown: list[tuple[Any, str]], note: str) -> None:
    """Below the panels of a figure, so many inches high: what is shown how, and a note."""
    figure.legend(
        [handle for handle, _ in shown], [text for _, text in shown], ncols=len(shown),
        loc="lower left", bbox_to_anchor=(LEFT / WIDTH - 0.008, 0.25 / whole), frameon=False,
        handlelength=1.8, handleheight=1.1, columnspacing=1.8, borderaxespad=0,
    )  # fmt: skip
    figure.text(LEFT / WIDTH, 0.1 / whole, note, color="#666666", va="bottom")
