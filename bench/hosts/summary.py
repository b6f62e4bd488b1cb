# SPDX-License-Identifier: BSD-3-Clause
"""From what was measured to rows: one for each placement and size."""

from __future__ import annotations

import statistics
from collections import defaultdict

from jobs import PLAIN, SMALL, Measured
from placement import Placement


def bound_us(hosts: int, size: int, bits_per_second: float) -> float:
    """The least time of an allreduce: 2 (P-1)/P of the vector over each host's link.

    Several ranks of a host need not send more than one.
    """
    return 2 * (hosts - 1) / hosts * size * 8 / bits_per_second * 1e6


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def figures(found: list[Measured]) -> dict:
    us = [each for one in found for each in one.us]
    cpu = [each for one in found for each in one.cpu_us]
    ranks = found[0].placement.ranks
    cpu_us = statistics.median(cpu)
    return {
        "p50_us": round(statistics.median(us), 2),
        "p99_us": round(percentile(us, 0.99), 2),
        "min_us": round(min(us), 2),
        "max_us": round(max(us), 2),
        "first_us": round(found[0].us[0], 2),
        "calls": len(us),
        "cpu_us": round(cpu_us, 2),  # of a call, all ranks
        "cpu_ns_per_byte": round(cpu_us * 1e3 / ranks / found[0].bytes, 4),
    }


def rows(measured: list[Measured], rates: dict[str, list[float]]) -> list[dict]:
    """`rates`: by placement, what each link carries, in bits of payload per second.

    A contestant's figures hold those of Stretto in the same processes, in `stretto`; its `ratio` is
    Stretto's median over its own: below 1 Stretto is faster.
    """
    places: dict[tuple, list[Measured]] = defaultdict(list)
    for each in measured:
        places[each.placement, each.bytes].append(each)
    return [_row(*place, places[place], rates) for place in sorted(places)]


def _row(placement: Placement, size: int, found: list[Measured], rates: dict) -> dict:
    row = {"hosts": placement.hosts, "placement": str(placement), "bytes": size}
    ours = [each for each in found if each.who == "stretto"]
    # What Python adds to small calls is Gloo's as well, and is compared with it alone.
    row["stretto"] = figures([each for each in ours if each.peer != "gloo"] or ours)
    if size > SMALL:
        rate = statistics.median(rates[str(placement)])
        row["bound_us"] = round(bound_us(placement.hosts, size, rate), 2)
        row["to_bound"] = round(row["stretto"]["p50_us"] / row["bound_us"], 4)
    variants = [_beside(each, found) for each in found if each.who == "peer"]
    best: dict[str, dict] = {}
    for each in variants:
        name = each["peer"]
        if name not in best or each["p50_us"] < best[name]["p50_us"]:
            best[name] = each
    row["peers"] = best
    row["variants"] = variants
    if best:
        row["fastest"] = min(best, key=lambda name: best[name]["p50_us"])
        row["ratio"] = best[row["fastest"]]["ratio"]
    row["plain"] = {
        name: _beside(each, found) for name in PLAIN for each in found if each.who == name
    }
    if size <= SMALL and {"exchange", "tree"} <= row["plain"].keys():
        row["floor_us"] = min(row["plain"][name]["p50_us"] for name in ("exchange", "tree"))
    return row


def _beside(one: Measured, found: list[Measured]) -> dict:
    """A contestant's figures, with Stretto's of the same launch."""
    ours = [
        each
        for each in found
        if each.who == "stretto" and (each.peer, each.variant) == (one.peer, one.variant)
    ]
    theirs, stretto = figures([one]), figures(ours)
    return {
        "peer": one.peer,
        "variant": one.variant,
        **theirs,
        "stretto": stretto,
        "ratio": round(stretto["p50_us"] / theirs["p50_us"], 4),
        "cpu_ratio": round(stretto["cpu_us"] / theirs["cpu_us"], 4) if theirs["cpu_us"] else None,
    }


def wrong(measured: list[Measured]) -> dict[str, int]:
    return {
        f"{each.placement}/{each.bytes}/{each.peer}/{each.who}": each.wrong
        for each in measured
        if each.wrong
    }
