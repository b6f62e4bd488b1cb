# SPDX-License-Identifier: BSD-3-Clause
"""Compares Stretto's allreduce over TCP with its peers', on clusters of the lab (docs/lab.md) that
it makes for that: builds, measures, reports.  Needs root."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import signal
import statistics
import sys
import sysconfig
import time
from pathlib import Path

import pages
import summary
from cluster import ROOT, made
from compare import cpu_name
from figure import draw
from jobs import Measured, launches, measure
from launching import LaunchError
from peers import run
from placement import placements, spoken
from recipes import BUILD, RECIPES, Recipe
from rich.console import Console
from rich.progress import Progress, TimeElapsedColumn
from sizes import parse_sizes, size_text

SIZES = "4,64,1K,4K,16K,64K,4M,64M,256M"
PROBE_SECONDS = 2


def recipes(text: str) -> list[Recipe]:
    if unknown := set(text.split(",")) - set(RECIPES):
        raise argparse.ArgumentTypeError(f"no {', '.join(unknown)}; of {', '.join(RECIPES)}")
    return [RECIPES[name] for name in text.split(",")]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run.py", description=__doc__)
    add = parser.add_argument
    add("--hosts", type=placements, default="4,5,6,7,8,16",
        help="how many, and ranks on each: 4, 8x2, 3+1+4 (4,5,6,7,8,16)")  # fmt: skip
    add("--rate", default="1gbit", help="of the links, each way, headers included (1gbit)")
    add("--congestion", default="reno", help="TCP's congestion control, for all (reno)")
    add("--sizes", type=parse_sizes, default=SIZES, help=f"of the vector ({SIZES})")
    add("--peers", type=recipes, default=",".join(RECIPES), help=f"of {','.join(RECIPES)} (all)")
    add("--patience", type=float, default=1.0, help="2 makes twice as many calls (1)")
    add("--every-variant", action="store_true",
        help="also the settings of peers that were not their best in trials")  # fmt: skip
    results = {"json": "json", "markdown": "md", "plot": "png"}
    for option, suffix in results.items():
        default = ROOT / "results" / f"hosts-allreduce.{suffix}"
        add(f"--{option}", type=Path, default=default, help=f"results/{default.name}")
    return parser.parse_args()


def build(chosen: list[Recipe], console: Console) -> None:
    """Installs Stretto, optimised, into this environment, and the peers where they belong."""
    if os.geteuid() != 0:
        sys.exit("clusters of the lab need root: sudo python3 bench/hosts/run.py")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # not without its clusters' end
    BUILD.mkdir(exist_ok=True)
    with console.status("building Stretto"):
        run([sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps",
             "--force-reinstall", f"--config-settings=build-dir={BUILD / 'stretto'}",
             # No GPU is measured here, and kernels for GPUs compile for minutes.
             "--config-settings=cmake.define.STRETTO_NVCC=", ROOT])  # fmt: skip
    library = Path(sysconfig.get_path("platlib")) / "stretto" / "lib"
    for recipe in chosen:
        with console.status(f"installing and linking {recipe.title}"):
            recipe.install(library)


def measure_all(
    arguments: argparse.Namespace, console: Console
) -> tuple[list[Measured], dict[str, list[float]], list[str]]:
    """What was measured, what the links carry, and what failed."""
    found, rates, failures = [], {}, []
    with Progress(*Progress.get_default_columns(), TimeElapsedColumn(), console=console) as bar:
        task = bar.add_task("", total=len(arguments.hosts))
        for placement in arguments.hosts:
            hosts = f"{spoken(str(placement))} hosts"
            bar.update(task, description=hosts)
            with made(placement.hosts, arguments.rate, arguments.congestion) as cluster:
                rates[str(placement)] = cluster.probe(PROBE_SECONDS)["payload_bits_per_second"]
                for job, recipe, variant in launches(
                    cluster, placement, arguments.peers, arguments.sizes, arguments.patience,
                    arguments.every_variant,
                ):  # fmt: skip
                    what = " ".join(filter(None, (recipe.title, variant.name)))
                    bar.update(task, description=f"{hosts}, {what}")
                    try:
                        for one in measure(job, recipe, variant):
                            found.append(one)
                            if one.who == "stretto":  # always the first of a size
                                ours = one
                            else:
                                console.print(line(one, ours, what), highlight=False)
                    except LaunchError as error:
                        failures.append(str(error))
                        console.print(f"{what} failed on {hosts}: {error}", markup=False)
            bar.advance(task)
    return found, rates, failures


def line(one: Measured, stretto: Measured, what: str) -> str:
    """Of what was just measured."""
    who = what if one.who == "peer" else one.who
    times = [f"{statistics.median(each.us):,.0f}" for each in (one, stretto)]
    hosts = spoken(str(one.placement))
    return f"{hosts} hosts, {size_text(one.bytes)}: {who} {times[0]} µs, Stretto {times[1]} µs"


def facts(chosen: list[Recipe]) -> dict:
    """Of the machine and of what is measured on it."""
    return {
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "cpu": cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "peers": {recipe.name: recipe.packages() for recipe in chosen},
    }


def main() -> int:
    console = Console()
    console.width = max(console.width, 190)  # of the tables
    arguments = parse_arguments()
    build(arguments.peers, console)
    meta = facts(arguments.peers)
    found, rates, failures = measure_all(arguments, console)
    if not found:
        sys.exit("nothing was measured")
    meta |= {
        "rate": arguments.rate,
        "congestion": arguments.congestion,
        "every_variant": arguments.every_variant,
        "failures": failures,
    }
    results = {
        "meta": meta,
        "rates": rates,
        "rows": summary.rows(found, rates),
        "wrong": summary.wrong(found),
        "measured": [dataclasses.asdict(each) for each in found],
    }
    for path in (arguments.json, arguments.markdown, arguments.plot):
        path.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(results))
    pages.write_markdown(results, arguments.markdown)
    draw(results, arguments.plot)
    pages.show(results, console)
    console.print(f"wrote {arguments.json}, {arguments.markdown}, {arguments.plot}")
    for where, count in results["wrong"].items():
        console.print(f"WRONG: {count} elements of {where}")
    return 1 if failures or results["wrong"] else 0
