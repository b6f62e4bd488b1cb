# SPDX-License-Identifier: BSD-3-Clause
"""The validation figure of SALaR's model: the time of an allreduce by the printed formula, with the
parameters of the slide "Validation of Allreduce model on 8 nodes on cluster A"."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from paper_page import KIB, MIB, put
from sizes import parse_sizes, size_text
from stretto import _core

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/papers/bayatpour-panda.md"
PLOT = ROOT / "docs/images/bayatpour-panda-model.png"
BEGIN = "<!-- model: written by bench/hosts/bayatpour_panda.py model --page -->"
END = "<!-- model: end -->"
# "8MB is optimal among other chunk sizes", 224 processes, 28 on each node.
BEST_CHUNK = 8 * MIB
CHUNKED = (16 * MIB, 64 * MIB, 256 * MIB)  # vectors of the picture of chunk sizes
# Okabe and Ito's colours.
TOTAL, SIMPLE, INTER, INTRA, BOUND = "#d55e00", "#0072b2", "#009e73", "#e69f00", "#999999"
VECTORS = ("#56b4e9", "#009e73", "#d55e00")


@dataclass(frozen=True)
class Model:
    """The parameters of the slide, in its units: microseconds per byte."""

    nodes: int = 8
    ranks_per_node: int = 28  # of cluster A; the slide does not say how many it used
    gap: float = 0.0000841  # G
    gap_inside: float = 0.0003077  # G'
    compute: float = 0.0001835  # C
    per_iteration: float = 0.0  # C', microseconds; the slide has no number for it
    network_chunks: int = 1  # K

    def times(self, size: float, chunks: int = 1, per_iteration: float | None = None) -> dict:
        """Seconds (python/src/salar.hpp)."""
        return _core.salar(
            self.nodes, self.ranks_per_node, size, self.network_chunks, chunks,
            self.gap * 1e-6, self.gap_inside * 1e-6, self.compute * 1e-6,
            1e-6 * (self.per_iteration if per_iteration is None else per_iteration),
        )  # fmt: skip

    def fitted(self, chunk: int = BEST_CHUNK) -> float:
        """The C', microseconds, by which chunks of this size are the best of a long vector; 0 if
        the network is the slower side whatever the chunk, as then no C' does it for all vectors."""
        of_byte = self.times(1e9, per_iteration=0)
        return max(0.0, of_byte["intra"] - of_byte["inter"]) * 1e-3 * chunk

    def best_chunk(self, size: int, per_iteration: float) -> float:
        """Bytes."""
        found = _core.salar_chunks(
            self.nodes, self.ranks_per_node, size, self.network_chunks, 65536, self.gap * 1e-6,
            self.gap_inside * 1e-6, self.compute * 1e-6, per_iteration * 1e-6,
        )  # fmt: skip
        return size / found["best"]


HEADER = ["vector", "T_inter", "T_intra", "T_bcast", "T", "simplified", "÷ T", "no overlap"]


def rows(model: Model, sizes: Sequence[int]) -> list[dict]:
    """A size each; seconds."""
    return [{"bytes": size, **model.times(size)} for size in sizes]


def cells(row: dict) -> list[str]:
    """Of the table; milliseconds."""
    times = [row[name] for name in ("inter", "intra", "distribution", "total", "simplified")]
    return [
        size_text(row["bytes"]),
        *(f"{1e3 * each:.4g}" for each in times),
        f"{row['simplified'] / row['total']:.3f}",
        f"{1e3 * row['pipelined']:.4g}",
    ]


def table(found: Sequence[dict]) -> list[str]:
    """Markdown."""
    lines = [f"| {' | '.join(HEADER)} |", "|" + "---:|" * len(HEADER)]
    return lines + [f"| {' | '.join(cells(row))} |" for row in found]


def headline(model: Model) -> str:
    cost = f", C′ = {model.per_iteration:g} µs" if model.per_iteration else ", C′ = 0"
    return (
        f"n = {model.nodes}, p = {model.ranks_per_node}, K = {model.network_chunks}, "
        f"G = {model.gap:g}, G′ = {model.gap_inside:g}, C = {model.compute:g} µs a byte{cost}"
    )


def chunk_sizes(size: int) -> list[int]:
    """Powers of two from 256 KiB to the vector."""
    return [256 * KIB << each for each in range(size.bit_length()) if 256 * KIB << each <= size]


