# SPDX-License-Identifier: BSD-3-Clause
"""The picture of `stretto bench --plot`."""

from __future__ import annotations

from typing import Any

from stretto.cli.pyplot import pyplot, save
from stretto.cli.units import show_size


def plot(meta: dict[str, Any], rows: list[dict[str, Any]], path: str) -> None:
    """Median time (a band from the smallest to the 99th percentile) and bus bandwidth by size."""
    plt, _ = pyplot()
    figure, (times, bandwidths) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
    for name in dict.fromkeys(row["algorithm"] for row in rows):
        mine = [row for row in rows if row["algorithm"] == name]
        sizes = [row["bytes"] for row in mine]
        (line,) = times.plot(sizes, [row["t_p50_us"] for row in mine], "o-", ms=3, label=name)
        times.fill_between(
            sizes,
            [row["t_min_us"] for row in mine],
            [row["t_p99_us"] for row in mine],
            color=line.get_color(),
            alpha=0.15,
            linewidth=0,
        )
        bandwidths.plot(sizes, [row["busbw_GBps"] for row in mine], "o-", ms=3, label=name)
    for axes, title in ((times, "time of a call (µs)"), (bandwidths, "bus bandwidth (GB/s)")):
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(lambda size, _: show_size(size))
        axes.set_xlabel("vector")
        axes.set_title(title, loc="left", fontsize=11)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    times.set_yscale("log")
    times.legend(frameon=False)
    save(
        figure,
        f"{meta['collective']}, {meta['ranks']} ranks on {meta['cores']} cores, {meta['dtype']}, "
        f"{meta['buffers']} buffers; median, band from minimum to 99th percentile",
        path,
    )
