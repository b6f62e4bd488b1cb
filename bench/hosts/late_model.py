# SPDX-License-Identifier: BSD-3-Clause
"""What `stretto simulate` says of Proficz' 48 processes: a message of m bytes takes alpha + beta m
seconds, one in and one out at a time; the numbers are fitted to the ring of the paper's table 3."""

from __future__ import annotations

import functools
import math
import statistics

from published_late import Source, Value
from stretto import _core
from stretto.cli.network import Model
from stretto.cli.patterns import Pattern
from stretto.cli.sharing import Sharing

RANKS = 48
ALPHA, BETA, GAMMA = 3.2e-4, 4.49e-9, 2e-10
ELEMENT = 4
DRAWS = 8  # of random arrivals, of which the mean counts
SORTED = ("chain", "pre_reduced_ring", "late_rooted")  # for ranks in the order of arrival


def elapsed(name: str) -> Source:
    def find(mode: str, size: int, ms: int) -> Value | None:
        took, ring = (_mean_elapsed(each, mode, size, ms) for each in (name, "ring"))
        if took is None or ring is None:
            return None
        return Value(took * 1e3, (took - ring) * 1e3, ring / took)

    return find


@functools.cache
def _mean_elapsed(name: str, mode: str, size: int, ms: int) -> float | None:
    """Seconds; None of what has no schedule of its own, or none for so many ranks."""
    if name == "auto" or not _core.declared("allreduce", name, RANKS)[0]:
        return None
    seeds = range(1, 1 + (DRAWS if mode == "rand-late" else 1))
    patterns = (Pattern(mode, ms * 1e-3, seed) for seed in seeds)
    return statistics.fmean(_simulated(name, size, each) for each in patterns)


def _simulated(name: str, size: int, pattern: Pattern) -> float:
    # The rounds of late_rooted wait for what was sent; the others are as the paper has them.
    mode = "ordered" if name == "late_rooted" else "posted"
    model = Model(
        size, ELEMENT, ALPHA, BETA, GAMMA, mode, (), pattern, name in SORTED, Sharing()
    )  # fmt: skip
    what = model.schedule(with_parameters(name, size), "allreduce", RANKS, 0)
    return model.play(what.schedule)["mean_elapsed"]


def with_parameters(name: str, size: int) -> str:
    """As the paper has them; of late_rooted the number of blocks that is best in this model."""
    if name == "chain":
        return f"chain(segments={RANKS})"
    if name == "late_rooted":
        depth = math.ceil(math.log2(RANKS - 1))
        return f"late_rooted(blocks={round(math.sqrt((depth + 1) * BETA * size / ALPHA))})"
    return name
