# SPDX-License-Identifier: BSD-3-Clause
"""The rows as tables, for the terminal and in Markdown."""

from __future__ import annotations

from pathlib import Path

from jobs import SMALL
from placement import spoken
from recipes import RECIPES
from rich import box
from rich.console import Console
from rich.table import Table
from sizes import size_text

LEGEND_SMALL = (
    "µs, median (99th percentile) of the slowest rank; each peer in its fastest variant. "
    "× is Stretto's median over that of the fastest peer, measured in turns in the same processes: "
    "below 1 Stretto is faster. Floor: messages alone, by plain sockets. CPU: µs of a call, all "
    "ranks together, of Stretto and of the peer that is fastest.\n"
)
LEGEND_LARGE = (
    "ms, median of the slowest rank. Bound: 2(P−1)/P of the vector at the payload rate that the "
    "links carried in `lab/cluster probe`. × is Stretto's median over the fastest peer's, in the "
    "same processes. CPU: ns per byte and rank. 4 MiB: back to back.\n"
)

Lines = list[list[str]]


def peer_names(rows: list[dict]) -> list[str]:
    return [name for name in RECIPES if any(name in row["peers"] for row in rows)]


def _time(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def _both(figures: dict | None) -> str:
    return f"{_time(figures['p50_us'])} ({_time(figures['p99_us'])})" if figures else "–"


def small_table(rows: list[dict]) -> tuple[list[str], Lines]:
    names = peer_names(rows)
    header = ["size", "Stretto", *(RECIPES[name].title for name in names), "× fastest", "p99 ×"]
    header += ["floor", "÷ floor", "CPU", "CPU fastest"]
    lines = []
    for row in rows:
        best = row["peers"].get(row.get("fastest"))
        line = [size_text(row["bytes"]), _both(row["stretto"])]
        line += [_both(row["peers"].get(name)) for name in names]
        line += [f"{best['ratio']:.2f}", f"{best['stretto']['p99_us'] / best['p99_us']:.2f}"]
        if "floor_us" in row:
            floor = row["floor_us"]
            line += [_time(floor), f"{row['stretto']['p50_us'] / floor:.2f}"]
        else:
            line += ["–", "–"]
        line += [_time(row["stretto"]["cpu_us"]), _time(best["cpu_us"])]
        lines.append(line)
    return header, lines


def large_table(rows: list[dict]) -> tuple[list[str], Lines]:
    names = peer_names(rows)
    header = ["hosts", "size", "bound", "Stretto", "÷ bound"]
    header += [*(RECIPES[name].title for name in names), "plain ring", "× fastest", "CPU"]
    header += [f"CPU {RECIPES[name].title}" for name in names]
    lines = []
    for row in rows:
        peers = [row["peers"].get(name) for name in names]
        line = [_place(row), size_text(row["bytes"]), f"{row['bound_us'] / 1e3:,.1f}"]
        line += [f"{row['stretto']['p50_us'] / 1e3:,.1f}", f"{row['to_bound']:.3f}"]
        line += [f"{each['p50_us'] / 1e3:,.1f}" if each else "–" for each in peers]
        ring = row["plain"].get("ring")
        line += [f"{ring['p50_us'] / 1e3:,.1f}" if ring else "–"]
        line += [f"{row['ratio']:.2f}" if "ratio" in row else "–"]
        line += [f"{row['stretto']['cpu_ns_per_byte']:.2f}"]
        line += [f"{each['cpu_ns_per_byte']:.2f}" if each else "–" for each in peers]
        lines.append(line)
    return header, lines


def _place(row: dict) -> str:
    return spoken(row["placement"])


def variants_table(rows: list[dict]) -> tuple[list[str], Lines]:
    header = ["hosts", "size", "peer", "variant", "p50 µs", "p99 µs", "Stretto p50", "CPU ×"]
    lines = []
    for row in rows:
        for each in sorted(row["variants"], key=lambda one: one["p50_us"]):
            line = [_place(row), size_text(row["bytes"]), RECIPES[each["peer"]].title]
            line += [each["variant"] or "–", _time(each["p50_us"]), _time(each["p99_us"])]
            line += [_time(each["stretto"]["p50_us"])]
            line += [f"{each['cpu_ratio']:.2f}" if each["cpu_ratio"] else "–"]
            lines.append(line)
    return header, lines


def all_tables(results: dict) -> list[tuple[str, str, list[str], Lines]]:
    """Title, legend, header, lines."""
    tables = []
    small = [row for row in results["rows"] if row["bytes"] <= SMALL]
    for place in dict.fromkeys(map(_place, small)):
        rows = [row for row in small if _place(row) == place]
        tables.append((f"{place} hosts, 4 B to 64 KiB", LEGEND_SMALL, *small_table(rows)))
    large = [row for row in results["rows"] if row["bytes"] > SMALL]
    if large:
        tables.append(("Large vectors", LEGEND_LARGE, *large_table(large)))
    if results["meta"]["every_variant"]:
        tables.append(("Variants", "Fastest first.\n", *variants_table(results["rows"])))
    return tables


def show(results: dict, console: Console) -> None:
    for title, _, header, lines in all_tables(results):
        table = Table(title=title, box=box.SIMPLE_HEAD, pad_edge=False)
        for name in header:
            table.add_column(name, justify="right", no_wrap=True)
        for line in lines:
            table.add_row(*line)
        console.print(table)


def write_markdown(results: dict, path: Path) -> None:
    meta = results["meta"]
    rates = "; ".join(
        f"{spoken(place)} hosts {min(each) / 1e6:.0f} to {max(each) / 1e6:.0f} Mbit/s"
        for place, each in results["rates"].items()
    )
    packages = ", ".join(f"{RECIPES[n].title} ({', '.join(p)})" for n, p in meta["peers"].items())
    text = [
        "# Allreduce of floats over TCP: Stretto and its peers in turns\n",
        f"{meta['date']}, {meta['cpu']}, {meta['cores']} cores for all hosts; links of "
        f"{meta['rate']}, TCP's {meta['congestion']}, payload with all of them full: {rates}. "
        f"{packages}.\n",
    ]
    if meta["failures"] or results["wrong"]:
        text.append(f"**Failed launches: {len(meta['failures'])}; wrong: {results['wrong']}.**\n")
    for title, legend, header, lines in all_tables(results):
        text += [f"## {title}\n", legend, f"| {' | '.join(header)} |", f"|{'---:|' * len(header)}"]
        text += [f"| {' | '.join(line)} |" for line in lines]
        text.append("")
    path.write_text("\n".join(text))
