# SPDX-License-Identifier: BSD-3-Clause
"""Time diagrams of schedules with more messages than can be seen: how busy ports are.

Ranks down, time across, as in drawing.py.  A point is as dark as the in-ports of its ranks receive
in its part of the time, in one colour what is reduced then and in the other all else.
"""

from __future__ import annotations

from typing import Any

from stretto.cli.drawing import INK, PAPER, Panel, Time, channels, legend, sheet

TO_REDUCE, AS_IT_IS, LATE = "#d55e00", "#0072b2", "#dddddd"
ROWS, COLUMNS = 360, 900  # of points that can be seen
PRINTED = 100  # columns
HEIGHT = 3.0  # inches of a panel


def grid(ranks: int, printed: bool) -> tuple[int, int]:
    """Rows and columns: several ranks share a row if there are more of them."""
    return min(ranks, ROWS), PRINTED if printed else COLUMNS


def draw(panels: list[Panel], note: str, path: str) -> None:
    """Draws the panels, whose timelines have an occupancy, as `drawing.sheet` does."""
    sheet(
        panels, [HEIGHT] * len(panels), path, paint,
        lambda figure, whole: legend(figure, whole, entries(), note),
    )  # fmt: skip


def paint(axes: Any, panel: Panel, time: Time) -> None:
    import numpy as np

    def ink(colour: str) -> Any:
        return np.array(list(channels(colour))) / 255

    to_reduce, as_it_is = (np.asarray(each) for each in panel.timeline["occupancy"][:2])
    rows, columns = to_reduce.shape
    picture = ink(PAPER) + sum(
        shares[:, :, None] * (ink(colour) - ink(PAPER))
        for shares, colour in ((to_reduce, TO_REDUCE), (as_it_is, AS_IT_IS))
    )
    # Grey while a rank has not come and nothing arrives for the others.
    end = panel.timeline["makespan"]
    away = np.maximum.reduceat(panel.arrivals, first_ranks(panel.ranks, rows))
    late = (np.arange(columns) + 1) * end / columns <= away[:, None]
    picture[late & (to_reduce + as_it_is < 0.01)] = ink(LATE)
    axes.imshow(
        picture.clip(0, 1), extent=(0, max(end, 1e-12) / time.unit, panel.ranks, 0), aspect="auto"
    )  # fmt: skip
    finish = np.array(panel.timeline["finish"]) / time.unit
    axes.stairs(
        finish, np.arange(panel.ranks + 1), orientation="horizontal", baseline=None, color=INK,
        linewidth=1.0,
    )  # fmt: skip
    axes.set_ylabel("rank")


def first_ranks(ranks: int, rows: int) -> list[int]:
    """Of each row."""
    return [-(-row * ranks // rows) for row in range(rows)]


def busy(ranks: int, timeline: dict[str, Any]) -> tuple[float, float]:
    """The shares of all time in which in-ports receive and processors reduce."""
    import numpy as np

    to_reduce, as_it_is, reducing = (np.asarray(each) for each in timeline["occupancy"])
    sharing = np.diff([*first_ranks(ranks, len(reducing)), ranks]) / ranks
    return float(sharing @ (to_reduce + as_it_is).mean(1)), float(sharing @ reducing.mean(1))


def entries() -> list[tuple[Any, str]]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    return [
        (Patch(facecolor=TO_REDUCE), "receiving what is reduced"),
        (Patch(facecolor=AS_IT_IS), "receiving as it is"),
        (Patch(facecolor=LATE), "late"),
        (Line2D([], [], color=INK, linewidth=1.0), "done"),
    ]
