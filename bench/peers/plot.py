# SPDX-License-Identifier: BSD-3-Clause
"""The results as a plot: times above, ratios below, a column per number of ranks."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure
from peers import WITH_VARIANTS
from sizes import size_text
from tables import peer_names

DASHES = {"one": "-", "nearest": ":", "near": "-", "far": "--"}
COLOURS = {
    "stretto": "#c0392b",
    "openmpi": "#2471a3",
    "openmpi-sm": "#5dade2",
    "mpich": "#7d8c2c",
    "impi": "#7d3c98",
}
SIZE_TICKS = [4, 64, 1 << 10, 16 << 10, 256 << 10, 4 << 20, 64 << 20]
RATIO_TICKS = [0.25, 0.5, 1, 2, 4, 8, 16, 64, 256]


def draw(results: dict, path: Path) -> None:
    ranks = sorted({row["ranks"] for row in results["rows"]})
    figure = Figure(figsize=(2 + 4.4 * len(ranks), 8), layout="tight")
    axes = figure.subplots(2, len(ranks), sharex=True, sharey="row", squeeze=False)
    for times, ratios, n in zip(*axes, ranks, strict=True):
        rows = [row for row in results["rows"] if row["ranks"] == n]
        for state in dict.fromkeys(row["state"] for row in rows):
            in_state = [row for row in rows if row["state"] == state]
            _draw_state(times, ratios, in_state, state, peer_names(results))
        times.set(title=f"{n} ranks", yscale="log")
        times.set_xscale("log")
        times.set_xticks(SIZE_TICKS, [size_text(size) for size in SIZE_TICKS], fontsize=8)
        ratios.set_yscale("log")
        ratios.set_yticks(RATIO_TICKS, [f"{ratio:g}" for ratio in RATIO_TICKS])
        ratios.axhline(1, color="0.3", lw=1)
        for axis in (times, ratios):
            axis.minorticks_off()
            axis.grid(alpha=0.25)
    axes[0][0].set_ylabel("µs, median of the slowest rank")
    axes[1][0].set_ylabel("peer / Stretto (above 1: Stretto is faster)")
    axes[0][0].legend(fontsize=8)
    every = [p["ratio"] for row in results["rows"] for p in row["peers"].values()]
    axes[1][0].set_ylim(0.8 * min(1, *every), 1.25 * max(2, *every))
    figure.savefig(path, dpi=130)


def _draw_state(times, ratios, rows: list[dict], state: str, names: list[str]) -> None:
    suffix = "" if state == "one" else f", {state}"
    dashes = {"ls": DASHES[state], "marker": ".", "ms": 4}
    sizes = [row["bytes"] for row in rows]
    for who, label, look in (
        ("memcpy_p50_us", "copy", {"color": "0.6", "lw": 1}),
        ("stretto_p50_us", "Stretto", {"color": COLOURS["stretto"], "lw": 2.5}),
    ):
        times.plot(sizes, [row[who] for row in rows], label=label + suffix, **look, **dashes)
    for name in names:
        met = [row for row in rows if name in row["peers"]]
        sizes = [row["bytes"] for row in met]
        look = {"color": COLOURS[name], "label": WITH_VARIANTS[name].title + suffix, **dashes}
        times.plot(sizes, [row["peers"][name]["p50_us"] for row in met], **look)
        ratios.plot(sizes, [row["peers"][name]["ratio"] for row in met], **look)
