# SPDX-License-Identifier: BSD-3-Clause
"""The picture of `stretto report --plot`: how late ranks came, and where their time goes."""

from __future__ import annotations

from typing import Any

import numpy as np

from stretto.cli.drawing import save
from stretto.cli.pyplot import pyplot
from stretto.reports.calls import Site
from stretto.reports.lateness import late_by

COLOURED = 6  # ranks with a colour of their own: the ones that are late most
HEIGHT, WIDTH = 3.2, 13.0  # inches, of a site
BESIDE = {"frameon": False, "loc": "upper left", "bbox_to_anchor": (1, 1)}  # of legends


def draw(sites: list[Site], path: str) -> None:
    plt, matplotlib = pyplot()
    with matplotlib.rc_context({"svg.hashsalt": "stretto"}):
        figure, rows = plt.subplots(
            len(sites), 2, figsize=(WIDTH, HEIGHT * len(sites)), layout="constrained",
            squeeze=False, width_ratios=(3, 2),
        )  # fmt: skip
        for (over_calls, by_rank), site in zip(rows, sites, strict=True):
            draw_lateness(over_calls, site)
            draw_times(by_rank, site)
            for axes in (over_calls, by_rank):
                axes.grid(alpha=0.3)
                axes.spines[["top", "right"]].set_visible(False)
        save(figure, path)
        plt.close(figure)


def draw_lateness(axes: Any, site: Site) -> None:
    late = late_by(site.came) * 1e-6
    most = np.argsort(-late.mean(axis=0), kind="stable")[:COLOURED]
    for index, noted in enumerate(site.ranks):
        shown = index in most
        axes.plot(
            site.numbers, late[:, index], ".", ms=3, zorder=2 if shown else 1,
            color=None if shown else "0.8", label=f"rank {noted.rank}" if shown else None,
        )  # fmt: skip
    what = f"{site['collective']}, {site['count']} x {site['dtype']}" if site["dtype"] else (
        site["collective"]
    )  # fmt: skip
    axes.set_title(f"{what}: after the first (ms)", loc="left", fontsize=11)
    axes.set_xlabel("call")
    axes.set_ylim(bottom=0)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(markerscale=3, **BESIDE)


def draw_times(axes: Any, site: Site) -> None:
    found = site.lateness() or []
    names = [noted.rank for noted in site.ranks]
    between = [
        noted.kind["outside_ns"] * 1e-6 / max(1, noted.kind["begun"]) for noted in site.ranks
    ]
    bottom = np.zeros(len(names))
    for what, values, colour in (
        ("computing", between, "#009e73"),
        ("waiting", [each.waiting * 1e3 for each in found], "#cccccc"),
        ("working", [each.working * 1e3 for each in found], "#0072b2"),
    ):
        axes.bar(names, values, bottom=bottom, color=colour, label=what, zorder=2)
        bottom += values
    axes.set_title("for one call (ms)", loc="left", fontsize=11)
    axes.set_xlabel("rank")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(**BESIDE)
