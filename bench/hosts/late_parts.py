# SPDX-License-Identifier: BSD-3-Clause
"""What the sweep over late ranks asks: the paper's tables, and two questions beside them."""

from __future__ import annotations

import argparse
import itertools
from typing import NamedTuple

from sizes import parse_sizes


class Point(NamedTuple):
    """What one job of `stretto bench arrival` measures, delay by delay."""

    part: str
    mode: str
    edge: str
    size: int


class Part(NamedTuple):
    """Points with the same algorithms."""

    algorithms: str
    reference: str
    points: list[Point]
    delays: list[int]
    """Milliseconds."""
    iters: int | None
    """Calls of each algorithm."""


# Of which one serves if all come at once.
TOGETHER = "auto,balanced,ring,segmented_ring,circulant,generalized,rabenseifner"
ITERS = 40  # where what is looked for is small
# Estimates that turn out wrong: by habit, of a rank that is late no more while another is, or where
# it is a random one each time; by what ranks tell, where one is late, and where all are.
WRONG = (
    ("moving-late", "none"), ("any-late", "none"), ("one-late", "wrong"), ("rand-late", "wrong")
)  # fmt: skip
# Of both questions.
SIZE = "4M"


def parts(options: argparse.Namespace) -> dict[str, Part]:
    """By name, those that are asked for."""
    size = parse_sizes(SIZE)[0]
    modes = itertools.product(options.modes.split(","), options.sizes)
    delays = [delay for delay in options.delays if delay > 0]
    made = {
        "tables": Part(
            options.algorithms, "ring",
            [Point("tables", mode, "right", size) for mode, size in modes],
            options.delays, options.iters,
        ),
        "together": Part(
            TOGETHER, "auto", [Point("together", "one-late", "right", size)],
            [0, 1], options.iters or ITERS,
        ),
        "wrong": Part(
            "balanced,auto", "balanced",
            [Point("wrong", mode, edge, size) for mode, edge in WRONG],
            delays, options.iters or ITERS,
        ),
    }  # fmt: skip
    return {name: made[name] for name in options.parts.split(",")}
