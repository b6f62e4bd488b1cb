# SPDX-License-Identifier: BSD-3-Clause
"""Draws kolmakov-zhang.png, figure 1 of Kolmakov and Zhang, and prints its numbers.

    python docs/images/make_kolmakov_zhang.py

By how much the proposed algorithm is faster than the best of ring, recursive halving and recursive
doubling, by the equations of the paper and the numbers of its table 2.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from stretto import _core

ALPHA, BETA, GAMMA = 3e-5, 1e-8, 2e-10  # table 2
CURVES = {48: "#56b4e9", 100: "#e69f00", 127: "#009e73", 128: "#999999"}  # ranks, colours
OTHERS = ("recursive_doubling", "recursive_halving", "ring")
SIZES = np.geomspace(16, 64e6, 4000)  # bytes
INK = "#333333"


class Point:
    """One vector: what the paper's algorithm takes, and who is the best of the others."""

    def __init__(self, ranks: int, size: float) -> None:
        seconds = _core.kolmakov_zhang(ranks, size, ALPHA, BETA, GAMMA)
        self.size = size
        self.removed = int(np.argmin(seconds["proposed"]))
        self.rival = min(OTHERS, key=lambda name: seconds[name])
        self.ratio = seconds[self.rival] / seconds["proposed"][self.removed]


def where(points: list[Point], name: str) -> list[Point]:
    """The first points with another value of this attribute than the ones before them."""
    pairs = zip(points, points[1:], strict=False)
    return [b for a, b in pairs if getattr(a, name) != getattr(b, name)]


def shown(size: float) -> str:
    return f"{size / 1e3:.3g} KB" if size >= 1e4 else f"{size:.0f} B"


def tell(ranks: int, points: list[Point]) -> None:
    peak = max(points, key=lambda point: point.ratio)
    print(f"P = {ranks}: at most {peak.ratio:.3f}, at {shown(peak.size)}")
    for point in where(points, "rival"):
        print(f"    {point.rival} from {shown(point.size)}, {point.ratio:.2f} there")
    changes = (f"{point.removed} from {shown(point.size)}" for point in where(points, "removed"))
    print(f"    r = {points[0].removed}, {', '.join(changes)}")


def main() -> None:
    figure, axes = plt.subplots(figsize=(8, 4), constrained_layout=True)
    for ranks, colour in CURVES.items():
        points = [Point(ranks, size) for size in SIZES]
        tell(ranks, points)
        ratios = [point.ratio for point in points]
        axes.plot(SIZES, ratios, color=colour, linewidth=1.6, label=f"P = {ranks}")
        switches = where(points, "rival")
        axes.plot(
            [point.size for point in switches],
            [point.ratio for point in switches],
            "o",
            color=colour,
            markersize=4,
        )
    axes.axhline(1, color=INK, linewidth=0.6)
    axes.set_xscale("log")
    axes.set_xlim(SIZES[0], SIZES[-1])
    axes.set_ylim(0.95, 2.05)
    axes.set_xlabel("bytes of the vector", color=INK)
    axes.set_ylabel("time of the best other / time of the proposed", color=INK)
    axes.legend(frameon=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(Path(__file__).with_name("kolmakov-zhang.png"), dpi=150)


if __name__ == "__main__":
    main()
