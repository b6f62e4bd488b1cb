# SPDX-License-Identifier: BSD-3-Clause
"""The picture of `stretto bench pairs`: relative throughput over the size of messages, as Bayatpour
et al. (2017) draw it, "multiple pair test vs. one pair test"."""

from __future__ import annotations

from typing import Any

from stretto.cli.pyplot import pyplot, save
from stretto.cli.units import show_size

TITLES = {"inside": "inside a host", "between": "between two hosts"}
# Okabe and Ito's colours.
COLOURS = ("#000000", "#56b4e9", "#009e73", "#e69f00", "#d55e00", "#0072b2", "#cc79a7", "#999999")


def plot(meta: dict[str, Any], rows: list[dict[str, Any]], path: str) -> None:
    """A panel for each place, a line for each number of pairs."""
    plt, _ = pyplot()
    shown = list(dict.fromkeys(row["where"] for row in rows))
    figure, axes = plt.subplots(
        1, len(shown), figsize=(6 * len(shown), 4.4), layout="constrained", squeeze=False
    )
    for axis, where in zip(axes[0], shown, strict=True):
        mine = [row for row in rows if row["where"] == where]
        counts = list(dict.fromkeys(row["pairs"] for row in mine))
        for place, pairs in enumerate(counts):
            points = [(row["bytes"], row["relative"]) for row in mine if row["pairs"] == pairs]
            label = f"{pairs} pairs" if pairs > 1 else "1 pair"
            axis.plot(*zip(*points, strict=True), "o-", ms=3, label=label,
                      color=COLOURS[place % len(COLOURS)])  # fmt: skip
        axis.set_xscale("log", base=2)
        axis.set_yscale("log", base=2)
        sizes = list(dict.fromkeys(row["bytes"] for row in mine))
        axis.set_xticks(sizes, [show_size(size) for size in sizes], fontsize=7)
        axis.set_yticks(counts, [str(pairs) for pairs in counts])
        axis.minorticks_off()
        axis.set_xlabel("message")
        axis.set_ylabel("throughput over that of one pair")
        axis.set_title(TITLES[where], loc="left", fontsize=11)
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(frameon=False, fontsize=9)
    save(
        figure,
        f"{meta['ranks']} ranks, windows of {meta['window']}, median of {meta['repeat']}",
        path,
    )
