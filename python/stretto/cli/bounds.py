# SPDX-License-Identifier: BSD-3-Clause
"""Lower bounds for every allreduce, if ranks arrive at different times.

Bounds of a network in which nothing is sent to a rank that has not come are those of `stretto
simulate` (src/simulate/lower_bound.hpp).  In reality its host receives data for it, as far as TCP
and rings have room: `buffered`.  Then the results of early ranks may be there when the last rank
arrives, which has nothing to receive any more, and

- of L ranks that come at a time t or later, L - 1 must send something that another adds, and P - 1
  hear the result, all after t: (L + P - 2) vectors, between t and the finishes;
- after the last has come, all others must receive the whole vector with what it gave; word of that
  reaches as many in each step as in all before, so that the i-th has waited for floor(log2 i) + 1
  messages before it begins to have all.

Arithmetic is free.  A measured time may be below a bound by what its numbers are wrong, and by what
passes a link before it begins to shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stretto import _core


@dataclass(frozen=True)
class Link:
    """Seconds of a message, and of each of its bytes."""

    alpha: float
    beta: float

    def message(self, size: int) -> float:
        return self.alpha + self.beta * size


def link_of(profile: dict[str, Any]) -> Link:
    """Between hosts, as a network profile has it (docs/hosts.md)."""
    between = profile["links"]["between"]
    return Link(between["latency"] + between["overhead"], between["byte"])


def elapsed_bound(arrival: np.ndarray, size: int, link: Link) -> float:
    """Seconds of the mean over ranks from arrival to finish, at least; `arrival` by rank."""
    return _core.lower_bound(size, arrival.tolist(), link.alpha, link.beta)[0]


def buffered_bound(arrival: np.ndarray, size: int, link: Link) -> float:
    """The same if hosts receive data for a rank before it arrives."""
    ranks = len(arrival)
    if ranks == 1:
        return 0.0
    whole, own = link.beta * size, arrival.mean()
    after_last = ((ranks - 1) * whole + sum(_steps(ranks)) * link.alpha) / ranks
    bounds = [arrival.max() - own + after_last]
    for moment in np.unique(arrival):
        late = int((arrival >= moment).sum())
        bounds.append(moment - own + (late + ranks - 2) / ranks * whole)
    return float(max(bounds))


def last_bound(arrival: np.ndarray, size: int, link: Link) -> float:
    """Seconds from the last arrival to the last finish, at least; buffered or not."""
    ranks = len(arrival)
    if ranks == 1:
        return 0.0
    after_last = link.beta * size + link.alpha * max(_steps(ranks))
    # No rank finishes after the last one.
    of_mean = buffered_bound(arrival, size, link) + arrival.mean() - arrival.max()
    return float(max(after_last, of_mean))


def imbalance_factor(arrival: np.ndarray, size: int, link: Link) -> float:
    """How far apart ranks come, in messages of the vector between two of them (Faraj et al. 2008).
    Above 1 the arrivals count as imbalanced."""
    return float((arrival.max() - arrival.min()) / link.message(size))


def _steps(ranks: int) -> list[int]:
    """For each other rank: messages, one after the other, until data of the last rank reach it."""
    return [other.bit_length() for other in range(1, ranks)]
