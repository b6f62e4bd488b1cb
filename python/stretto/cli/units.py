# SPDX-License-Identifier: BSD-3-Clause
"""Numbers with units, ranges, and how they are written for people."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "": 1.0}


def parse_size(text: str) -> int:
    """Bytes: "4", "1K", "64M", "64MiB" (powers of 1024)."""
    match = re.fullmatch(r"(\d+)\s*([kmgt]?)(i?b)?", text.strip(), re.IGNORECASE)
    if not match:
        raise ValueError(f"'{text}' is no size; 4, 1K and 64M are")
    return int(match[1]) * BYTES[match[2].lower()]


def parse_sizes(text: str) -> list[int]:
    """Sizes and ranges, separated by commas: "4:64M" by powers of two, "4:64M*4" by powers of
    four, each from its first size on and not beyond its last."""
    sizes = []
    for part in text.split(","):
        bounds, _, factor = part.partition("*")
        first, colon, last = bounds.partition(":")
        if not colon:
            sizes.append(parse_size(part))
            continue
        size, end, step = parse_size(first), parse_size(last), int(factor or 2)
        if size < 1 or end < size or step < 2:
            raise ValueError(f"'{part}' is no range of sizes; 4:64M and 4:64M*4 are")
        while size <= end:
            sizes.append(size)
            size *= step
    return sizes


def parse_ranks(text: str) -> list[int]:
    """Numbers of ranks: "4", "1:64", "2,3,5:8"."""
    ranks: set[int] = set()
    for part in text.split(","):
        first, colon, last = part.partition(":")
        ranks.update(range(int(first), int(last if colon else first) + 1))
    if not ranks or min(ranks) < 1:
        raise ValueError(f"'{text}' is no range of ranks; 4, 1:64 and 2,3,5:8 are")
    return sorted(ranks)


def parse_seconds(text: str) -> float:
    """Seconds: "4ms", "30us", "1.5s", "2e-9"."""
    match = re.fullmatch(r"([\d.]+(?:e[+-]?\d+)?)\s*(ns|us|µs|ms|s|)", text.strip())
    if not match:
        raise ValueError(f"'{text}' is no time; 30us, 4ms and 1.5s are")
    return float(match[1]) * SECONDS[match[2]]


class Unit(click.ParamType):
    """A click type made of one of the functions above."""

    def __init__(self, name: str, parse: Callable[[str], Any]):
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


SIZE = Unit("size", parse_size)
SIZES = Unit("sizes", parse_sizes)
RANKS = Unit("ranks", parse_ranks)
TIME = Unit("time", parse_seconds)


TIMES = Unit("times", lambda text: [parse_seconds(each) for each in text.split(",")])


def show_size(size: float) -> str:
    """64 KiB, 1.5 MiB."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{size:.4g} {unit}"


def show_seconds(seconds: float) -> str:
    """12.3 µs, 4 ms."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(seconds) >= scale:
            return f"{seconds / scale:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns" if seconds else "0"


def show_ranges(numbers: list[int]) -> str:
    """1-4, 8, 16-18."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], number]
        else:
            parts.append([number])
    return ", ".join("-".join(map(str, part)) for part in parts)
