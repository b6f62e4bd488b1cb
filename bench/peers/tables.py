# SPDX-License-Identifier: BSD-3-Clause
"""The results as tables, for the terminal and in Markdown."""

from __future__ import annotations

from pathlib import Path

from peers import WITH_VARIANTS
from rich import box
from rich.console import Console
from rich.table import Table
from sizes import size_text

LEGEND = (
    "In brackets: peer / Stretto, both measured in turns in the same processes, in the same state "
    "of the machine. Probe: ns to overwrite a line that the other core has just read. "
    "Copy: every rank copies its vector once. Shared: buffers from `stretto_alloc`. "
    "A dash: not met in this state.\n"
)


def microseconds(value: float) -> str:
    return f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def peer_names(results: dict) -> list[str]:
    return [name for name in WITH_VARIANTS if any(name in row["peers"] for row in results["rows"])]


def _rows_table(results: dict, ranks: int) -> tuple[list[str], list[list[str]]]:
    """Header and lines; a peer's cell is its median and how many times Stretto's (of the same
    processes) it is."""
    names = peer_names(results)
    header = ["size", "state", "probe", "Stretto"]
    header += [f"{WITH_VARIANTS[name].title} (×)" for name in names]
    header += ["× fastest", "copy", "÷ copy", "shared", "÷ copy"]
    lines = []
    for row in results["rows"]:
        if row["ranks"] != ranks:
            continue
        cells = [size_text(row["bytes"]), row["state"], f"{row['probe_ns']:.1f}"]
        cells.append(microseconds(row["stretto_p50_us"]))
        for name in names:
            peer = row["peers"].get(name)
            cells.append(f"{microseconds(peer['p50_us'])} ({peer['ratio']:.2f})" if peer else "–")
        all_there = len(row["peers"]) == len(names)
        cells += [f"{row['ratio']:.2f}" if all_there else "–", microseconds(row["memcpy_p50_us"])]
        cells += [f"{row['stretto_to_memcpy']:.2f}", microseconds(row["shared_p50_us"])]
        lines.append([*cells, f"{row['shared_to_memcpy']:.2f}"])
    return header, lines


def _means_table(results: dict) -> tuple[list[str], list[list[str]]]:
    names = peer_names(results)
    header = [
        "ranks",
        "state",
        "sizes",
        "× fastest",
        *(f"× {WITH_VARIANTS[n].title}" for n in names),
    ]
    lines = []
    for mean in results["geometric_means"]:
        peers = [f"{mean['peers'][n]:.2f}" if n in mean["peers"] else "–" for n in names]
        slower = ", ".join(map(size_text, mean["slower_at"])) or (
            "nowhere" if mean["sizes"] else "–"
        )
        fastest = f"{mean['fastest']:.2f}" if mean["fastest"] else "–"
        cells = [str(mean["ranks"]), mean["state"], str(mean["sizes"]), fastest]
        lines.append([*cells, *peers, slower])
    return [*header, "Stretto slower at"], lines


def _all_tables(results: dict) -> list[tuple[str, list[str], list[list[str]]]]:
    ranks = sorted({row["ranks"] for row in results["rows"]})
    tables = [
        (f"{n} ranks: µs, median of the slowest rank", *_rows_table(results, n)) for n in ranks
    ]
    title = "Geometric mean over the sizes, peer / Stretto"
    return [*tables, (title, *_means_table(results))]


def show(results: dict, console: Console) -> None:
    for title, header, lines in _all_tables(results):
        table = Table(title=title, box=box.SIMPLE_HEAD, pad_edge=False)
        for i, name in enumerate(header):
            table.add_column(name, justify="right", no_wrap=True, style="bold" if i == 0 else None)
        for line in lines:
            table.add_row(*line)
        console.print(table)


def write_markdown(results: dict, path: Path) -> None:
    meta = results["meta"]
    text = [
        f"# {meta['collective']} of floats: Stretto and its peers, interleaved\n",
        f"{meta['date']}, {meta['cpu']}, {meta['cores']} cores; "
        + ", ".join(
            f"{WITH_VARIANTS[n].title} ({', '.join(WITH_VARIANTS[n].packages)})"
            for n in meta["peers"]
        )
        + f". {results['blocks']} blocks, of which {results['blocks_thrown_away']} fell into a "
        "change of state and do not count.\n",
        LEGEND,
    ]
    if meta["failures"] or results["wrong"]:
        text.append(f"**Failed launches: {len(meta['failures'])}; wrong: {results['wrong']}.**\n")
    for title, header, lines in _all_tables(results):
        text += [f"## {title}\n", f"| {' | '.join(header)} |", f"|{'---:|' * len(header)}"]
        text += [f"| {' | '.join(line)} |" for line in lines]
        text.append("")
    path.write_text("\n".join(text))
