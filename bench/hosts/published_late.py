# SPDX-License-Identifier: BSD-3-Clause
"""Tables 3 to 5 of Proficz (2018), as printed, links of 1 Gbit/s: 3 and 4 of 48 processes, in
milliseconds, 5 of 16."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

DELAYS = (0, 1, 5, 10, 50, 100, 500, 1000)


class Value(NamedTuple):
    """Of an algorithm at one mode, size and delay."""

    ms: float | None
    """Mean elapsed time; table 4 does not have it."""
    more: float
    """Than the ring."""
    speedup: float


class Training(NamedTuple):
    """A line of table 5."""

    elapsed_ms: float
    speedup: float
    total_s: float
    total_speedup: float


Source = Callable[[str, int, int], Value | None]  # of mode, bytes and milliseconds of delay

# Table 3: 1024 Ki floats, one process late.
ELAPSED = {
    "ring": (67.8, 67.6, 70.1, 75.6, 115.9, 165.5, 558.6, 1047.0),
    "rabenseifner": (76.3, 75.9, 82.9, 85.7, 125.0, 181.6, 572.0, 1061.8),
    "chain": (90.3, 90.3, 89.7, 89.7, 101.0, 149.8, 542.1, 1031.9),
    "pre_reduced_ring": (70.9, 70.8, 71.1, 73.0, 101.0, 149.7, 541.7, 1031.5),
}
SPEEDUP = {
    "ring": (1.00,) * 8,
    "rabenseifner": (0.89, 0.89, 0.85, 0.88, 0.93, 0.91, 0.98, 0.99),
    "chain": (0.75, 0.75, 0.78, 0.84, 1.15, 1.10, 1.03, 1.01),
    "pre_reduced_ring": (0.96, 0.95, 0.99, 1.04, 1.15, 1.11, 1.03, 1.01),
}
# Table 4, by mode and Ki floats: what the pre-reduced ring takes more than the ring, and its
# speed-up.
AGAINST_RING = {
    "one-late": {
        128: ((1.0, 1.5, -5.0, -4.1, -4.3, -3.2, -0.9, -0.8),
              (0.85, 0.78, 1.53, 1.26, 1.08, 1.03, 1.00, 1.00)),
        512: ((-1.0, -0.3, -10.3, -12.6, -16.4, -11.6, -1.5, -1.7),
              (1.04, 1.01, 1.37, 1.41, 1.26, 1.10, 1.00, 1.00)),
        1024: ((2.9, 3.7, 1.2, -3.2, -14.1, -15.2, -15.8, -16.0),
               (0.96, 0.95, 0.98, 1.04, 1.14, 1.10, 1.03, 1.02)),
        2048: ((7.8, 6.4, 3.4, -1.7, -8.5, -23.9, -27.1, -27.7),
               (0.93, 0.94, 0.97, 1.02, 1.06, 1.13, 1.05, 1.03)),
        4096: ((7.6, 6.0, 5.2, 2.8, -20.9, -29.6, -38.1, -46.8),
               (0.96, 0.97, 0.97, 0.99, 1.10, 1.12, 1.06, 1.04)),
        8192: ((5.8, 17.0, 13.7, 11.7, -29.0, -52.1, -75.7, -82.1),
               (0.98, 0.95, 0.96, 0.97, 1.08, 1.14, 1.10, 1.07)),
    },
    "rand-late": {
        128: ((1.2, 1.0, -1.1, -1.1, -2.7, -1.0, -0.9, -1.3),
              (0.82, 0.85, 1.11, 1.09, 1.09, 1.02, 1.00, 1.00)),
        512: ((2.3, -0.3, -9.5, -9.3, -16.3, -11.5, -2.3, -2.9),
              (0.91, 1.01, 1.37, 1.35, 1.38, 1.18, 1.01, 1.01)),
        1024: ((2.9, 3.8, 1.7, 0.7, -13.0, -13.2, -14.1, -14.5),
               (0.96, 0.95, 0.98, 0.99, 1.17, 1.13, 1.05, 1.03)),
        2048: ((7.1, 8.3, 4.8, 3.0, -8.8, -21.2, -23.9, -24.5),
               (0.94, 0.92, 0.96, 0.97, 1.08, 1.16, 1.07, 1.04)),
        4096: ((6.1, 0.1, 3.2, 5.6, -21.8, -19.0, -42.6, -39.8),
               (0.97, 1.00, 0.98, 0.97, 1.11, 1.09, 1.11, 1.06)),
        8192: ((13.8, 16.3, 6.8, 7.1, 0.4, -34.4, -75.9, -75.1),
               (0.96, 0.95, 0.98, 0.98, 1.00, 1.10, 1.15, 1.10)),
    },
}  # fmt: skip


def table_3(name: str) -> Source:
    def find(mode: str, size: int, ms: int) -> Value | None:
        if (mode, size) != ("one-late", 4096 << 10) or ms not in DELAYS or name not in ELAPSED:
            return None
        place = DELAYS.index(ms)
        took = ELAPSED[name][place]
        return Value(took, took - ELAPSED["ring"][place], SPEEDUP[name][place])

    return find


def table_4(mode: str, size: int, ms: int) -> Value | None:
    found = AGAINST_RING[mode].get(size >> 12)
    if found is None or size % 4096 or ms not in DELAYS:
        return None
    more, speedup = (each[DELAYS.index(ms)] for each in found)
    return Value(None, more, speedup)


# Table 5: 390 iterations with a model of 145,578 floats, 128 executions.
ITERATIONS = 390
TABLE_5 = {
    "ring": Training(35.7, 1.000, 81.900, 1.000),
    "chain": Training(33.1, 1.079, 78.768, 1.040),
    "pre_reduced_ring": Training(31.9, 1.121, 78.604, 1.042),
}
# Seconds of a step, on the average: what of an iteration is not in the ring's allreduce.
STEP = TABLE_5["ring"].total_s / ITERATIONS - TABLE_5["ring"].elapsed_ms * 1e-3
