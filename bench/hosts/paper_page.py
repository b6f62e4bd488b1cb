# SPDX-License-Identifier: BSD-3-Clause
"""What was measured in slow motion as tables in Markdown, and as a section of the paper's page."""

from __future__ import annotations

from pathlib import Path

import gains
from sizes import size_text

PAGE = Path(__file__).resolve().parents[2] / "docs/papers/kolmakov-zhang.md"
BEGIN = "<!-- measured: written by bench/hosts/kolmakov_zhang.py --page -->"
END = "<!-- measured: end -->"
LEGEND = """\
Times are those of slow motion over the dilation, medians of the slowest rank; all of a size took \
turns in the same processes. *Choice*: Stretto's by price, without trials. *÷ best*: its time over \
that of the fastest algorithm measured by name. *Gain*: the time of the faster of recursive \
doubling, recursive halving (`rabenseifner`) and ring over the choice's; *model*: the same of \
their prices over this network; *reached*: gain over model; *paper*: the same by the paper's \
equations and its table 2, which is its figure 1. *Open MPI*: its time, as it chooses, over ours.
"""
HEADER = ["bytes", "figure", "choice", "time", "fastest", "÷ best", "rival", "gain", "model",
          "reached", "paper", "Open MPI"]  # fmt: skip
LEFT = {"figure", "choice", "fastest", "rival"}
KIB, MIB = 1 << 10, 1 << 20
# At 127 ranks: up to which size the paper's figures of small, medium and big data go, of which it
# gives no numbers; and the two sizes that it measured over the number of processes.
FIGURES = ((16 * KIB, "7"), (MIB // 2, "9"), (1 << 62, "8"))
OVER_RANKS = {428: "11", 9 * KIB: "12"}


def figure(ranks: int, size: int) -> str:
    """Which of the paper's figures has the point."""
    of = [next(name for most, name in FIGURES if size <= most), "10"] if ranks == 127 else []
    return ", ".join([*of, *([OVER_RANKS[size]] if size in OVER_RANKS else [])]) or "–"


def time_text(seconds: float) -> str:
    for unit, scale in (("s", 1), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e6:.0f} µs"


def _times(value: float | None) -> str:
    return f"{value:.2f}" if value else "–"


def line(found: gains.Gain, ranks: int, dilate: float) -> list[str]:
    return [
        size_text(found.bytes),
        figure(ranks, found.bytes),
        f"`{found.chosen}`",
        time_text(found.seconds / dilate),
        f"`{found.best}`" if found.best else "–",
        _times(found.to_best),
        f"`{found.rival}`" if found.rival else "–",
        *map(_times, (found.gain, found.predicted, found.reached, found.paper, found.peer)),
    ]


def table(results: dict) -> list[str]:
    rule = "|".join(":--" if name in LEFT else "---:" for name in HEADER)
    lines = [f"| {' | '.join(HEADER)} |", f"|{rule}|"]
    for row in results["rows"]:
        cells = line(gains.gain(row), results["ranks"], results["dilate"])
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def markdown(found: list[dict]) -> str:
    """Of all numbers of ranks."""
    text = [LEGEND]
    for results in found:
        link, dilate = results["link"], results["dilate"]
        text += [
            f"### P = {results['ranks']}\n",
            f"{results['meta']['date']}, {results['meta']['cpu']}, {results['meta']['cores']} "
            f"cores for all hosts, {dilate:g} times as slow; {results['dtype']}. Measured, over "
            f"the dilation: α = {(link['latency'] + link['overhead']) / dilate * 1e6:.1f} µs, "
            f"β = {link['byte'] / dilate * 1e9:.2f} ns a byte; for each message, of the "
            f"processors that all share, {link['common'] / dilate * 1e9:.1f} ns.\n",
            *table(results),
            "",
        ]
    return "\n".join(text)


def put(page: str, text: str, mark: str = BEGIN, closing: str = END) -> str:
    """The page with the text between these marks."""
    before, begin, rest = page.partition(mark)
    _, end, after = rest.partition(closing)
    if not begin or not end:
        raise ValueError(f"the page has no {mark} with {closing} after it")
    return f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}"


def write(text: str) -> None:
    PAGE.write_text(put(PAGE.read_text(), text))
