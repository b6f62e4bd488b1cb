# SPDX-License-Identifier: BSD-3-Clause
"""`stretto bench matching`: what it takes to find the receive of a message."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from typing import Any

import click

import stretto
from stretto import _core
from stretto.cli.bench import surroundings
from stretto.cli.matching_cases import LIST, SCHEMES, measure
from stretto.cli.matching_plot import plot
from stretto.cli.matching_thresholds import tune_thresholds
from stretto.cli.rows import WRONG, Column, Printer, number
from stretto.cli.tables import write_json
from stretto.cli.units import Unit, parse_sizes

PATTERNS = _core.matching_patterns()
MEANINGS = "\b\nPatterns:\n" + "\n".join(
    f"{name:{max(map(len, PATTERNS))}}  {meaning}" for name, meaning in PATTERNS.items()
)
COLUMNS = (
    Column("pattern", -11, lambda row: row["pattern"]),
    Column("peers", 5, lambda row: str(row["peers"])),
    Column("deepest", 7, lambda row: f"{max(row['most_posted'], row['most_unexpected']):,}"),
    Column("scheme", -12, lambda row: row["scheme"]),
    number("ns", 10, 1, "mean"),
    number("p99_ns", 10, 0, "p99"),
    number("relative_time", 6, 2, "÷ list"),
    number("looks", 9, 2, "looks"),
    number("bytes", 10, 0, "bytes"),
    number("relative_bytes", 6, 2, "÷ list"),
    number("conversions", 11, 0, "conversions"),
    WRONG,
)
UNITS = (
    "mean: ns per match, all operations; p99: ns of the operation that matches; looks: per match; "
    "bytes: the most"
)


def parse_peers(text: str) -> list[int]:
    """Numbers of peers: "8", "1K", "8:4096*8"."""
    try:
        peers = sorted(set(parse_sizes(text)))
    except ValueError:
        peers = [0]
    if peers[0] < 1 or peers[-1] > 4096:
        raise ValueError(f"'{text}': peers are 1 to 4096, such as 100, 64,512 or 8:4096*8")
    return peers


def parse_names(known: Collection[str]) -> Callable[[str], list[str]]:
    """Some of the known names, separated by commas, in the order in which they are known."""

    def parse(text: str) -> list[str]:
        names = [each.strip() for each in text.split(",") if each.strip()]
        for name in names:
            if name not in known:
                raise ValueError(f"'{name}' does not exist; {', '.join(known)} do")
        return [each for each in known if each in names]

    return parse


@click.command(epilog=MEANINGS)
@click.option(
    "--peers",
    type=Unit("peers", parse_peers),
    default="8:4096*8",
    show_default=True,
    help="Ranks that send, 1 to 4096: 100, 64,512, or ranges by factors (8:4096*8).",
)
@click.option(
    "--patterns",
    type=Unit("patterns", parse_names(PATTERNS)),
    help="Names, with commas, of those below.  [default: all]",
)
@click.option(
    "--schemes",
    type=Unit("schemes", parse_names(SCHEMES)),
    help=f"Of {', '.join(SCHEMES)}; the list is always among them.  [default: all]",
)
@click.option(
    "--depth",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Messages of each peer at the same time.",
)
@click.option(
    "--matches",
    type=click.IntRange(1, 1 << 22),
    default=16384,
    show_default=True,
    help="Matches of a repetition at least: whole rounds of the pattern, two or more.",
)
@click.option(
    "--repeat",
    type=click.IntRange(1),
    default=7,
    show_default=True,
    help="Repetitions, of which the median counts.",
)
@click.option("--calls", type=click.IntRange(1), help="Of adaptive: STRETTO_MATCHING_CALLS.")
@click.option("--attempts", type=click.IntRange(0), help="Of adaptive: STRETTO_MATCHING_ATTEMPTS.")
@click.option(
    "--tune",
    is_flag=True,
    help="Instead: times the adaptive scheme with several thresholds, and names the best.",
)
@click.option("--json", "json_path", metavar="FILE", help="Write the results to FILE (- prints).")
@click.option("--plot", "plot_path", metavar="PNG", help="Draw time and memory over a list's.")
def matching(
    peers: list[int],
    patterns: list[str] | None,
    schemes: list[str] | None,
    calls: int | None,
    attempts: int | None,
    tune: bool,
    json_path: str | None,
    plot_path: str | None,
    **amounts: int,
) -> None:
    """Times how receives and messages find one another, with each scheme of matching.

    \b
    stretto bench matching --peers 512 --plot matching.png
    stretto bench matching --patterns random,flood --schemes by-source,adaptive --depth 8
    stretto bench matching --tune

    This process plays the receiver of a job.  What it does is made ahead, operation by operation,
    so nothing but matching is timed, and no message moves.  In each repetition all schemes take
    turns, each from empty queues; all results are compared with those of a simple model, after
    the clock has been read.

    mean: nanoseconds of all operations over the number of matches; of each of 64 parts of the
    sequence the median over repetitions.  p99: of single operations that match, the 99th
    percentile, less what reading the clock costs.  ÷ list: over that of the list.  looks: at
    receives or messages, per match.  bytes: the most memory that matching had: indexes, and links
    of what waits.
    conversions: from one scheme to another.

    It needs no job.  The exit status is 1 if a match is wrong.
    """
    given = (("calls", calls), ("attempts", attempts))
    thresholds = {name: value for name, value in given if value is not None}
    patterns = patterns or list(PATTERNS)
    if tune:
        if schemes or thresholds or plot_path:
            raise click.UsageError(
                "--tune tries all schemes and thresholds, and draws nothing; leave out --schemes, "
                "--calls, --attempts and --plot"
            )
        wrong = tune_thresholds(peers, patterns, json_path, **amounts)
        sys.exit(1 if wrong else 0)
    rows = run_cases(
        peers, patterns, [LIST, *(schemes or SCHEMES)], thresholds, json_path, plot_path, **amounts
    )
    sys.exit(1 if any(row["wrong"] for row in rows) else 0)


def run_cases(
    peers: list[int],
    patterns: list[str],
    schemes: list[str],
    thresholds: dict[str, int],
    json_path: str | None,
    plot_path: str | None,
    depth: int,
    matches: int,
    repeat: int,
) -> list[dict[str, Any]]:
    meta = {
        "version": stretto.__version__,
        "depth": depth,
        "matches": matches,
        "repeat": repeat,
        "thresholds": thresholds,
        **surroundings(),
    }
    printer = Printer(json_path != "-", COLUMNS)
    each = "a message" if depth == 1 else f"{depth} messages"
    title = f"tag matching, {each} of each peer at the same time, {repeat} repetitions"
    printer.begin(title, UNITS)
    rows: list[dict[str, Any]] = []
    for count in peers:
        for pattern in patterns:
            bench = _core.MatchingBench(pattern, count, depth, matches)
            case = {"pattern": pattern, "peers": count, "depth": depth}
            options = {name: SCHEMES[name](count + 1) for name in dict.fromkeys(schemes)}
            if "adaptive" in options:
                options["adaptive"] = thresholds
            for row in measure(bench, options, repeat):
                rows.append({**case, **row})
                printer.row(rows[-1])
    printer.end(rows, "matches")
    if json_path:
        write_json(json_path, {"meta": meta, "rows": rows})
    if plot_path:
        plot(meta, rows, plot_path)
    return rows
