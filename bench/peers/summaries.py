# SPDX-License-Identifier: BSD-3-Clause
"""From blocks to rows: medians per number of ranks, size and state, and ratios within a pair."""

from __future__ import annotations

import statistics
from collections import defaultdict

import states
from measure import Block


def summarize(blocks: list[Block], limits: list[float]) -> dict:
    """The rows and the geometric means of a run, as written to the JSON file.

    A ratio always compares a peer with Stretto in the same processes, on the same buffers, in the
    same state; above 1 Stretto is faster.  `fastest` is the peer with the smallest ratio.
    """
    groups: dict[tuple, list[Block]] = defaultdict(list)
    thrown_away = 0
    for block in blocks:
        name = states.state(block.probe_ns, limits)
        if name is None:
            thrown_away += 1
        else:
            groups[block.ranks, block.bytes, name].append(block)
    order = states.NAMES[len(limits) + 1]
    keys = sorted(groups, key=lambda k: (k[0], order.index(k[2]), k[1]))
    rows = [_row(*key, groups[key]) for key in keys]
    return {
        "rows": rows,
        "geometric_means": _means(rows),
        "state_limits_ns": [round(limit, 2) for limit in limits],
        "blocks": len(blocks),
        "blocks_thrown_away": thrown_away,
        "wrong": {
            f"{block.peer}/{block.ranks}/{block.bytes}/{who}": count
            for block in blocks
            for who, count in block.wrong.items()
            if count > 0
        },
    }


def _p50_us(blocks: list[Block], who: str) -> float:
    return statistics.median(ns for block in blocks for ns in block.ns[who]) / 1e3


def _row(ranks: int, size: int, state: str, blocks: list[Block]) -> dict:
    stretto, shared, memcpy = (_p50_us(blocks, who) for who in ("stretto", "shared", "memcpy"))
    peers = {}
    for name in sorted({block.peer for block in blocks}):
        pair = [block for block in blocks if block.peer == name]
        peer_us, stretto_us = _p50_us(pair, "peer"), _p50_us(pair, "stretto")
        peers[name] = {
            "p50_us": round(peer_us, 3),
            "stretto_p50_us": round(stretto_us, 3),
            "ratio": round(peer_us / stretto_us, 3),
            "blocks": len(pair),
            "calls": sum(len(block.ns["peer"]) for block in pair),
        }
    fastest = min(peers, key=lambda name: peers[name]["ratio"])
    return {
        "ranks": ranks,
        "bytes": size,
        "state": state,
        "probe_ns": round(statistics.median(p for b in blocks for p in b.probe_ns), 2),
        "stretto_p50_us": round(stretto, 3),
        "shared_p50_us": round(shared, 3),
        "memcpy_p50_us": round(memcpy, 3),
        "stretto_to_memcpy": round(stretto / memcpy, 3),
        "shared_to_memcpy": round(shared / memcpy, 3),
        "peers": peers,
        "fastest": fastest,
        "ratio": peers[fastest]["ratio"],
    }


def _means(rows: list[dict]) -> list[dict]:
    """Per number of ranks and state, the geometric mean over the sizes of each ratio; `fastest`
    and `slower_at` are of the sizes at which every peer was measured in this state."""
    every = {name for row in rows for name in row["peers"]}
    groups: dict[tuple, list[dict]] = defaultdict(list)
    for row in rows:
        groups[row["ranks"], row["state"]].append(row)
    means = []
    for (ranks, state), members in groups.items():
        complete = [row for row in members if row["peers"].keys() == every]
        ratios = {
            name: [row["peers"][name]["ratio"] for row in members if name in row["peers"]]
            for name in sorted(every)
        }
        means.append(
            {
                "ranks": ranks,
                "state": state,
                "sizes": len(complete),
                "fastest": _geometric([row["ratio"] for row in complete]),
                "slower_at": [row["bytes"] for row in complete if row["ratio"] < 1],
                "peers": {name: _geometric(each) for name, each in ratios.items() if each},
            }
        )
    return means


def _geometric(ratios: list[float]) -> float | None:
    return round(statistics.geometric_mean(ratios), 3) if ratios else None
