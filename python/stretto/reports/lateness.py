# SPDX-License-Identifier: BSD-3-Clause
"""How late each rank is, by the times at which ranks came to the same calls and left them.

Times are nanoseconds of one clock: a row for each call, a column for each rank.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]
Needs = NDArray[np.bool_]
# Collectives in which others wait for the root alone, or the root alone waits for the others.
FROM_ROOT, TO_ROOT = ("broadcast", "scatter"), ("reduce", "gather")
QUARTERS = 4
LEAST_FOR_TREND = 8  # calls: two in a quarter


@dataclass(frozen=True)
class Lateness:
    """Of one rank.  Seconds, of waiting, working and holding up for one call on the average."""

    last: int
    """Calls at which no rank came later."""
    late_p50: float
    """After the first rank to come, as these percentiles."""
    late_p90: float
    late_p99: float
    trend: float | None
    """Median of the last quarter of the calls less that of the first; None: too few calls."""
    waiting: float
    """From the arrival of a rank until the last rank that it waits for has come, or until it
    leaves."""
    working: float
    """The rest of the call."""
    held_up: float
    """How much sooner the last would have come if this rank, where any wait for it, had never been
    the last."""


def late_by(came: Times) -> Times:
    """After the first rank to come."""
    return came - came.min(axis=1, keepdims=True)


def needs(collective: str, ranks: int, root: int | None) -> Needs:
    """Which rank (row) waits for which (column); a root that is not known is None."""
    if collective not in FROM_ROOT + TO_ROOT:
        return np.ones((ranks, ranks), np.bool_)
    made = np.zeros((ranks, ranks), np.bool_)
    if root is not None:
        made[(slice(None), root) if collective in FROM_ROOT else (root, slice(None))] = True
    return made


def of_ranks(came: Times, left: Times, waits_for: Needs) -> list[Lateness]:
    """By rank; there must be a call."""
    late = late_by(came)
    last = came.argmax(axis=1)
    # A rank that waits for no other waits for itself, which has come.
    latest = np.stack(
        [came[:, row | (np.arange(len(row)) == rank)].max(axis=1)
         for rank, row in enumerate(waits_for)], axis=1,
    )  # fmt: skip
    waiting = np.maximum(0, np.minimum(left, latest) - came)
    working = left - came - waiting
    awaited = (waits_for & ~np.eye(len(waits_for), dtype=np.bool_)).any(axis=0)
    held_up = np.where(awaited[last], ahead_of_others(came), 0)
    found = []
    for rank in range(came.shape[1]):
        middle, most, nearly_all = np.percentile(late[:, rank], (50, 90, 99))
        found.append(
            Lateness(
                int((last == rank).sum()),
                middle * 1e-9,
                most * 1e-9,
                nearly_all * 1e-9,
                trend(late[:, rank]),
                waiting[:, rank].mean() * 1e-9,
                working[:, rank].mean() * 1e-9,
                held_up[last == rank].sum() * 1e-9 / len(came),
            )
        )
    return found


def ahead_of_others(came: Times) -> Times:
    """How much later the last rank came than the one before it, by call."""
    if came.shape[1] < 2:
        return np.zeros(len(came), np.int64)
    two = np.partition(came, -2, axis=1)[:, -2:]
    return two[:, 1] - two[:, 0]


def trend(late: Times) -> float | None:
    if len(late) < LEAST_FOR_TREND:
        return None
    quarter = len(late) // QUARTERS
    return float(np.median(late[-quarter:]) - np.median(late[:quarter])) * 1e-9
