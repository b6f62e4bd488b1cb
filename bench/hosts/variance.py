# SPDX-License-Identifier: BSD-3-Clause
"""The measurement of Ueno and Fukuda ("Technologies behind Distributed Deep Learning: AllReduce",
2018), its CPU part: 8 hosts, 256 MiB, 10 runs with the first among them; median, interval, least
and most.  Two kinds of runs: calls of one job ("job"), and first calls of jobs that are started
anew ("fresh").  Stretto, Open MPI and a plain ring are in the same processes and take turns; Gloo
and Stretto's Python API likewise."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path

import summary
from cluster import ROOT, made
from contest import PROBE_SECONDS, build, facts
from jobs import Measured, measure
from launching import LaunchError
from matplotlib.figure import Figure
from placement import Placement
from recipes import MIB, RECIPES, Job, Recipe, Variant
from rich.console import Console

KINDS = {"job": "calls of one job", "fresh": "first calls of fresh jobs"}
OURS, OURS_IN_PYTHON = "Stretto", "Stretto (Python)"
TITLES = {
    ("openmpi", "stretto"): OURS,
    ("openmpi", "peer"): "Open MPI",
    ("openmpi", "ring"): "plain ring",
    ("gloo", "stretto"): OURS_IN_PYTHON,
    ("gloo", "peer"): "Gloo",
}
COLOURS = {OURS: "#c0392b", OURS_IN_PYTHON: "#e6b0aa", "Open MPI": "#2471a3", "Gloo": "#ca6f1e"}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="ueno_fukuda.py", description=__doc__)
    add = parser.add_argument
    add("--hosts", type=int, default=8, help="(8)")
    add("--mebibytes", type=int, default=256, help="of the vector (256)")
    add("--runs", type=int, default=10, help="(10)")
    add("--rate", default="1gbit", help="of the links (1gbit)")
    add("--congestion", default="reno", help="TCP's congestion control, for all (reno)")
    add("--kinds", default=",".join(KINDS), help=f"of {', '.join(KINDS)} (both)")
    add("--peers", default="openmpi,gloo", help="of openmpi, gloo (both)")
    for option, suffix in {"json": "json", "markdown": "md", "plot": "png"}.items():
        default = ROOT / "results" / f"ueno-fukuda.{suffix}"
        add(f"--{option}", type=Path, default=default, help=f"results/{default.name}")
    return parser.parse_args()


def fastest_variant(recipe: Recipe, size: int) -> Variant:
    return next(v for v in recipe.variants if v.usual and v.from_bytes <= size <= v.to_bytes)


def runs(arguments: argparse.Namespace, cluster, console: Console) -> dict[tuple, list[float]]:
    """Seconds by (kind, contestant), in order."""
    size = arguments.mebibytes * MIB
    found: dict[tuple, list[float]] = defaultdict(list)

    def launch(kind: str, name: str, who: tuple[str, ...], turns: int) -> None:
        job = Job(cluster, Placement((1,) * arguments.hosts), who, f"{size}/0/{turns}/1")
        limit = 60 + 60 * turns * len(who)
        for one in measure(job, RECIPES[name], fastest_variant(RECIPES[name], size), limit):
            add(kind, one)

    def add(kind: str, one: Measured) -> None:
        title = TITLES[one.peer, one.who]
        if one.wrong:
            raise LaunchError(f"{title}: {one.wrong} elements are wrong")
        found[kind, title] += [us / 1e6 for us in one.us]

    for name in arguments.peers.split(","):
        who = ["peer", "stretto"] + (["ring"] if RECIPES[name].takes_plain_sockets else [])
        if "job" in arguments.kinds:
            with console.status(f"{RECIPES[name].title}: {KINDS['job']}"):
                launch("job", name, tuple(who), arguments.runs)
        if "fresh" in arguments.kinds:
            for number in range(arguments.runs):
                with console.status(f"{RECIPES[name].title}: {KINDS['fresh']}, {number + 1}"):
                    launch("fresh", name, tuple(who), 1)
                who.append(who.pop(0))  # each comes first in turn
    return found


def row(kind: str, title: str, seconds: list[float], bound: float) -> dict:
    """The interval is that of the median by order statistics: of 10 runs the second least and the
    second most, which hold it with 97.9 %."""
    ordered, median = sorted(seconds), statistics.median(seconds)
    cut = len(ordered) // 6
    return {
        "kind": kind,
        "title": title,
        "seconds": [round(each, 4) for each in seconds],
        "first": seconds[0],
        "median": median,
        "interval": [ordered[cut], ordered[-1 - cut]],
        "min": ordered[0],
        "max": ordered[-1],
        "below": ordered[0] / median - 1,
        "above": ordered[-1] / median - 1,
        "to_bound": median / bound,
    }


def markdown(results: dict) -> str:
    lines = [
        f"{results['hosts']} hosts, {results['mebibytes']} MiB, {results['meta']['date']}, "
        f"{results['meta']['cpu']}, {results['meta']['cores']} cores for all hosts; links of "
        f"{results['rate']}, TCP's {results['congestion']}, bound {results['bound']:.3f} s.\n",
        "| runs | | median | interval | least | most | least to most | first | ÷ bound |",
        "|:--|:--|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for each in results["rows"]:
        low, high = each["interval"]
        cells = [KINDS[each["kind"]], each["title"], f"{each['median']:.3f} s"]
        cells += [f"{low:.3f} to {high:.3f}", f"{each['min']:.3f}", f"{each['max']:.3f}"]
        cells += [f"{100 * each['below']:+.1f} to {100 * each['above']:+.1f} %"]
        cells += [f"{each['first']:.3f}", f"{each['to_bound']:.3f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def draw(results: dict, path: Path) -> None:
    """As their figure 6: bars are medians, error bars the interval; dots are the runs."""
    kinds = list(dict.fromkeys(each["kind"] for each in results["rows"]))
    figure = Figure(figsize=(1.5 + 4.5 * len(kinds), 4.2), layout="tight")
    axes = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
    for axis, kind in zip(axes, kinds, strict=True):
        here = [each for each in results["rows"] if each["kind"] == kind]
        for x, each in enumerate(here):
            low, high = each["interval"]
            reach = [[each["median"] - low], [high - each["median"]]]
            colour = COLOURS.get(each["title"], "0.6")
            axis.bar(x, each["median"], yerr=reach, capsize=6, color=colour, alpha=0.6)
            places = [x - 0.3 + 0.6 * i / len(each["seconds"]) for i in range(len(each["seconds"]))]
            axis.plot(places, each["seconds"], ".", color="0.15", ms=5)
        axis.axhline(results["bound"], color="0.3", lw=1, ls="--")
        axis.set_xticks(range(len(here)), [each["title"] for each in here], fontsize=8)
        axis.set_title(KINDS[kind], fontsize=10)
        axis.grid(axis="y", alpha=0.25)
    figure.axes[0].set_ylabel("s (dashed: bound)")
    figure.savefig(path, dpi=130)


def main() -> int:
    console = Console()
    arguments = parse_arguments()
    chosen = [RECIPES[name] for name in arguments.peers.split(",")]
    build(chosen, console)
    meta = facts(chosen)
    with made(arguments.hosts, arguments.rate, arguments.congestion) as cluster:
        rates = cluster.probe(PROBE_SECONDS)["payload_bits_per_second"]
        try:
            found = runs(arguments, cluster, console)
        except LaunchError as error:
            sys.exit(str(error))
    size = arguments.mebibytes * MIB
    bound = summary.bound_us(arguments.hosts, size, statistics.median(rates)) / 1e6
    order = list(TITLES.values())
    keys = sorted(found, key=lambda key: (key[0] != "job", order.index(key[1])))
    results = {
        "meta": meta,
        "hosts": arguments.hosts,
        "mebibytes": arguments.mebibytes,
        "rate": arguments.rate,
        "congestion": arguments.congestion,
        "rates": rates,
        "bound": bound,
        "rows": [row(*key, found[key], bound) for key in keys],
    }
    for path in (arguments.json, arguments.markdown, arguments.plot):
        path.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(results, indent=1))
    text = markdown(results)
    arguments.markdown.write_text(text)
    draw(results, arguments.plot)
    console.print(text, markup=False, soft_wrap=True)
    console.print(f"wrote {arguments.json}, {arguments.markdown}, {arguments.plot}")
    return 0
