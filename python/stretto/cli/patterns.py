# SPDX-License-Identifier: BSD-3-Clause
"""`--pattern`: the times at which ranks arrive at a simulated call.

The first two are those of `stretto bench --skew` (skew.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stretto.cli.units import Unit, parse_seconds

LATE = 1  # the rank that is late in one-late, if there are several
KINDS = ("one-late", "rand-late", "ramp")


@dataclass(frozen=True)
class Pattern:
    """one-late: rank 1 by this time; rand-late: all, each by up to it; ramp: one after the other,
    the last by it."""

    kind: str
    seconds: float
    seed: int = 1

    def arrivals(self, ranks: int) -> list[float]:
        """Seconds at which each rank arrives."""
        if self.kind == "rand-late":
            return np.random.default_rng(self.seed).uniform(0, self.seconds, ranks).tolist()
        if self.kind == "ramp":
            return np.linspace(0, self.seconds, ranks).tolist()
        times = [0.0] * ranks
        times[min(LATE, ranks - 1)] = self.seconds
        return times


def parse_pattern(text: str) -> Pattern:
    """ "one-late:50ms", "rand-late:50ms", "rand-late:50ms:7", "ramp:50ms"."""
    kind, *rest = text.split(":")
    seeded = kind == "rand-late" and len(rest) == 2
    if kind not in KINDS or not (seeded or len(rest) == 1) or (seeded and not rest[1].isdecimal()):
        raise ValueError(
            f"'{text}' is no pattern; one-late:50ms, rand-late:50ms, rand-late:50ms:7 (a seed) and "
            "ramp:50ms are"
        )
    return Pattern(kind, parse_seconds(rest[0]), int(rest[1]) if seeded else 1)


PATTERN = Unit("pattern", parse_pattern)
