# SPDX-License-Identifier: BSD-3-Clause
"""The processor time of phases (phases.c), by what is known of arrivals: nothing; when ranks came
to the last calls; and what they tell of their computation besides.  A rank on each host; the three
take turns."""

from __future__ import annotations

import argparse
import os
import statistics
import sysconfig
from pathlib import Path

from cluster import ROOT, Cluster, made
from contest import build
from kept import PATIENCE, START, Kept
from peers import run
from recipes import BUILD, HERE
from rich.console import Console
from rich.table import Table
from sizes import parse_sizes, size_text

# By name: STRETTO_ARRIVALS, and whether ranks tell of their phases.
SETTINGS = {"not watched": (0, 0), "watched": (1, 0), "watched, with edges": (1, 1)}
PROGRAM = BUILD / "phases"
WARMUP = 30  # seconds, by which all that is decided is, and rests are long


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="monitoring.py", description=__doc__)
    add = parser.add_argument
    add("--hosts", type=int, default=16, help="a rank on each (16)")
    add("--rate", default="1gbit", help="of the links (1gbit)")
    add("--congestion", default="reno", help="TCP's congestion control (reno)")
    add("--bytes", type=parse_sizes, default="512K", help="of the vector (512K)")
    add("--per-second", type=float, default=40, help="phases (40)")
    add("--phases", type=int, default=1200, help="of each setting in a turn (1200)")
    add("--turns", type=int, default=3, help="(3)")
    default = ROOT / "results" / "hosts-monitoring.json"
    add("--json", type=Path, default=default, help=f"results/{default.name}")
    return parser.parse_args()


def compile_program() -> None:
    library = Path(sysconfig.get_path("platlib")) / "stretto" / "lib"
    run([os.environ.get("CC", "cc"), "-std=gnu11", "-O3", "-Wall", "-Wextra",
         f"-I{ROOT / 'include'}", HERE / "phases.c", "-o", PROGRAM, f"-L{library}",
         f"-Wl,-rpath,{library}", "-lstretto"])  # fmt: skip


class Phases(Kept):
    """All turns on a number of hosts; nothing is kept of earlier ones."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options.json, options.hosts, {"rate": options.rate}, anew=True)
        self.options = options

    def measure(self, cluster: Cluster) -> None:
        options, profile = self.options, self.profile(cluster)
        seconds, warmup = 1 / options.per_second, round(WARMUP * options.per_second)
        for turn in range(options.turns):
            for name, (arrivals, tells) in SETTINGS.items():
                command = [PROGRAM, options.phases, warmup, seconds, options.bytes[0], tells]
                limit = START + PATIENCE * (options.phases + warmup) * seconds
                (found,) = self.job(
                    cluster, list(map(str, command)), limit, profile,
                    STRETTO_ARRIVALS=str(arrivals),
                )  # fmt: skip
                self.results["rows"].append({"turn": turn, "setting": name, **found})
                self.save()


def summarise(rows: list[dict]) -> dict[str, dict[str, float]]:
    """Medians over turns, microseconds of a phase: the mean over hosts; how far that is above the
    first setting of its turn; the same of the library's threads alone, which is far less noisy; and
    of those on the busiest host."""
    first = next(iter(SETTINGS))
    base = {row["turn"]: row for row in rows if row["setting"] == first}

    def median(name: str, what: str, above: bool) -> float:
        return statistics.median(
            row[what] - (base[row["turn"]][what] if above else 0)
            for row in rows
            if row["setting"] == name
        )

    return {
        name: {
            "mean_us": median(name, "mean_us", above=False),
            "mean_above_us": median(name, "mean_us", above=True),
            "helpers_above_us": median(name, "helpers_us", above=True),
            "helpers_most_above_us": median(name, "helpers_most_us", above=True),
            "edge_ns": median(name, "edge_ns", above=False),
        }
        for name in SETTINGS
    }


def main() -> int:
    options, console = parse_arguments(), Console()
    options.json.parent.mkdir(parents=True, exist_ok=True)
    build([], console)
    compile_program()
    phases = Phases(options)
    with made(options.hosts, options.rate, options.congestion) as cluster:
        phases.measure(cluster)
    table = Table("", "CPU of a phase, µs", "more, µs", "of the library's threads, µs",
                  "on the busiest host, µs", "edge, ns",
                  title=f"{options.hosts} hosts, {size_text(options.bytes[0])}, "
                  f"{options.per_second:g} phases a second: mean over hosts")  # fmt: skip
    for name, found in summarise(phases.results["rows"]).items():
        table.add_row(name, *(f"{found[key]:.1f}" for key in found))
    console.print(table)
    return 0
