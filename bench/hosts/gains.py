# SPDX-License-Identifier: BSD-3-Clause
"""What a choice by price is worth: from the record of a size to its row, and from rows to gains.

A row holds what each contestant took, in seconds of slow motion, beside what the model said:

    {"bytes": 428, "wrong": 0, "paper": 1.39, "contestants": [
        {"who": "auto", "algorithm": "generalized(r=7)", "priced": 0.11, "median": 0.12, ...}, ...]}
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass

AUTO, OPENMPI = "auto", "openmpi"
# The best others, by the paper; what else it names, or calls by other names, is drawn as well.
RIVALS = ("recursive_doubling", "rabenseifner", "ring")
ALSO = ("hybrid", "bruck")


def family(ranks: int) -> tuple[str, str]:
    """The ends of the generalized allreduce: most steps, fewest steps."""
    return "generalized", f"generalized(r={(ranks - 1).bit_length()})"


def wanted(prices: dict[str, float], ranks: int, near: float, within: float) -> list[str]:
    """Those whose price is at most `near` times the least; and what the paper draws, if it is at
    most `within` times the least."""
    least = min(prices.values())
    drawn = {*RIVALS, *ALSO, *family(ranks)}
    return [
        name
        for name in sorted(prices, key=prices.__getitem__)
        if prices[name] <= (within if name in drawn else near) * least
    ]


def spoken(who: str) -> str:
    """A contestant of hosts_bench as it is called here."""
    name, _, algorithm = who.partition("=")
    return algorithm or {"stretto": AUTO, "peer": OPENMPI}[name]


def row(record: dict, prices: dict[str, float], paper: float) -> dict:
    """Of a size, from what hosts_bench printed."""
    contestants = []
    for who, found in record.items():
        if not isinstance(found, dict):
            continue
        seconds = [ns / 1e9 for ns in found["ns"]]
        algorithm = found.get("chosen", "")
        contestants.append(
            {
                "who": spoken(who),
                "algorithm": algorithm,
                "priced": prices.get(algorithm),
                "median": statistics.median(seconds),
                "min": min(seconds),
                "seconds": seconds,
                "cpu": statistics.median(found["cpu_ns"]) / 1e9,
                "wrong": found["wrong"],
            }
        )
    wrong = sum(each["wrong"] for each in contestants)
    return {"bytes": record["bytes"], "wrong": wrong, "paper": paper, "contestants": contestants}


def contestant(row: dict, who: str) -> dict | None:
    return next((each for each in row["contestants"] if each["who"] == who), None)


def fixed(row: dict) -> list[dict]:
    """Those that are no choice: Stretto's algorithms by name."""
    return [each for each in row["contestants"] if each["who"] not in (AUTO, OPENMPI)]


def fastest(some: list[dict]) -> dict | None:
    return min(some, key=lambda each: each["median"], default=None)


@dataclass(frozen=True)
class Gain:
    """Of a size; what was not measured is None."""

    bytes: int
    chosen: str
    seconds: float
    best: str | None  # the fastest of all algorithms by name
    to_best: float | None  # the choice's time over that of the best
    rival: str | None  # the fastest of RIVALS
    gain: float | None  # that one's time over the choice's
    predicted: float | None  # the same of prices, each side's own least among what was measured
    reached: float | None  # gain over predicted
    paper: float  # the same by the paper's equations and its table 2
    peer: float | None  # Open MPI's time over the choice's


def gain(row: dict) -> Gain:
    auto = contestant(row, AUTO)
    best = fastest(fixed(row))
    rivals = [each for each in fixed(row) if each["who"] in RIVALS]
    rival, peer = fastest(rivals), contestant(row, OPENMPI)
    priced = [each["priced"] for each in rivals if each["priced"]]
    times = rival["median"] / auto["median"] if rival else None
    predicted = min(priced) / auto["priced"] if priced and auto["priced"] else None
    return Gain(
        bytes=row["bytes"],
        chosen=auto["algorithm"],
        seconds=auto["median"],
        best=best and best["who"],
        to_best=best and auto["median"] / best["median"],
        rival=rival and rival["who"],
        gain=times,
        predicted=predicted,
        reached=times / predicted if times and predicted else None,
        paper=row["paper"],
        peer=peer and peer["median"] / auto["median"],
    )
