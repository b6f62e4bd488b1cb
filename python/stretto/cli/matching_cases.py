# SPDX-License-Identifier: BSD-3-Clause
"""Schemes of tag matching, and a sequence of receives and messages timed with each."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

from stretto import _core

LIST = "list"  # what the others are compared with
UCX_CHAINS = 1021  # of its hash table
# Arguments of _core.MatchingBench for a job of so many ranks.
SCHEMES: dict[str, Callable[[int], dict[str, Any]]] = {
    LIST: lambda ranks: {"scheme": "list"},
    "bins-quarter": lambda ranks: {"scheme": "bins", "chains": max(ranks // 4, 1)},
    "bins-half": lambda ranks: {"scheme": "bins", "chains": max(ranks // 2, 1)},
    "by-source": lambda ranks: {"scheme": "by_source"},
    "hash": lambda ranks: {"scheme": "hash", "chains": UCX_CHAINS},
    "adaptive": lambda ranks: {},
}


def measure(
    bench: _core.MatchingBench, options: dict[str, dict[str, Any]], repeat: int
) -> list[dict[str, Any]]:
    """A row for each scheme, of which the list is one.  A scheme that is wrong is not timed."""
    checked = {name: bench.check(**given) for name, given in options.items()}
    right = [name for name in options if not checked[name]["wrong"]]
    times: dict[str, list[list[float]]] = {name: [] for name in options}
    tails: dict[str, list[float]] = {name: [] for name in options}
    wrong = {name: checked[name]["wrong"] for name in options}
    for turn in range(repeat):
        # Another scheme begins each time: what the machine does meanwhile hits no scheme alone.
        first = turn % max(len(right), 1)
        for name in right[first:] + right[:first]:
            parts, wrong_ones = bench.time(**options[name])
            _, p99, others = bench.time_each(**options[name])
            times[name].append(parts)
            tails[name].append(p99)
            wrong[name] += wrong_ones + others
    ns = {name: steady(times[name]) for name in right}
    return [
        {
            "scheme": name,
            "operations": bench.operations,
            "matches": bench.matches,
            "most_posted": bench.most_posted,
            "most_unexpected": bench.most_unexpected,
            "ns": ns[name] / bench.matches if name in ns else None,
            "p99_ns": median(tails[name]) if name in ns else None,
            "relative_time": ns[name] / ns[LIST] if {name, LIST} <= ns.keys() else None,
            "looks": found["looks"] / bench.matches,
            "bytes": found["bytes"],
            "relative_bytes": found["bytes"] / checked[LIST]["bytes"],
            "conversions": found["conversions"],
            "posted_scheme": found["posted_scheme"],
            "unexpected_scheme": found["unexpected_scheme"],
            "wrong": wrong[name],
            "ns_of_repetitions": [sum(parts) / bench.matches for parts in times[name]],
        }
        for name, found in checked.items()
    ]


def steady(repetitions: list[list[float]]) -> float:
    """Nanoseconds of a sequence: of each part the median over repetitions, in which the part is the
    same.  What else runs on the machine hits some parts of each repetition, and rarely the same."""
    return sum(median(part) for part in zip(*repetitions, strict=True))
