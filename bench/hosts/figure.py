# SPDX-License-Identifier: BSD-3-Clause
"""The rows as a plot: times above, times over Stretto's below, a column per number of hosts."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure
from pages import peer_names
from placement import spoken
from plot import COLOURS, SIZE_TICKS
from recipes import RECIPES
from sizes import size_text

MORE_COLOURS = {**COLOURS, "gloo": "#ca6f1e", "plain": "0.45"}


def draw(results: dict, path: Path) -> None:
    rows = results["rows"]
    places = list(dict.fromkeys(row["placement"] for row in rows))
    figure = Figure(figsize=(2 + 3.6 * len(places), 7.5), layout="tight")
    axes = figure.subplots(2, len(places), sharex=True, sharey="row", squeeze=False)
    for times, ratios, place in zip(*axes, places, strict=True):
        here = [row for row in rows if row["placement"] == place]
        _draw_place(times, ratios, here)
        times.set(title=f"{spoken(place)} hosts", xscale="log", yscale="log")
        ratios.set(yscale="log")
        ratios.set_xticks(SIZE_TICKS, [size_text(size) for size in SIZE_TICKS], fontsize=7)
        ratios.set_yticks([0.5, 1, 2, 4, 8, 16, 32], ["0.5", "1", "2", "4", "8", "16", "32"])
        ratios.axhline(1, color="0.3", lw=1)
        for axis in (times, ratios):
            axis.minorticks_off()
            axis.grid(alpha=0.25)
    axes[0][0].set_ylabel("µs, median of the slowest rank")
    axes[1][0].set_ylabel("peer / Stretto (above 1: Stretto is faster)")
    axes[0][0].legend(fontsize=8)
    figure.savefig(path, dpi=130)


def _draw_place(times, ratios, rows: list[dict]) -> None:
    def plot(axis, points: list[tuple], **look) -> None:
        if points:
            axis.plot(*zip(*points, strict=True), marker=".", ms=4, **look)

    grey = {"color": "0.6", "lw": 1}
    for key, label, dashes in (("bound_us", "bound", "--"), ("floor_us", "messages alone", ":")):
        points = [(row["bytes"], row[key]) for row in rows if key in row]
        plot(times, points, label=label, ls=dashes, **grey)
    ours = [(row["bytes"], row["stretto"]["p50_us"]) for row in rows]
    plot(times, ours, label="Stretto", color=COLOURS["stretto"], lw=2.5)
    for name in peer_names(rows):
        look = {"color": MORE_COLOURS[name], "label": RECIPES[name].title}
        met = [(row["bytes"], row["peers"][name]) for row in rows if name in row["peers"]]
        plot(times, [(size, each["p50_us"]) for size, each in met], **look)
        plot(ratios, [(size, 1 / each["ratio"]) for size, each in met], **look)
    ring = [
        (row["bytes"], row["plain"]["ring"]["p50_us"]) for row in rows if "ring" in row["plain"]
    ]
    plot(times, ring, label="plain ring", color=MORE_COLOURS["plain"], ls="-.")
