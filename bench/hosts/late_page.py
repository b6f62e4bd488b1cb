# SPDX-License-Identifier: BSD-3-Clause
"""What was measured with late ranks as tables 3 and 4 of Proficz (2018), beside the paper's numbers
and what the model says of its 48 processes; and as a section of the paper's page."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import late_risks
from late_model import RANKS, elapsed
from paper_page import END, put
from published_late import Source, Value, table_3, table_4
from sizes import size_text
from stretto.cli import arrival_tables
from stretto.cli.arrival_plot import plot
from stretto.cli.arrival_tables import BETTER, BOUNDS, COMPARED, MODES, NONE, Cell, Grid, seen

PAGE = Path(__file__).resolve().parents[2] / "docs/papers/proficz.md"
BEGIN = "<!-- measured: written by bench/hosts/proficz.py --page -->"
HEAD = "### Links of "
LEGEND = """\
Mean over ranks and calls of the time from a rank's arrival to its finish, ms; in brackets the \
speed-up over the ring of the same calls. *n hosts*: measured here. *Paper*: its tables, {ranks} \
processes. *Model*: the same number in the model, α = 0.32 ms, β = 4.49 ns, γ = 0.2 ns a byte. \
*Bound*: what no allreduce can do faster, by α and β as measured on these hosts and the arrivals \
as they were; behind the stroke, if hosts take in what comes for a rank before it. `chain` is the \
paper's SLT, `pre_reduced_ring` its PRR; both, and `late_rooted`, are made for the arrivals of the \
last calls and for what ranks tell half-way.
"""


def markdown(found: list[dict], page: str = "") -> str:
    """Of all rates, sizes and numbers of hosts; of what was not measured, what the page has."""
    made = {**dict(_sections_of(page)), **dict(_sections(found))}
    return "\n".join([LEGEND.format(ranks=RANKS), *made.values()])


def _sections_of(page: str) -> Iterator[tuple[str, str]]:
    """Of a page, by their titles."""
    _, *parts = page.partition(BEGIN)[2].partition(END)[0].split(HEAD)
    for part in parts:
        yield part.partition("\n")[0], f"{HEAD}{part.rstrip()}\n"


def _sections(found: list[dict]) -> Iterator[tuple[str, str]]:
    """Of what was measured, by their titles."""
    for rate, size, whole in _groups(found):
        some = [late_risks.only(results, part="tables") for results in whole]
        title = f"{rate}, {size_text(size)}"
        text = [f"{HEAD}{title}\n", *map(_about, whole), ""]
        for mode in seen(_rows(some), "mode"):
            text += _section(by_algorithm(some, mode, size))
            if any(row["algorithm"] == COMPARED for row in _at(_rows(some), mode, size)):
                text += _section(against_ring(some, mode))
        if _rows(some):
            text += [f"![Figures 10 to 12, {title}](../images/{image(rate, size)})", ""]
        text += late_risks.sections(whole)
        yield title, "\n".join(text)


def _groups(found: list[dict]) -> Iterator[tuple[str, int, list[dict]]]:
    """All of a rate and a size."""
    for rate, group in itertools.groupby(found, lambda results: results["rate"]):
        whole = list(group)
        for size in sorted(seen(_rows(whole), "bytes")):
            of_size = (late_risks.only(results, bytes=size) for results in whole)
            yield rate, size, [results for results in of_size if results["rows"]]


def image(rate: str, size: int) -> str:
    return f"proficz-{rate}-{size_text(size).replace(' ', '')}.png"


def draw(found: list[dict], folder: Path) -> list[Path]:
    """A file for each rate and size."""
    written = []
    for rate, size, whole in _groups(found):
        tables = [late_risks.only(results, part="tables") for results in whole]
        if _rows(tables):
            written.append(folder / image(rate, size))
            plot([results for results in tables if results["rows"]], str(written[-1]))
    return written


def write(found: list[dict]) -> None:
    page = PAGE.read_text()
    PAGE.write_text(put(page, markdown(found, page), BEGIN))


def by_algorithm(found: list[dict], mode: str, size: int) -> Grid:
    """Table 3: of each algorithm what was measured, what the paper has and what the model says."""
    rows = _at(_rows(found), mode, size)
    delays = sorted(seen(rows, "delay_us"))
    made = []
    for name in seen(rows, "algorithm"):
        for who, source in (
            *((_hosts(results), measured(results, name)) for results in found),
            ("paper", table_3(name)),
            ("model", elapsed(name)),
        ):
            values = [source(mode, size, round(delay * 1e-3)) for delay in delays]
            if any(values):
                made.append(_line(f"`{name}`, {who}", values, elapsed_cell))
    for results in found:
        bounds = {
            row["delay_us"]: " / ".join(f"{row[field] * 1e-3:.1f}" for field in BOUNDS.values())
            for row in _at(results["rows"], mode, size)
        }
        if bounds:
            cells = (Cell(bounds.get(delay, NONE)) for delay in delays)
            made.append([Cell(f"bound, {_hosts(results)}"), *cells])
    return Grid(f"{size_text(size)}, {MODES[mode]} (table 3)", _head(delays), made)


def against_ring(found: list[dict], mode: str) -> Grid:
    """Table 4: by how much the pre-reduced ring is slower than the ring."""
    rows = [row for row in _rows(found) if row["mode"] == mode and row["algorithm"] == COMPARED]
    delays = sorted(seen(rows, "delay_us"))
    made = []
    for size in sorted(seen(rows, "bytes")):
        for who, source in (
            *((_hosts(results), measured(results, COMPARED)) for results in found),
            ("paper", table_4),
            ("model", elapsed(COMPARED)),
        ):
            values = [source(mode, size, round(delay * 1e-3)) for delay in delays]
            if any(values):
                made.append(_line(f"{size_text(size)}, {who}", values, more_cell))
    title = f"`{COMPARED}`: ms more than the ring, {MODES[mode]} (table 4)"
    return Grid(title, _head(delays), made)


def measured(results: dict, name: str) -> Source:
    """Of one algorithm on one number of hosts."""

    def find(mode: str, size: int, ms: int) -> Value | None:
        for row in _at(results["rows"], mode, size):
            if (row["algorithm"], round(row["delay_us"] * 1e-3)) == (name, ms) and row["speedup"]:
                took = row["elapsed_us"] * 1e-3
                return Value(took, took * (1 - row["speedup"]), row["speedup"])
        return None

    return find


def elapsed_cell(value: Value) -> str:
    return f"{value.ms:.1f} ({value.speedup:.2f})"


def more_cell(value: Value) -> str:
    return f"{value.more:.1f} ({value.speedup:.2f})"


def _line(name: str, values: list[Value | None], show: Callable[[Value], str]) -> list[Cell]:
    cells = (Cell(show(each), each.speedup >= BETTER) if each else Cell(NONE) for each in values)
    return [Cell(name), *cells]


def _head(delays: list[float]) -> list[str]:
    return ["late by, ms", *(f"{each * 1e-3:g}" for each in delays)]


def _section(grid: Grid) -> list[str]:
    return [f"**{grid.title}**\n", *arrival_tables.markdown(grid), ""]


def _about(results: dict) -> str:
    meta = results["meta"]
    return (
        f"- {_hosts(results)}: {meta['date']}, {meta['cpu']}, {meta['cores']} cores for all; "
        f"α = {meta['link']['alpha'] * 1e6:.0f} µs, β = {meta['link']['beta'] * 1e9:.2f} ns a byte"
    )


def _hosts(results: dict) -> str:
    return f"{results['meta']['ranks']} hosts"


def _rows(found: list[dict]) -> list[dict]:
    return [row for results in found for row in results["rows"]]


def _at(rows: list[dict], mode: str, size: int) -> list[dict]:
    return [row for row in rows if (row["mode"], row["bytes"]) == (mode, size)]
