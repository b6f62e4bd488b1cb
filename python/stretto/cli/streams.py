# SPDX-License-Identifier: BSD-3-Clause
"""Pairs of ranks of which one sends windows of messages to the other: what `stretto bench pairs`
measures.

Source: the multiple bandwidth test of the OSU micro-benchmarks (osu_mbw_mr), by which Bayatpour et
al. (2017, DPML) show how much concurrency a node has.  A sender starts all messages of a window
before it waits for any; the receiver answers each window by one byte.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stretto.communicator import Communicator

CAPACITY = 16 << 20  # bytes of a rank's buffer, if that holds a message at all
LONG_ENOUGH = 1e-2  # seconds of a round of one pair, after which it has no more windows
MOST_WINDOWS = 1000  # of a round
SPREAD = 2654435761  # Knuth's multiplier: neighbouring words differ in all bits
INSIDE, BETWEEN = "inside", "between"


@dataclass(frozen=True)
class Place:
    """Pairs that are measured together."""

    where: str
    hosts: tuple[int, ...]
    """Numbers of hosts, in the order in which ranks have them."""
    pairs: tuple[tuple[int, int], ...]
    """Sender and receiver of each."""

    @property
    def title(self) -> str:
        if self.where == INSIDE:
            return f"inside host {self.hosts[0]}"
        return f"from host {self.hosts[0]} to host {self.hosts[1]}"

    def named(self, most: int = 8) -> str:
        """The ranks of each pair: "0→2, 1→3"."""
        shown = [f"{sender}→{receiver}" for sender, receiver in self.pairs[:most]]
        return ", ".join(shown) + (", ..." if len(self.pairs) > most else "")


def placement(comm: Communicator) -> list[int]:
    """The host of each rank."""
    call = json.loads(comm._core.tuning_candidates("allreduce", 1, "float32"))
    if call["hosts"] == 1:
        return [0] * comm.size
    return call.get("host_of") or list(range(comm.size))


def places(host_of: Sequence[int]) -> dict[str, Place]:
    """Where there are pairs.

    Inside: the first half of the ranks of the host that has the most send to the second half.
    Between: the ranks of that host send to those of the host that has the next most.
    """
    ranks: dict[int, list[int]] = {}
    for rank, host in enumerate(host_of):
        ranks.setdefault(host, []).append(rank)
    first, *others = sorted(ranks, key=lambda host: (-len(ranks[host]), host))
    found = {}
    half = len(ranks[first]) // 2
    if half:
        pairs = zip(ranks[first][:half], ranks[first][half:], strict=False)
        found[INSIDE] = Place(INSIDE, (first,), tuple(pairs))
    if others:
        pairs = zip(ranks[first], ranks[others[0]], strict=False)
        found[BETWEEN] = Place(BETWEEN, (first, others[0]), tuple(pairs))
    return found


def usual_counts(most: int) -> list[int]:
    """1, 2, 4, ... and all."""
    return sorted({*(1 << each for each in range(most.bit_length())), most})


def pattern(words: np.ndarray, sender: int, turn: int) -> np.ndarray:
    """What `sender` sends in this turn, of the numbers of the words times SPREAD."""
    seed = (sender * 40503 + turn * 2246822519 + 374761393) & 0xFFFFFFFF
    return words + np.uint32(seed)


class Streams:
    """The buffers of one place and one size of messages.  Collective."""

    def __init__(self, comm: Communicator, place: Place, size: int, window: int):
        self._comm, self._place, self._size = comm, place, size
        self.window = max(1, min(window, CAPACITY // size))
        self.windows = 1
        self.wrong = 0
        """Bytes that this rank has received and not expected."""
        self._turn = 0
        self._usual = 0.0  # seconds of a round of one pair
        self._words = self._buffer = np.zeros(0, np.uint32)

    def rehearse(self) -> None:
        """All pairs once, and how many windows of one pair take long enough to be timed."""
        self._resize(1)
        self.seconds(len(self._place.pairs))
        once = max(self.seconds(1), 1e-7)
        most = max(1, CAPACITY // (self._size * self.window))
        self._resize(min(math.ceil(LONG_ENOUGH / once), most, MOST_WINDOWS))
        self._usual = once * self.windows

    def _resize(self, windows: int) -> None:
        self.windows = windows
        words = -(-self._size * self.window * windows // 4)
        if any(self._comm.rank in pair for pair in self._place.pairs):
            self._words = np.arange(words, dtype=np.uint32) * np.uint32(SPREAD)
            self._buffer = np.zeros(words, np.uint32)

    @property
    def bytes(self) -> int:
        """Of a round of one pair."""
        return self._size * self.window * self.windows

    def seconds(self, pairs: int) -> float:
        """A round of so many pairs: what the slowest sender takes.  The same on all ranks."""
        self._turn += 1
        rank = self._comm.rank
        mine = next((pair for pair in self._place.pairs[:pairs] if rank in pair), None)
        data, peer, sends = None, -1, False
        if mine:
            sends = rank == mine[0]
            peer = mine[1] if sends else mine[0]
            self._buffer[:] = pattern(self._words, rank, self._turn) if sends else 0
            data = self._buffer.view(np.uint8)[: self.bytes]
        took = self._comm._core.stream(data, peer, sends, self._size, self.window, self.windows)
        if data is None:
            time.sleep(self._usual)  # a rank that waits in a collective takes processor time
        elif not sends:
            right = pattern(self._words, peer, self._turn).view(np.uint8)[: self.bytes]
            self.wrong += int(np.count_nonzero(data != right))
        return float(self._comm.allreduce(np.array([took if sends else 0.0]), op="max")[0])


def measure(
    comm: Communicator, place: Place, size: int, counts: Sequence[int], window: int, repeat: int
) -> list[dict[str, Any]]:
    """A row for each number of pairs, of which the first is 1.

    Numbers of pairs take turns, so what disturbs the machine disturbs all of them.  Collective; the
    same on all ranks.
    """
    streams = Streams(comm, place, size, window)
    streams.rehearse()
    rehearsed = streams.wrong
    rates = np.zeros((repeat, len(counts)))  # bytes per second of all pairs
    wrong = np.zeros(len(counts), np.int64)
    for turn in range(repeat):
        for column, pairs in enumerate(counts):
            before = streams.wrong
            rates[turn, column] = pairs * streams.bytes / max(streams.seconds(pairs), 1e-9)
            wrong[column] += streams.wrong - before
    wrong[0] += rehearsed
    wrong = comm.allreduce(wrong)
    relative = np.median(rates / rates[:, :1], axis=0)
    return [
        {
            "where": place.where,
            "bytes": size,
            "pairs": pairs,
            "MBps": float(np.median(rates[:, column]) / 1e6),
            "relative": float(relative[column]),
            "messages_per_second": float(np.median(rates[:, column]) / size),
            "window": streams.window,
            "windows": streams.windows,
            "MBps_of_repetitions": (rates[:, column] / 1e6).tolist(),
            "wrong": int(wrong[column]),
        }
        for column, pairs in enumerate(counts)
    ]
