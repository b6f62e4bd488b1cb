# SPDX-License-Identifier: BSD-3-Clause
"""Prints lines of many ranks on one terminal, each line whole and with its rank."""

from __future__ import annotations

import os
import select
from collections.abc import Sequence
from typing import TextIO

COLOURS = (36, 33, 32, 35, 34, 31)  # of ANSI terminals: cyan, yellow, green, magenta, blue, red


class LinePrinter:
    """Puts a rank's label before each line, in colour on a terminal, and never mixes two lines."""

    def __init__(self, labels: Sequence[str]):
        self._labels = labels
        self._rest: dict[tuple[int, TextIO], bytes] = {}

    def feed(self, rank: int, target: TextIO, data: bytes) -> bool:
        """Prints the complete lines and keeps the rest; False if the output has no reader."""
        data = self._rest.pop((rank, target), b"") + data
        whole, newline, rest = data.rpartition(b"\n")
        if rest:
            self._rest[rank, target] = rest
        if newline:
            prefix = self._prefix(rank, target)
            lines = (prefix + line + b"\n" for line in whole.split(b"\n"))
            return _write(target, b"".join(lines))
        return True

    def finish(self, rank: int, target: TextIO) -> None:
        """Prints a last line that has no end."""
        if (rank, target) in self._rest:
            self.feed(rank, target, b"\n")

    def _prefix(self, rank: int, target: TextIO) -> bytes:
        text = self._labels[rank]
        if target.isatty() and "NO_COLOR" not in os.environ:
            text = f"\033[{COLOURS[rank % len(COLOURS)]}m{text}\033[0m"
        return f"{text} ".encode()


def _write(target: TextIO, data: bytes) -> bool:
    """Writes all of it, to any kind of stream; False if its reader is gone."""
    rest = memoryview(data)
    try:
        target.flush()
        while rest:
            try:
                rest = rest[os.write(target.fileno(), rest) :]
            except BlockingIOError:
                select.select([], [target], [])
    except BrokenPipeError:
        return False
    return True
