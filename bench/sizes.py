# SPDX-License-Identifier: BSD-3-Clause
"""Numbers and sizes of vectors as the options of the benchmarks give them, and sizes as tables show
them."""

from __future__ import annotations

import argparse


def parse_numbers(text: str) -> list[int]:
    return [int(item) for item in text.split(",")]


def parse_size(text: str) -> int:
    units = {"k": 10, "m": 20, "g": 30}
    shift = units.get(text[-1:].lower(), 0)
    return int(text[:-1] if shift else text) << shift


def parse_sizes(text: str) -> list[int]:
    """4:64M is every power of two from 4 bytes to 64 MiB, 4:64M:4 every second; or a list."""
    if ":" not in text:
        sizes = [parse_size(item) for item in text.split(",")]
    else:
        first, last, *factor = text.split(":")
        step = int(factor[0]) if factor else 2
        if step < 2:
            raise argparse.ArgumentTypeError("the factor between sizes is at least 2")
        size, sizes = parse_size(first), []
        while 0 < size <= parse_size(last):
            sizes.append(size)
            size *= step
    if not 1 <= len(sizes) <= 64 or any(size < 4 or size % 4 for size in sizes):
        raise argparse.ArgumentTypeError("1 to 64 sizes, each a multiple of 4 bytes")
    return sorted(sizes)


def size_text(size: int) -> str:
    for shift, unit in ((20, "MiB"), (10, "KiB")):
        if size >> shift and size % (1 << shift) == 0:
            return f"{size >> shift} {unit}"
    return f"{size} B"
