# SPDX-License-Identifier: BSD-3-Clause
"""`stretto bench matching --tune`: thresholds of adaptive matching for this machine."""

from __future__ import annotations

from math import exp, log
from typing import Any

import click

import stretto
from stretto import _core
from stretto.cli.bench import surroundings
from stretto.cli.matching_cases import SCHEMES, steady
from stretto.cli.rows import Column, Printer, number
from stretto.cli.tables import write_json

CALLS = (16, 64, 256, 1024)
ATTEMPTS = (2, 4, 6, 8, 16, 32)
COLUMNS = (
    Column("calls", 5, lambda row: str(row["calls"])),
    Column("attempts", 8, lambda row: str(row["attempts"])),
    number("mean", 9, 3, "÷ fastest"),
    number("worst", 6, 2, "worst"),
    Column("where", -30, lambda row: row["where"]),
)
UNITS = "÷ fastest: time over that of the fastest fixed scheme, the geometric mean of all cases"


def tune_thresholds(
    peers: list[int],
    patterns: list[str],
    json_path: str | None,
    depth: int,
    matches: int,
    repeat: int,
) -> int:
    """Prints a line for each pair of thresholds, and the best pair.  Gives the number of wrong
    matches."""
    printer = Printer(json_path != "-", COLUMNS)
    printer.begin(f"adaptive matching, {len(patterns)} patterns, peers {peers}", UNITS)
    cases: dict[str, dict[tuple[int, int], float]] = {}
    wrong = 0
    for count in peers:
        for pattern in patterns:
            bench = _core.MatchingBench(pattern, count, depth, matches)
            ratios, wrong_ones = over_fastest(bench, count + 1, repeat)
            wrong += wrong_ones
            if ratios:
                cases[f"{pattern}, {count} peers"] = ratios
    rows = summarize(cases)
    for row in rows:
        printer.row(row)
    printer.end([{"wrong": wrong}], "matches")
    best = min(rows, key=lambda row: row["mean"], default=None)
    if best and json_path != "-":
        click.echo("best: " + as_settings(best))
    if json_path:
        meta = {
            "version": stretto.__version__,
            "peers": peers,
            "patterns": patterns,
            "depth": depth,
            "matches": matches,
            "repeat": repeat,
            **surroundings(),
        }
        write_json(json_path, {"meta": meta, "rows": rows, "best": best, "wrong": wrong})
    return wrong


def as_settings(row: dict[str, Any]) -> str:
    return (
        f"export STRETTO_MATCHING_CALLS={row['calls']} STRETTO_MATCHING_ATTEMPTS={row['attempts']}"
    )


def over_fastest(
    bench: _core.MatchingBench, ranks: int, repeat: int
) -> tuple[dict[tuple[int, int], float], int]:
    """By pair of thresholds: time of the adaptive scheme over that of the fastest fixed one; and
    the number of wrong matches.  If a check finds a wrong match, nothing is timed, and there are no
    ratios."""
    fixed = [options(ranks) for name, options in SCHEMES.items() if name != "adaptive"]
    pairs = [(calls, attempts) for calls in CALLS for attempts in ATTEMPTS]
    plays = [*fixed, *({"calls": calls, "attempts": attempts} for calls, attempts in pairs)]
    wrong = sum(bench.check(**each)["wrong"] for each in plays)
    if wrong:
        return {}, wrong
    timed: list[list[list[float]]] = [[] for _ in plays]
    for _ in range(repeat):
        for each, mine in zip(plays, timed, strict=True):
            parts, wrong_ones = bench.time(**each)
            mine.append(parts)
            wrong += wrong_ones
    ns = [steady(mine) for mine in timed]
    fastest = min(ns[: len(fixed)])
    times = dict(zip(pairs, ns[len(fixed) :], strict=True))
    return {pair: mine / fastest for pair, mine in times.items()}, wrong


def summarize(cases: dict[str, dict[tuple[int, int], float]]) -> list[dict[str, Any]]:
    """A row for each pair of thresholds: geometric mean over all cases, and the worst case."""
    rows = []
    for calls, attempts in next(iter(cases.values()), {}):
        ratios = {name: case[calls, attempts] for name, case in cases.items()}
        where = max(ratios, key=lambda name: ratios[name])
        rows.append({
            "calls": calls,
            "attempts": attempts,
            "mean": exp(sum(map(log, ratios.values())) / len(ratios)),
            "worst": ratios[where],
            "where": where,
        })  # fmt: skip
    return rows
