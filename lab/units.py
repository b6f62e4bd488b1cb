# SPDX-License-Identifier: BSD-3-Clause
"""Rates, times, sizes, whole numbers and lists of hosts as people write them."""

from __future__ import annotations

import argparse
import re
from typing import Callable

from errors import LabError

RATES = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
SIZES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}


def rate(text: str) -> int:
    """Bits per second of '1gbit', '2.5gbit', '100mbit'."""
    return _number(text, RATES, "a rate", "1gbit or 250mbit")


def time_ns(text: str) -> int:
    """Nanoseconds of '30us', '1.5ms'."""
    return _number(text, TIMES, "a time", "30us or 1.5ms")


def size(text: str) -> int:
    """Bytes of '64m', '1g'."""
    return _number(text.lower().replace("ib", "").rstrip("b"), SIZES, "a size", "64m or 1g")


def percent(text: str) -> float:
    """The share that '2' or '2.5%' is: 0.02, 0.025."""
    try:
        value = float(text.rstrip("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise LabError(f"'{text}' is no percentage; write a number from 0 to 100, such as 2.5")
    return value / 100


def hosts(text: str, count: int) -> list[int]:
    """Hosts of 'h1,h3-h5', '1,3-5' or 'all', in that order; a host may be named several times."""
    if text == "all":
        return list(range(1, count + 1))
    found: list[int] = []
    for part in text.split(","):
        numbers = span(re.sub(r"\bh(?=\d)", "", part))
        if numbers is None:
            raise LabError(f"'{part}' in '{text}' is no host; write hosts as 2, h2, 1-4 or 1,3-5")
        if not 1 <= numbers.start < numbers.stop <= count + 1:
            raise LabError(f"'{part}' in '{text}': the cluster has the hosts h1 to h{count}")
        found.extend(numbers)
    return found


def span(text: str) -> range | None:
    """The whole numbers of '3' or '3-5', both ends included; nothing if that is not what it is."""
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", text.strip())
    return range(int(match[1]), int(match[2] or match[1]) + 1) if match else None


def host(text: str, count: int) -> int:
    found = hosts(text, count)
    if len(found) != 1:
        raise LabError(f"'{text}' names {len(found)} hosts, and one is needed")
    return found[0]


def show_rate(bits: float) -> str:
    for unit, scale in sorted(RATES.items(), key=lambda item: -item[1]):
        if bits >= scale:
            return f"{bits / scale:g}{unit}"
    return f"{bits:g}bit"


def show_time(ns: float) -> str:
    for unit, scale in sorted(TIMES.items(), key=lambda item: -item[1]):
        if ns >= scale:
            return f"{ns / scale:g}{unit}"
    return f"{ns:g}ns"


def _number(text: str, units: dict[str, int], kind: str, example: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-zA-Z]*)", text.strip())
    if not match or match[2].lower() not in units:
        raise LabError(f"'{text}' is no {kind.split()[-1]}; write {kind} as {example}")
    value = round(float(match[1]) * units[match[2].lower()])
    if value <= 0:
        raise LabError(f"{kind} must be more than 0, and '{text}' is not")
    return value


def at_least(least: int) -> Callable[[str], int]:
    """A type of arguments: a whole number from `least` on."""

    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"takes a number from {least} on")
        return value

    return number
