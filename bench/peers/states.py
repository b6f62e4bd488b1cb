# SPDX-License-Identifier: BSD-3-Clause
"""The states of the machine, found in the probes.

A virtual machine's cores may share a cache at one moment and not at the next; the probe (the time
to overwrite a line that the other core has just read) then jumps by a factor of four, and so do
many results.  How many nanoseconds each state takes depends on the processor, so the states are
the clusters of the probes themselves.
"""

from __future__ import annotations

import math
import statistics

NAMES = {1: ("one",), 2: ("near", "far"), 3: ("nearest", "near", "far")}

FACTOR = 2.5  # two states are at least so far apart
SHARE = 0.05  # a state holds at least this share of the probes


def boundaries(probes: list[float]) -> list[float]:
    """The limits between the states, in ns, ascending; at most two; none if there is one state.

    [1.4, 1.5, 1.6, 1.7, 7.0, 7.1, 7.2, 7.3] -> [3.3]
    """
    found = _split(sorted(p for p in probes if p > 0), max(4, SHARE * len(probes)))
    while len(found) >= max(NAMES):
        found.pop(0)
    return found


def _split(probes: list[float], least: float) -> list[float]:
    """Splits sorted probes where the two sides scatter least (in logarithms), and these again."""
    logs = [math.log(p) for p in probes]
    total, total_squares = sum(logs), sum(x * x for x in logs)
    best, best_at, left, left_squares = math.inf, 0, 0.0, 0.0
    for i, x in enumerate(logs[:-1], start=1):
        left, left_squares = left + x, left_squares + x * x
        right, right_squares = total - left, total_squares - left_squares
        scatter = left_squares - left**2 / i + right_squares - right**2 / (len(logs) - i)
        if scatter < best:
            best, best_at = scatter, i
    low, high = probes[:best_at], probes[best_at:]
    if min(len(low), len(high)) < least:
        return []
    a, b = statistics.median(low), statistics.median(high)
    if b < FACTOR * a:
        return []
    return [*_split(low, least), math.sqrt(a * b), *_split(high, least)]


def state(probe: tuple[float, float], limits: list[float]) -> str | None:
    """The state of a block; None if it changed between the probes before and after it."""
    before, after = (sum(p > limit for limit in limits) for p in probe)
    return NAMES[len(limits) + 1][before] if before == after else None