def draw(model: Model, found: Sequence[dict], path: Path) -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.4), layout="tight")
    left, right = figure.subplots(1, 2)
    sizes = [row["bytes"] for row in found]
    for name, label, look in (
        ("total", "printed formula", {"color": TOTAL, "lw": 2.5}),
        ("simplified", "simplified form", {"color": SIMPLE, "ls": "--"}),
        ("intra", "intra-node term", {"color": INTRA, "lw": 1}),
        ("inter", "inter-node term", {"color": INTER, "lw": 1}),
        ("network_bound", "2 (n−1)/n G l", {"color": BOUND, "ls": ":"}),
    ):
        times = [1e3 * row[name] for row in found]
        left.plot(sizes, times, marker=".", label=label, **look)
    left.set_yscale("log")
    left.set_title(f"{model.nodes} nodes × {model.ranks_per_node} ranks", fontsize=10)
    per_iteration = model.per_iteration or model.fitted()
    for size, colour in zip(CHUNKED, VECTORS, strict=True):
        chunks = chunk_sizes(size)
        for what, look in (("pipelined", {"marker": "."}), ("total", {"ls": ":", "lw": 1})):
            label = f"{size_text(size)}, {'pipeline filled' if what == 'pipelined' else 'printed'}"
            times = [1e3 * model.times(size, size // each, per_iteration)[what] for each in chunks]
            right.plot(chunks, times, color=colour, label=label, **look)
    right.set_title(f"chunk size, C′ = {per_iteration:.0f} µs", fontsize=10)
    right.set_yscale("log", base=2)
    right.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    for axis, what in ((left, "vector"), (right, "chunk, l / I")):
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter(lambda size, _: size_text(round(size)) if size >= 1 else "")
        axis.tick_params(axis="x", labelsize=7)
        axis.set(xlabel=what, ylabel="ms")
        axis.grid(alpha=0.25)
        axis.legend(fontsize=7, frameon=False)
    figure.savefig(path, dpi=130)


def parse_arguments(given: Sequence[str]) -> argparse.Namespace:
    usual = Model()
    parser = argparse.ArgumentParser(prog="bayatpour_panda.py model", description=__doc__)
    add = parser.add_argument
    add("--nodes", type=int, default=usual.nodes, help="n (8)")
    add("--ranks-per-node", type=int, default=usual.ranks_per_node, help="p (28)")
    add("--gap", type=float, default=usual.gap, help="G, µs per byte (0.0000841)")
    add("--gap-inside", type=float, default=usual.gap_inside, help="G', µs per byte (0.0003077)")
    add("--compute", type=float, default=usual.compute, help="C, µs per byte (0.0001835)")
    add("--per-iteration", type=float, default=usual.per_iteration, help="C', µs (0)")
    add("--network-chunks", type=int, default=usual.network_chunks, help="K (1)")
    add("--sizes", type=parse_sizes, default=parse_sizes("1M:256M"), help="(1M:256M)")
    add("--json", type=Path, help="write the numbers here as well")
    add("--plot", type=Path, default=PLOT, help=f"({PLOT.relative_to(ROOT)})")
    add("--page", action="store_true", help=f"write the table into {PAGE.relative_to(ROOT)}")
    return parser.parse_args(given)


def main(given: Sequence[str]) -> int:
    arguments = parse_arguments(given)
    values = {name: getattr(arguments, name) for name in asdict(Model())}
    model = Model(**values)
    found = rows(model, arguments.sizes)
    lines = table(found)
    print(f"{headline(model)}; times in ms\n", *lines, sep="\n")
    fitted = model.fitted()
    print(
        f"\nno overlap: one chunk, which the formula charges as if it overlapped\n"
        f"C' by which chunks of {size_text(BEST_CHUNK)} are best: {fitted:.4g} µs"
    )
    if arguments.json:
        text = {"model": values, "fitted_per_iteration": fitted, "rows": found}
        arguments.json.write_text(json.dumps(text, indent=1) + "\n")
    draw(model, found, arguments.plot)
    if arguments.page:
        text = "\n".join([f"{headline(model)}; times in ms.", "", *lines])
        PAGE.write_text(put(PAGE.read_text(), text, BEGIN, END))
    return 0
