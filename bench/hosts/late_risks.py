# SPDX-License-Identifier: BSD-3-Clause
"""The cost of relying on estimates: if no rank is late, and if estimates are wrong."""

from __future__ import annotations

from collections.abc import Iterator

from sizes import size_text
from stretto.cli import arrival_tables
from stretto.cli.arrival_tables import MODES, Cell, Grid, seen
from stretto.cli.skew import paired_ratio

TOGETHER = """\
No rank is late, or one rank by 1 ms: the mean elapsed time of Stretto's choice (`auto`) divided \
by that of each algorithm, and half of its 95 % interval; {calls} calls of each, in turns. \
*balanced* is the choice without estimates of arrivals.
"""
WRONG = """\
Estimates are wrong: the mean elapsed time of Stretto's choice divided by that of the choice \
without estimates of arrivals (*balanced*), and half of its 95 % interval; in brackets the worst \
of {calls} calls. Without announcements: another rank is late after every 8 calls, or a random \
rank in each call. With wrong announcements: the same rank is late, or all ranks are late at \
random, and all ranks announce other random times.
"""
TOLD = {"right": "", "none": ", none announced", "wrong": ", wrong announced"}


def only(results: dict, **fields) -> dict:
    """Of what was measured, the rows in which these fields have these values."""
    wanted = fields.items()
    rows = [row for row in results["rows"] if all(row[key] == each for key, each in wanted)]
    return {**results, "rows": rows}


def sections(found: list[dict]) -> list[str]:
    text = []
    for name, about, grid in (("together", TOGETHER, together), ("wrong", WRONG, wrong)):
        some = [only(results, part=name) for results in found]
        rows = [row for results in some for row in results["rows"]]
        if rows:
            calls = sorted(set(seen(rows, "calls")))
            made = grid(some)
            text += [f"**{made.title}**\n", about.format(calls=" to ".join(map(str, calls)))]
            text += [*arrival_tables.markdown(made), ""]
    return text


def points(results: dict) -> Iterator[dict[str, dict]]:
    """Rows that were measured in turns, by algorithm."""
    made: dict[tuple, dict[str, dict]] = {}
    for row in results["rows"]:
        key = (row["mode"], row["edge"], row["bytes"], row["delay_us"])
        made.setdefault(key, {})[row["algorithm"]] = row
    yield from made.values()


def together(found: list[dict]) -> Grid:
    """A line for each number of hosts and delay."""
    names = [name for results in found for name in seen(results["rows"], "algorithm")]
    names = [name for name in dict.fromkeys(names) if name != "auto"]
    lines = []
    for results in found:
        for of in points(results):
            auto = of["auto"]
            cells = [Cell(_over(of, "auto", name)) if name in of else Cell("–") for name in names]
            what = f"{results['meta']['ranks']} hosts, {auto['delay_us'] * 1e-3:g} ms"
            lines.append([Cell(what), Cell(f"{auto['elapsed_us'] * 1e-3:.1f}"), *cells])
    (size,) = {size_text(row["bytes"]) for results in found for row in results["rows"]}
    return Grid(f"{size}, together", ["", "`auto`, ms", *(f"`{name}`" for name in names)], lines)


def wrong(found: list[dict]) -> Grid:
    """A line for each number of hosts and kind of error."""
    rows = [row for results in found for row in results["rows"]]
    delays = sorted(seen(rows, "delay_us"))
    lines = []
    for results in found:
        made: dict[str, dict[float, str]] = {}
        for of in points(results):
            balanced, auto = of["balanced"], of["auto"]
            calls = zip(auto["call_elapsed_us"], balanced["call_elapsed_us"], strict=True)
            worst = max(mine / other for mine, other in calls)
            what = f"{results['meta']['ranks']} hosts, {MODES[auto['mode']]}{TOLD[auto['edge']]}"
            cell = f"{_over(of, 'auto', 'balanced')} ({worst:.2f})"
            made.setdefault(what, {})[auto["delay_us"]] = cell
        for what, cells in made.items():
            lines.append([Cell(what), *(Cell(cells.get(delay, "–")) for delay in delays)])
    (size,) = {size_text(row["bytes"]) for row in rows}
    head = ["late by, ms", *(f"{delay * 1e-3:g}" for delay in delays)]
    return Grid(f"{size}, wrong estimates", head, lines)


def _over(of: dict[str, dict], name: str, other: str) -> str:
    ratio, error = paired_ratio(of[name]["call_elapsed_us"], of[other]["call_elapsed_us"])
    return f"{ratio:.3f} ± {error:.3f}" if error is not None else f"{ratio:.3f}"
