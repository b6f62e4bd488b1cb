# SPDX-License-Identifier: BSD-3-Clause
"""What `stretto bench arrival` has measured, as figures 10 to 12 of Proficz (2018): mean elapsed
times by delay, by size and by number of ranks, with two standard deviations each way, and the
bound that no algorithm can pass."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any, NamedTuple

from stretto.cli.arrival_tables import BOUNDS, MODES, seen
from stretto.cli.pyplot import pyplot
from stretto.cli.units import show_size

# What the paper holds still: 1 Mi floats; 50 ms by size, and 100 ms by ranks.
SIZE, DELAY_BY_SIZE, DELAY_BY_RANKS = 4 << 20, 5e4, 1e5
# Okabe and Ito's colours.
COLOURS = ("#56b4e9", "#009e73", "#e69f00", "#d55e00", "#0072b2", "#cc79a7", "#999999")
Result = dict[str, Any]  # as `bench arrival --json` writes it
Row = dict[str, Any]


class Panel(NamedTuple):
    title: str
    label: str  # of x
    scale: str
    points: list[tuple[float, Row]]  # x, and what was measured there


def plot(results: list[Result], path: str) -> None:
    """A row of panels for each mode."""
    plt, _ = pyplot()
    shown = {mode: panels(results, mode) for mode in modes_of(results)}
    wide = max(map(len, shown.values()))
    figure, axes = plt.subplots(
        len(shown), wide, figsize=(6 * wide, 4.4 * len(shown)), layout="constrained", squeeze=False
    )
    names = seen([row for result in results for row in result["rows"]], "algorithm")
    for line, made in zip(axes, shown.values(), strict=True):
        for axis, panel in zip(line, made, strict=False):
            _draw(axis, panel, names)
        for axis in line[len(made) :]:
            axis.set_visible(False)
    axes[0][0].legend(frameon=False, fontsize=9)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def modes_of(results: list[Result]) -> list[str]:
    return seen([row for result in results for row in result["rows"]], "mode")


def panels(results: list[Result], mode: str) -> list[Panel]:
    """By delay; by size and by ranks, if there are several."""
    most = max(results, key=lambda result: result["meta"]["ranks"])
    mine = [row for row in most["rows"] if row["mode"] == mode]
    ranks = most["meta"]["ranks"]
    size, delay = nearest(seen(mine, "bytes"), SIZE), nearest(seen(mine, "delay_us"), DELAY_BY_SIZE)
    what = f"{ranks} ranks, {MODES[mode]}"
    made = [
        Panel(
            f"{show_size(size)}, {what} (figure 10)", "late by, ms", "symlog",
            [(row["delay_us"] * 1e-3, row) for row in mine if row["bytes"] == size],
        )
    ]  # fmt: skip
    if len(seen(mine, "bytes")) > 1:
        points = [(row["bytes"], row) for row in mine if row["delay_us"] == delay]
        title = f"late by {delay * 1e-3:g} ms, {what} (figure 11)"
        made.append(Panel(title, "vector", "log", points))
    if len(results) > 1:
        delay = nearest(seen(mine, "delay_us"), DELAY_BY_RANKS)
        points = [
            (result["meta"]["ranks"], row)
            for result in results
            for row in result["rows"]
            if (row["mode"], row["bytes"], row["delay_us"]) == (mode, size, delay)
        ]
        what = f"late by {delay * 1e-3:g} ms, {MODES[mode]}"
        made.append(Panel(f"{show_size(size)}, {what} (figure 12)", "ranks", "linear", points))
    return made


def nearest(values: Iterable[float], wanted: float) -> float:
    return min(values, key=lambda value: abs(value - wanted))


def _draw(axis: Any, panel: Panel, names: list[str]) -> None:
    for place, name in enumerate(names):
        mine = ((x, row) for x, row in panel.points if row["algorithm"] == name)
        found = sorted(mine, key=itemgetter(0))
        if found:
            axis.errorbar(
                [x for x, _ in found],
                [row["elapsed_us"] * 1e-3 for _, row in found],
                yerr=[2 * row["sigma_us"] * 1e-3 for _, row in found],
                label=name, color=COLOURS[place % len(COLOURS)], marker=".", capsize=2, lw=1.2,
            )  # fmt: skip
    for (name, field), style in zip(BOUNDS.items(), ("--", ":"), strict=True):
        bounds = {x: row[field] for x, row in panel.points}
        bounded = sorted((x, bound * 1e-3) for x, bound in bounds.items() if bound is not None)
        if bounded:
            axis.plot(*zip(*bounded, strict=True), color="black", ls=style, lw=1, label=name)
    if panel.scale == "symlog":
        axis.set_xscale("symlog", linthresh=1)
        axis.set_xticks(sorted({x for x, _ in panel.points}))
        axis.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    elif panel.scale == "log":
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter(lambda size, _: show_size(size))
    if panel.scale != "linear":
        axis.set_yscale("log")
    axis.set_title(panel.title, loc="left", fontsize=10)
    axis.set(xlabel=panel.label, ylabel="mean elapsed time, ms")
    axis.grid(alpha=0.3)
    axis.spines[["top", "right"]].set_visible(False)
