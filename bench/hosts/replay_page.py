# SPDX-License-Identifier: BSD-3-Clause
"""Trainings that were played again as table 5 of Proficz (2018), beside the paper's numbers; and as
a section of the paper's page."""

from __future__ import annotations

from pathlib import Path

from paper_page import put
from published_late import STEP, TABLE_5, Training
from stretto.cli import arrival_tables
from stretto.cli.arrival_tables import BETTER, NONE, Cell, Grid, seen
from stretto.cli.skew import paired_ratio

PAGE = Path(__file__).resolve().parents[2] / "docs/papers/proficz.md"
BEGIN = "<!-- measured: written by bench/hosts/training.py --page -->"
LEGEND = """\
*Elapsed*: mean over ranks, calls and executions of the time in the allreduce, ms; *waiting*: how \
much of it is more than what the rank that came last spends there. *Total*: of an execution, s. \
Speed-ups are over the ring, with half of their 95 % interval over executions, which have the same \
steps for all algorithms.
"""
HEAD = ["", "elapsed, ms", "waiting, ms", "speed-up", "total, s", "speed-up", "executions"]
REFERENCE = "ring"
PACE = {
    "recorded": "steps as recorded, {own:.1f} ms",
    "paper": "steps stretched to {paper:.0f} ms, the paper's",
}


def markdown(found: list[dict]) -> str:
    """Of all rates and numbers of hosts."""
    text = [LEGEND]
    for results in found:
        text += [_about(results)]
        for pace in seen(results["rows"], "pace"):
            grid = table_5(results, pace)
            text += [f"**{grid.title}**\n", *arrival_tables.markdown(grid), ""]
    return "\n".join(text)


def table_5(results: dict, pace: str) -> Grid:
    rows = [row for row in results["rows"] if row["pace"] == pace]
    ring = _of(rows, REFERENCE)
    lines = []
    for name in sorted(seen(rows, "algorithm"), key=_order):
        lines.append(_measured(name, _of(rows, name), ring))
        if name in TABLE_5 and pace == "paper":
            lines.append(_published(name, TABLE_5[name]))
    what = PACE[pace].format(own=results["meta"]["steps"]["mean_s"] * 1e3, paper=STEP * 1e3)
    hosts, calls = results["meta"]["ranks"], results["iterations"]
    title = f"{hosts} hosts, {results['rate']}, {calls} iterations; {what} (table 5)"
    return Grid(title, HEAD, lines)


def write(text: str) -> None:
    PAGE.write_text(put(PAGE.read_text(), text, BEGIN))


def _of(rows: list[dict], name: str) -> dict[int, dict]:
    """By execution."""
    return {row["execution"]: row for row in rows if row["algorithm"] == name}


def _order(name: str) -> tuple[int, str]:
    """As in the paper, and then what it does not have."""
    names = list(TABLE_5)
    return (names.index(name) if name in names else len(names), name)


def _measured(name: str, own: dict[int, dict], ring: dict[int, dict]) -> list[Cell]:
    def mean(field: str, scale: float) -> str:
        return f"{sum(row[field] for row in own.values()) / len(own) * scale:.1f}"

    def over_ring(field: str) -> Cell:
        both = sorted(set(own) & set(ring))
        if not both or name == REFERENCE:
            return Cell("1.000" if both else NONE)
        ratio, error = paired_ratio(
            [ring[each][field] for each in both], [own[each][field] for each in both]
        )
        text = f"{ratio:.3f}" if error is None else f"{ratio:.3f} ± {error:.3f}"
        return Cell(text, ratio >= BETTER)

    return [
        Cell(f"`{name}`"),
        Cell(mean("elapsed_us", 1e-3)),
        Cell(mean("waiting_us", 1e-3)),
        over_ring("elapsed_us"),
        Cell(mean("total_s", 1.0)),
        over_ring("total_s"),
        Cell(str(len(own))),
    ]


def _published(name: str, row: Training) -> list[Cell]:
    return [
        Cell(f"`{name}`, paper"),
        Cell(f"{row.elapsed_ms:.1f}"),
        Cell(NONE),
        Cell(f"{row.speedup:.3f}", row.speedup >= BETTER),
        Cell(f"{row.total_s:.1f}"),
        Cell(f"{row.total_speedup:.3f}", row.total_speedup >= BETTER),
        Cell("128"),
    ]


def _about(results: dict) -> str:
    meta = results["meta"]
    steps = meta["steps"]
    return (
        f"Measured {meta['date']}, {meta['cpu']}, {meta['cores']} cores for all hosts. Steps "
        f"recorded {steps['date']}, {steps['cpu']}, PyTorch {steps['torch']} with "
        f"{steps['threads']} thread, {steps['images']}; the edge is after "
        f"{steps['fraction']:.0%} of a step.\n"
    )
