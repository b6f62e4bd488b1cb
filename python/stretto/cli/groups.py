# SPDX-License-Identifier: BSD-3-Clause
"""Abelian groups over so many ranks: products of cyclic ones, written 2x3x5."""

from __future__ import annotations

from collections.abc import Iterator

GROUPS = ("cyclic", "primes", "all")


def groups_of(ranks: int, which: str | None) -> list[list[int]]:
    """The orders of the factors; one rank has the group without factors.

    cyclic: one factor.  primes: one for each prime, the smallest first.  all: every product, in
    every order of its factors, which differ in the pairs of ranks that communicate.
    """
    if ranks == 1:
        return [[]]
    if which == "primes":
        return [primes(ranks)]
    if which == "all":
        return list(products(ranks))
    return [[ranks]]


def primes(number: int) -> list[int]:
    least = next((n for n in range(2, int(number**0.5) + 1) if number % n == 0), number)
    return [least] if least == number else [least, *primes(number // least)]


def products(number: int) -> Iterator[list[int]]:
    for first in range(2, number + 1):
        if first == number:
            yield [number]
        elif number % first == 0:
            yield from ([first, *rest] for rest in products(number // first))


def steps_of(group: list[int]) -> int:
    """Of the reduction: halving every factor until 1 is left."""
    return sum((order - 1).bit_length() for order in group)
