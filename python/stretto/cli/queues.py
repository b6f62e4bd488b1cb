# SPDX-License-Identifier: BSD-3-Clause
"""Long queues of messages, for `stretto report`: at which ranks, and what fills them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

LONG = 64  # receives or messages that wait at the same time
SHOWN = 3
MOST = 0.5  # of a queue: what fills it

KINDS = {
    "posted": "receives waited for messages",
    "unexpected": "messages waited for a receive",
}


def long_queues(ranks: list[dict[str, Any]]) -> list[tuple[dict[str, Any], str]]:
    """Ranks and kinds of queues, the longest first."""
    found = [(about, kind) for about in ranks for kind in KINDS if about[kind]["deepest"] >= LONG]
    return sorted(found, key=lambda each: -each[0][each[1]]["deepest"])


def sentences(ranks: list[dict[str, Any]]) -> Iterator[str]:
    found = long_queues(ranks)
    for about, kind in found[:SHOWN]:
        yield sentence(about["rank"], kind, about[kind])
    if (more := len(found) - SHOWN) > 0:
        yield f"more long queues: {more}; --json has all"


def sentence(rank: int, kind: str, queue: dict[str, Any]) -> str:
    text = f"rank {rank}: up to {queue['deepest']} {KINDS[kind]}"
    if queue["counted"]:
        text += f"; {filled(kind, queue)}"
    looks = queue["looks"] / max(1, queue["searches"])
    return f"{text}; a search looked at {looks:.1f} in the mean"


def filled(kind: str, queue: dict[str, Any]) -> str:
    """What most of the items that were counted have in common."""
    of = f"of {queue['counted']} that were counted"
    common = [
        f"{queue[share]:.0%} had {'any ' + what if queue[what] < 0 else f'{what} {queue[what]}'}"
        for what, share in (("source", "source_share"), ("tag", "tag_share"))
        if queue[share] >= MOST
    ]
    return f"{of}, " + (" and ".join(common) or "no source and no tag had half")


def described(about: dict[str, Any]) -> dict[str, Any]:
    """For JSON."""
    return {"rank": about["rank"], **{kind: about[kind] for kind in KINDS}}
