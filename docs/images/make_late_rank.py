# SPDX-License-Identifier: BSD-3-Clause
"""Draws late-rank.png: which messages of two allreduce algorithms have to wait for a late rank.

    python docs/images/make_late_rank.py

The messages are those of the algorithms, played symbolically: with every block goes the set of
ranks whose contributions it holds and the number of messages that it took, one after another, to
get there.  A message waits for the late rank if that is one of its two ends or has contributed to
what it carries.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

RANKS, LATE = 6, 4
FREE, WAITS, INK = "#1b9e9e", "#e0762f", "#333333"


@dataclass(frozen=True)
class Message:
    source: int
    destination: int
    block: int
    reduces: bool


@dataclass(frozen=True)
class Held:
    """What a rank holds of a block: whose contributions, after how many messages in a row."""

    ranks: frozenset[int]
    steps: int


def ring(ranks: int) -> list[Message]:
    """Each block goes around once to be reduced, and once more to be handed out."""
    reducing = [
        Message(rank, (rank + 1) % ranks, (rank - step) % ranks, True)
        for step in range(ranks - 1)
        for rank in range(ranks)
    ]
    gathering = [
        Message(rank, (rank + 1) % ranks, (rank + 1 - step) % ranks, False)
        for step in range(ranks - 1)
        for rank in range(ranks)
    ]
    return reducing + gathering


def direct(ranks: int) -> list[Message]:
    """The owner of a block gets it from all others, reduces, and hands it to all others."""
    pairs = [(rank, (rank + k) % ranks) for k in range(1, ranks) for rank in range(ranks)]
    return [Message(source, owner, owner, True) for source, owner in pairs] + [
        Message(owner, reader, owner, False) for owner, reader in pairs
    ]


def play(messages: list[Message], ranks: int) -> list[tuple[Message, int, bool]]:
    """Each message with its step (1, 2, ...) and whether it waits for the late rank.

    Fails unless every rank ends with every block reduced over all ranks, each exactly once.
    """
    held = [[Held(frozenset([rank]), 0)] * ranks for rank in range(ranks)]
    played = []
    for message in messages:
        sent = held[message.source][message.block]
        step = sent.steps + 1
        waits = LATE in sent.ranks | {message.source, message.destination}
        played.append((message, step, waits))
        here = held[message.destination][message.block]
        if message.reduces:
            assert not sent.ranks & here.ranks, "a contribution would count twice"
            result = Held(sent.ranks | here.ranks, max(step, here.steps))
        else:
            result = Held(sent.ranks, step)
        held[message.destination][message.block] = result
    assert all(len(block.ranks) == ranks for blocks in held for block in blocks)
    return played


def draw(axes, name: str, played: list[tuple[Message, int, bool]]) -> None:
    steps = max(step for _, step, _ in played)
    free = sum(not waits for *_, waits in played)
    for rank in range(RANKS):
        axes.axhline(rank, color=WAITS if rank == LATE else "#cccccc", linewidth=1, zorder=1)
    for waits, colour in ((True, WAITS), (False, FREE)):
        for message, step, _ in (each for each in played if each[2] == waits):
            axes.annotate(
                "",
                xy=(step - 0.08, message.destination),
                xytext=(step - 0.92, message.source),
                arrowprops={
                    "arrowstyle": "-|>",
                    "color": colour,
                    "linewidth": 1.1,
                    "mutation_scale": 7,
                    "shrinkA": 0,
                    "shrinkB": 0,
                },
                zorder=3,
            )
    axes.set_title(
        f"{name}: {steps} dependent steps\n{free} of {len(played)} messages need not wait",
        fontsize=10,
        color=INK,
        loc="left",
    )
    axes.set_xlim(0, steps)
    axes.set_ylim(RANKS - 0.6, -0.4)
    axes.set_xticks([step + 0.5 for step in range(steps)], range(1, steps + 1), fontsize=8)
    axes.set_xlabel("step", fontsize=9, color=INK)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.tick_params(length=0, colors=INK)


def main() -> None:
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10, 3.6), width_ratios=[10, 4.4], sharey=True, constrained_layout=True
    )
    draw(left, "ring", play(ring(RANKS), RANKS))
    draw(right, "direct", play(direct(RANKS), RANKS))
    labels = [f"rank {rank}" + (" (late)" if rank == LATE else "") for rank in range(RANKS)]
    left.set_yticks(range(RANKS), labels, fontsize=9)
    figure.legend(
        handles=[
            plt.Line2D([], [], color=FREE, label="needs nothing of the late rank"),
            plt.Line2D([], [], color=WAITS, label=f"waits for rank {LATE}"),
        ],
        loc="outside lower center",
        ncols=2,
        frameon=False,
        fontsize=9,
    )
    figure.savefig(Path(__file__).with_name("late-rank.png"), dpi=150)


if __name__ == "__main__":
    main()
