# SPDX-License-Identifier: BSD-3-Clause
"""The picture of `stretto bench matching`: time and memory over those of a list, as Bayatpour
et al. (2016) draw them."""

from __future__ import annotations

from typing import Any

from stretto.cli.matching_cases import LIST
from stretto.cli.pyplot import pyplot, save

# Okabe and Ito's colours.
COLOURS = {
    LIST: "#000000",
    "bins-quarter": "#56b4e9",
    "bins-half": "#0072b2",
    "by-source": "#e69f00",
    "hash": "#009e73",
    "adaptive": "#d55e00",
}
PANELS = (
    ("relative_time", "time of all matching, over that of the list"),
    ("relative_bytes", "memory of matching, over that of the list"),
)


def plot(meta: dict[str, Any], rows: list[dict[str, Any]], path: str) -> None:
    """Two panels for each number of peers: a group of bars for each pattern, a bar for each
    scheme but the list, which is the line at 1."""
    plt, matplotlib = pyplot()
    counts = list(dict.fromkeys(row["peers"] for row in rows))
    patterns = list(dict.fromkeys(row["pattern"] for row in rows))
    schemes = [each for each in dict.fromkeys(row["scheme"] for row in rows) if each != LIST]
    figure, axes = plt.subplots(
        2 * len(counts),
        1,
        figsize=(4 + 0.6 * len(patterns), 6 * len(counts)),
        layout="constrained",
        squeeze=False,
    )
    width = 0.8 / max(len(schemes), 1)
    for row_of_panels, peers in enumerate(counts):
        for panel, (field, title) in enumerate(PANELS):
            axis = axes[2 * row_of_panels + panel][0]
            for place, scheme in enumerate(schemes):
                mine = {
                    row["pattern"]: row[field] for row in rows
                    if (row["peers"], row["scheme"]) == (peers, scheme) and row[field]
                }  # fmt: skip
                shift = (place - (len(schemes) - 1) / 2) * width
                axis.bar(
                    [patterns.index(pattern) + shift for pattern in mine],
                    # A bar of a logarithmic axis has no zero to begin at, so it begins at the list.
                    [value - 1 for value in mine.values()],
                    width,
                    bottom=1,
                    label=scheme,
                    color=COLOURS[scheme],
                )
            axis.set_yscale("log")
            axis.yaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
            axis.yaxis.set_major_formatter("{x:g}")
            axis.yaxis.set_minor_formatter("")
            axis.axhline(1, color=COLOURS[LIST], lw=1.2, label=LIST)
            axis.set_xticks(range(len(patterns)), patterns, rotation=25, ha="right", fontsize=9)
            axis.set_title(f"{title}; {peers:,} peers", loc="left", fontsize=11)
            axis.grid(axis="y", alpha=0.3)
            axis.spines[["top", "right"]].set_visible(False)
    handles, names = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper right", ncols=len(names), frameon=False)
    save(
        figure,
        f"lower is better; depth {meta['depth']}, median of {meta['repeat']}",
        path,
    )
