# SPDX-License-Identifier: BSD-3-Clause
"""Figures 7 to 12 of Kolmakov and Zhang from what was measured in slow motion, and the gains beside
what the model said."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import gains
from matplotlib.figure import Figure
from paper_page import KIB, MIB, OVER_RANKS
from sizes import size_text

# Okabe and Ito's colours.
LOOKS = {
    gains.AUTO: ("Stretto, its choice", {"color": "#d55e00", "lw": 2.5}),
    gains.OPENMPI: ("Open MPI", {"color": "#0072b2"}),
    "recursive_doubling": ("recursive doubling", {"color": "#009e73"}),
    "rabenseifner": ("recursive halving", {"color": "#e69f00"}),
    "ring": ("ring", {"color": "#56b4e9"}),
    "bruck": ("Bruck", {"color": "0.5"}),
    "hybrid": ("hybrid", {"color": "0.7"}),
}
BEST = ("generalized, best r", {"color": "#d55e00", "ls": "--"})
PANELS = (
    ("small (figure 7)", 0, 16 * KIB),
    ("medium (figure 9)", 16 * KIB, MIB // 2),
    ("big (figure 8)", MIB // 2, 1 << 62),
)
COLOURS = ("#009e73", "#e69f00", "#56b4e9", "#999999", "#cc79a7", "#0072b2", "#f0e442", "#000000")
Points = list[tuple[float, float]]


def draw(found: list[dict], folder: Path) -> list[Path]:
    """The files that were written: those of which there is something to show."""
    written = []
    for name, drawn in (("times", times), ("ranks", over_ranks), ("gains", gained)):
        figure = drawn(found)
        if figure is not None:
            written.append(folder / f"kolmakov-zhang-{name}.png")
            figure.savefig(written[-1], dpi=130)
    return written


def removed(who: str) -> int | None:
    """r of a version of the generalized allreduce, whatever its group."""
    if not who.startswith("generalized"):
        return None
    given = re.search(r"\br=(\d+)", who)
    return int(given[1]) if given else 0


def series(results: dict, name: str) -> Points:
    """Bytes and seconds, not dilated, of a contestant."""
    return _points(results, lambda row: gains.contestant(row, name))


def best_series(results: dict) -> Points:
    return _points(
        results,
        lambda row: gains.fastest([e for e in gains.fixed(row) if removed(e["who"]) is not None]),
    )


def version_series(results: dict) -> dict[int, Points]:
    """By r, the faster group of each size."""
    numbers = {removed(e["who"]) for row in results["rows"] for e in gains.fixed(row)} - {None}
    return {
        r: _points(
            results,
            lambda row, r=r: gains.fastest([e for e in gains.fixed(row) if removed(e["who"]) == r]),
        )
        for r in sorted(numbers)
    }


def _points(results: dict, find: Callable[[dict], dict | None]) -> Points:
    found = [(row["bytes"], find(row)) for row in results["rows"]]
    return [(size, each["median"] / results["dilate"]) for size, each in found if each]


def times(found: list[dict]) -> Figure:
    """A row for each number of ranks: small, medium and big vectors, and the versions."""
    figure = Figure(figsize=(19, 1 + 3.6 * len(found)), layout="tight")
    axes = figure.subplots(len(found), len(PANELS) + 1, squeeze=False)
    for row, results in zip(axes, found, strict=True):
        for axis, (title, least, most) in zip(row, PANELS, strict=False):
            _panel(axis, results, least, most)
            axis.set_title(f"P = {results['ranks']}, {title}", fontsize=10)
        _versions(row[-1], results)
    _legend(axes[0][0])
    return figure


def _panel(axis, results: dict, least: int, most: int) -> None:
    lines = [(series(results, name), look) for name, look in LOOKS.items()]
    for points, (label, look) in [*lines, (best_series(results), BEST)]:
        inside = [(size, t * 1e3) for size, t in points if least <= size <= most]
        if inside:
            axis.plot(*zip(*inside, strict=True), marker=".", label=label, **look)
    _axes(axis)
    # As the paper: what is far off is out of the picture.
    ours = [t * 1e3 for size, t in series(results, gains.AUTO) if least <= size <= most]
    axis.set_visible(bool(ours))
    if ours:
        axis.set_ylim(0, 3 * max(ours))


def _versions(axis, results: dict) -> None:
    for number, (r, points) in enumerate(version_series(results).items()):
        look = {"color": COLOURS[number % len(COLOURS)], "lw": 1}
        scaled = [(size, t * 1e3) for size, t in points]
        axis.plot(*zip(*scaled, strict=True), marker=".", label=f"r = {r}", **look)
    choice = [(size, t * 1e3) for size, t in series(results, gains.AUTO)]
    label, look = LOOKS[gains.AUTO]
    axis.plot(*zip(*choice, strict=True), label=label, **{**look, "ls": ":"})
    axis.set_title(f"P = {results['ranks']}, versions (figure 10)", fontsize=10)
    _axes(axis)
    axis.set_yscale("log")
    _legend(axis)


def over_ranks(found: list[dict]) -> Figure | None:
    """Figures 11 and 12: two sizes over the number of ranks."""
    if len(found) < 2:
        return None
    figure = Figure(figsize=(11, 4), layout="tight")
    for axis, (size, number) in zip(figure.subplots(1, 2), OVER_RANKS.items(), strict=True):
        for name, (label, look) in LOOKS.items():
            points = [
                (results["ranks"], t * 1e6)
                for results in found
                for at, t in series(results, name)
                if at == size
            ]
            if points:
                axis.plot(*zip(*points, strict=True), marker=".", label=label, **look)
        axis.set_title(f"{size_text(size)} (figure {number})", fontsize=10)
        axis.set(xlabel="ranks", ylabel="µs")
        axis.grid(alpha=0.25)
        _legend(axis)
    return figure


def gained(found: list[dict]) -> Figure:
    figure = Figure(figsize=(8, 4.5), layout="tight")
    axis = figure.subplots()
    for number, results in enumerate(found):
        rows = [gains.gain(row) for row in results["rows"]]
        colour, name = COLOURS[number % len(COLOURS)], f"P = {results['ranks']}"
        for what, look in (
            ("gain", {"marker": "o", "ms": 4, "label": name}),
            ("predicted", {"ls": "--", "lw": 1, "label": f"{name}, model"}),
            ("paper", {"ls": ":", "lw": 1, "label": f"{name}, paper's equations"}),
        ):
            points = [(each.bytes, getattr(each, what)) for each in rows if getattr(each, what)]
            if points:
                axis.plot(*zip(*points, strict=True), color=colour, **look)
    _axes(axis)
    axis.set_ylabel("time of the best rival / time of the choice")
    axis.axhline(1, color="0.3", lw=0.8)
    _legend(axis)
    return figure


def _axes(axis) -> None:
    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_formatter(lambda size, _: size_text(round(size)) if size >= 1 else "")
    axis.tick_params(axis="x", labelsize=7)
    axis.set(xlabel="vector", ylabel="ms")
    axis.grid(alpha=0.25)


def _legend(axis) -> None:
    if axis.get_legend_handles_labels()[0]:
        axis.legend(fontsize=7, frameon=False)
