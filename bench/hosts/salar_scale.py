# SPDX-License-Identifier: BSD-3-Clause
"""The paper's scales by simulation: the time of an allreduce over nodes with many ranks, as the
price of real schedules (src/cost/price.hpp) over a network with the paper's parameters."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from paper_page import KIB, MIB, put, time_text
from salar_model import PAGE, ROOT, Model
from sizes import parse_size, parse_sizes, size_text
from stretto import UnsupportedError, _core

PLOT = ROOT / "docs/images/bayatpour-panda-scale.png"
BEGIN = "<!-- scale: written by bench/hosts/bayatpour_panda.py scale --page -->"
END = "<!-- scale: end -->"
SCALES = ("64x28", "32x32", "27x28", "16x28", "32x28")  # 1792, 1024, 756, 448, 896 ranks
SIZES = "4K,64K,512K,4M,64M"
DRAWN = ("64x28", "27x28")
ELEMENT = 4
LEAST_CHUNK = 32 * KIB  # of SALaR with several chunks
# From this many nodes on, SALaR has at most four chunks, uncut: its price takes time by its blocks,
# 6 million of a chunk at 64 x 28, 2 s.
MANY_NODES = 32
MOST_WORK = 1 << 25  # blocks and pieces of a price
FAMILIES = {"flat": "flat", "two-level": "two-level", "dpml": "DPML", "salar": "SALaR"}
# Okabe and Ito's colours.
COLOURS = {"flat": "#999999", "two-level": "#0072b2", "dpml": "#009e73", "salar": "#d55e00"}


@dataclass(frozen=True)
class Network:
    """Microseconds, and microseconds per byte.  G, G' and C are the paper's.  It has no latencies
    or overheads: these are ours, round numbers of EDR InfiniBand and of shared memory."""

    gap: float = Model.gap
    gap_inside: float = Model.gap_inside
    compute: float = Model.compute
    latency: float = 0.8
    overhead: float = 0.2
    latency_inside: float = 0.3
    overhead_inside: float = 0.1
    reads: bool = True  # ranks of a node read memory of one another at the same time
    slice: int | None = None  # bytes; None: messages travel uncut, as in the paper's designs

    def times(self, factor: float) -> Network:
        """With all latencies and overheads so many times as long."""
        names = ("latency", "overhead", "latency_inside", "overhead_inside")
        return replace(self, **{name: factor * getattr(self, name) for name in names})

    def price(self, schedule: _core.Schedule, placed: _core.Topology, size: int) -> float:
        """Seconds; of an allreduce of so many bytes.  Flat schedules have no topology."""
        return _core.price(
            schedule, size // ELEMENT, ELEMENT, self.slice, self.latency * 1e-6,
            self.overhead * 1e-6, self.gap * 1e-6, self.compute * 1e-6,
            host_of=placed.host_of, reads=self.reads, work=MOST_WORK,
            inside=(self.latency_inside * 1e-6, self.overhead_inside * 1e-6,
                    self.gap_inside * 1e-6, self.compute * 1e-6),
        )["seconds"]  # fmt: skip


def shape(scale: str) -> tuple[int, int]:
    """Nodes, and ranks of each."""
    nodes, ranks = scale.split("x")
    return int(nodes), int(ranks)


def forms(nodes: int, ranks_per_node: int) -> Iterator[tuple[str, str, str, int]]:
    """(family, short name, algorithm, bytes from which on it is priced)."""
    for name in ("recursive_doubling", "rabenseifner", "ring"):
        yield "flat", name, name, 0
    # One leader of each node, to which all send; or a tree inside the node.
    for intra in ("direct", "circulant"):
        for inter in ("recursive_doubling", "rabenseifner"):
            text = f"hierarchical(intra={intra}, inter={inter}, leaders=1)"
            yield "two-level", f"{inter}, {'tree' if intra == 'circulant' else intra}", text, 0
    for leaders in sorted({*(each for each in (1, 2, 4, 8, 16) if each < ranks_per_node),
                           ranks_per_node}):  # fmt: skip
        for inter in ("recursive_doubling", "rabenseifner"):
            text = f"hierarchical(intra=direct, inter={inter}, leaders={leaders})"
            yield "dpml", f"l = {leaders}, {inter}", text, 0
    for chunks, segments in ((1, 1), (4, 1), (8, 1), (16, 1), (4, 2)):
        if nodes >= MANY_NODES and chunks * segments > 4:
            continue
        text = f"salar(chunks={chunks}, segments={segments})"
        yield (
            "salar",
            f"I = {chunks}, K = {segments}",
            text,
            LEAST_CHUNK * (chunks if chunks > 1 else 0),
        )


def simulate(network: Network, scale: str, sizes: Sequence[int]) -> list[dict]:
    """A row for each form and size; seconds.  A form that has too much work is left out."""
    nodes, ranks = shape(scale)
    placed = _core.Topology(scale, nodes * ranks)
    found: list[dict] = []
    for family, name, text, least in forms(nodes, ranks):
        began = time.monotonic()
        schedule = _core.schedule("allreduce", text, nodes * ranks, 0, placed)
        try:
            for size in sizes:
                if size < least:
                    continue
                seconds = network.price(schedule, placed, size)
                found.append({"scale": scale, "bytes": size, "family": family, "form": name,
                              "algorithm": text, "seconds": seconds})  # fmt: skip
        except UnsupportedError as error:
            print(f"{scale}, {text}: left out: {error}", file=sys.stderr)
        if time.monotonic() - began > 10:
            print(f"{scale}, {text}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return found


def best(found: Sequence[dict], scale: str, size: int, family: str) -> dict:
    """The fastest form; of forms that are equally fast, the first."""
    those = [row for row in found if (row["scale"], row["bytes"], row["family"]) ==
             (scale, size, family)]  # fmt: skip
    return min(those, key=lambda row: row["seconds"])


def gains(found: Sequence[dict], scale: str, size: int) -> dict:
    """How many times as fast DPML and SALaR are as others."""
    times = {each: best(found, scale, size, each)["seconds"] for each in FAMILIES}
    return {f"{new}/{old}": times[old] / times[new]
            for new in ("dpml", "salar") for old in ("two-level", "flat")}  # fmt: skip


def table_of(header: Sequence[str], left: int, lines: Sequence[Sequence[str]]) -> list[str]:
    """Markdown; the first `left` columns are texts."""
    marks = [":--" if at < left else "--:" for at in range(len(header))]
    return [f"| {' | '.join(each)} |" for each in (header, marks, *lines)]


def times_table(found: Sequence[dict]) -> list[str]:
    header = ["nodes × ranks", "vector"]
    for name in FAMILIES.values():
        header += [f"{name}, fastest", "time"]
    header += ["DPML: two-level ÷", "SALaR: two-level ÷", "SALaR: flat ÷"]
    lines, order = [], list(dict.fromkeys(row["scale"] for row in found))
    for scale, size in sorted({(row["scale"], row["bytes"]) for row in found},
                              key=lambda key: (order.index(key[0]), key[1])):  # fmt: skip
        cells = [scale.replace("x", " × "), size_text(size)]
        for family in FAMILIES:
            row = best(found, scale, size, family)
            cells += [row["form"].replace("recursive_doubling", "r. d."), time_text(row["seconds"])]
        ratio = gains(found, scale, size)
        cells += [f"{ratio[name]:.2f}" for name in ("dpml/two-level", "salar/two-level",
                                                     "salar/flat")]  # fmt: skip
        lines.append(cells)
    return table_of(header, 3, lines)


# ---- what results depend on


DEPENDENCE = (("27x28", 4 * KIB), ("27x28", 512 * KIB))


def variants(network: Network) -> dict[str, Network]:
    return {
        "as above": network,
        "latencies and overheads half as long": network.times(0.5),
        "twice as long": network.times(2),
        "inside nodes messages": replace(network, reads=False),
        "slices of 64 KiB": replace(network, slice=64 * KIB),
    }


def dependence(network: Network, points: Sequence[tuple[str, int]]) -> list[dict]:
    rows = []
    for scale, size in points:
        for name, other in variants(network).items():
            found = simulate(other, scale, [size])
            times = {each: best(found, scale, size, each) for each in FAMILIES}
            rows.append({"scale": scale, "bytes": size, "network": name,
                         "gains": gains(found, scale, size), "best": times})  # fmt: skip
    return rows


def dependence_table(rows: Sequence[dict]) -> list[str]:
    lines = [
        [row["scale"].replace("x", " × "), size_text(row["bytes"]), row["network"],
         *(time_text(row["best"][each]["seconds"]) for each in FAMILIES),
         *(f"{row['gains'][each]:.2f}" for each in ("dpml/two-level", "salar/two-level",
                                                    "salar/flat"))]
        for row in rows
    ]  # fmt: skip
    header = ["nodes × ranks", "vector", "network", *FAMILIES.values(), "DPML: two-level ÷",
              "SALaR: two-level ÷", "SALaR: flat ÷"]  # fmt: skip
    return table_of(header, 3, lines)


# ---- the formula beside the schedule


FORMULA_SCALE, FORMULA_SIZE = "8x28", 64 * MIB


def formula_rows(chunks: Sequence[int] = (1, 2, 4, 8, 16)) -> list[dict]:
    """The printed formula (K = 1, C' = 0) and prices of `salar` without latency or overhead."""
    nodes, ranks = shape(FORMULA_SCALE)
    placed = _core.Topology(FORMULA_SCALE, nodes * ranks)
    model = Model(nodes=nodes, ranks_per_node=ranks)
    network = Network().times(0)
    rows = []
    for each in chunks:
        schedule = _core.schedule("allreduce", f"salar(chunks={each})", nodes * ranks, 0, placed)
        times = model.times(FORMULA_SIZE, each)
        rows.append({
            "chunks": each, "total": times["total"], "pipelined": times["pipelined"],
            "reads": network.price(schedule, placed, FORMULA_SIZE),
            "messages": replace(network, reads=False).price(schedule, placed,
                                                                FORMULA_SIZE),
        })  # fmt: skip
    return rows


def formula_table(rows: Sequence[dict]) -> list[str]:
    lines = [
        [str(row["chunks"]), *(f"{1e3 * row[each]:.4g}" for each in ("total", "pipelined", "reads",
                                                                   "messages")),
         f"{row['reads'] / row['pipelined']:.3f}"]
        for row in rows
    ]  # fmt: skip
    header = ["I", "formula", "with filling", "schedule, reads", "schedule, messages",
              "reads ÷ filling"]  # fmt: skip
    return table_of(header, 0, lines)


# ---- picture, page, command


def draw(found: Sequence[dict], path: Path) -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib.figure import Figure

    scales = [each for each in DRAWN if any(row["scale"] == each for row in found)]
    scales = scales or [found[0]["scale"]]
    figure = Figure(figsize=(6 * len(scales), 4.4), layout="tight")
    axes = figure.subplots(1, len(scales), squeeze=False)[0]
    for axis, scale in zip(axes, scales, strict=True):
        sizes = sorted({row["bytes"] for row in found if row["scale"] == scale})
        for family, label in FAMILIES.items():
            times = [1e3 * best(found, scale, size, family)["seconds"] for size in sizes]
            axis.plot(sizes, times, marker=".", color=COLOURS[family], label=label)
        nodes, ranks = shape(scale)
        axis.set_title(f"{nodes} nodes × {ranks} ranks, simulation", fontsize=10)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.xaxis.set_major_formatter(lambda size, _: size_text(round(size)) if size >= 1 else "")
        axis.tick_params(axis="x", labelsize=7)
        axis.set(xlabel="vector", ylabel="ms, fastest form")
        axis.grid(alpha=0.25)
        axis.legend(fontsize=7, frameon=False)
    figure.savefig(path, dpi=130)


def headline(network: Network) -> str:
    cut = "uncut messages" if network.slice is None else f"slices of {size_text(network.slice)}"
    inside = "reads" if network.reads else "messages"
    return (
        f"Simulation, nothing is measured. G = {network.gap:g}, G′ = {network.gap_inside:g}, "
        f"C = {network.compute:g} µs a byte; between nodes {network.latency:g} µs latency and "
        f"{network.overhead:g} µs overhead, inside {network.latency_inside:g} µs and "
        f"{network.overhead_inside:g} µs; {inside} inside nodes, {cut}."
    )


def section(network: Network, found: Sequence[dict], depends: Sequence[dict],
            formula: Sequence[dict]) -> list[str]:  # fmt: skip
    lines = [headline(network), "", *times_table(found)]
    if depends:
        lines += ["", "What ratios depend on (simulation):", "", *dependence_table(depends)]
    if not formula:
        return lines
    nodes, ranks = shape(FORMULA_SCALE)
    title = f"{nodes} × {ranks}, {size_text(FORMULA_SIZE)}, K = 1, no latency or overhead; ms:"
    return [*lines, "", f"The formula beside the price of `salar` (simulation), {title}", "",
            *formula_table(formula)]  # fmt: skip


def parse_arguments(given: Sequence[str]) -> argparse.Namespace:
    usual = Network()
    parser = argparse.ArgumentParser(prog="bayatpour_panda.py scale", description=__doc__)
    add = parser.add_argument
    add("--scales", type=lambda text: text.split(","), default=list(SCALES),
        help=f"nodes x ranks of each ({','.join(SCALES)})")  # fmt: skip
    add("--sizes", type=parse_sizes, default=parse_sizes(SIZES), help=f"({SIZES})")
    for name, what in (("gap", "G"), ("gap_inside", "G'"), ("compute", "C")):
        add(f"--{name.replace('_', '-')}", type=float, default=getattr(usual, name),
            help=f"{what}, µs per byte ({getattr(usual, name):g})")  # fmt: skip
    for name in ("latency", "overhead", "latency_inside", "overhead_inside"):
        add(f"--{name.replace('_', '-')}", type=float, default=getattr(usual, name),
            help=f"µs ({getattr(usual, name):g})")  # fmt: skip
    add("--messages", dest="reads", action="store_false",
        help="inside nodes data occupy the port of the sender too")  # fmt: skip
    add("--slice", type=parse_size, help="cut messages into slices of so many bytes (uncut)")
    add("--times-only", action="store_true",
        help="leave out what results depend on, and the formula")  # fmt: skip
    add("--json", type=Path, help="write the numbers here as well")
    add("--plot", type=Path, default=PLOT, help=f"({PLOT.relative_to(ROOT)})")
    add("--page", action="store_true", help=f"write the tables into {PAGE.relative_to(ROOT)}")
    return parser.parse_args(given)


def main(given: Sequence[str]) -> int:
    arguments = parse_arguments(given)
    network = Network(**{name: getattr(arguments, name) for name in asdict(Network())})
    found = []
    for scale in arguments.scales:
        began = time.monotonic()
        found += simulate(network, scale, arguments.sizes)
        print(f"{scale}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    depends = [] if arguments.times_only else dependence(network, DEPENDENCE)
    formula = [] if arguments.times_only else formula_rows()
    text = "\n".join(section(network, found, depends, formula))
    print(text)
    if arguments.json:
        numbers = {"network": asdict(network), "rows": found, "dependence": depends,
                   "formula": formula}  # fmt: skip
        arguments.json.write_text(json.dumps(numbers, indent=1) + "\n")
    draw(found, arguments.plot)
    if arguments.page:
        PAGE.write_text(put(PAGE.read_text(), text, BEGIN, END))
    return 0
