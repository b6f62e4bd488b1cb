# SPDX-License-Identifier: BSD-3-Clause
"""Compares Stretto's collectives with those of other libraries: builds, measures, reports."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

import states
import tables
from launching import LaunchError
from measure import Block, launches, measure
from peers import BUILD, HERE, PEERS, VENV, WITH_VARIANTS, Peer, run
from plot import draw
from rich.console import Console
from rich.progress import Progress, TimeElapsedColumn
from sizes import parse_numbers, parse_sizes, size_text
from summaries import summarize

ROOT = HERE.parents[1]

# As peer_bench knows them.
COLLECTIVES = ("allreduce", "reduce", "broadcast", "reduce_scatter", "allgather")

PASS_SECONDS = 15  # of measuring for one peer and number of ranks: some blocks of every size


def parse_arguments() -> argparse.Namespace:
    def peers(text: str) -> list[Peer]:
        if unknown := set(text.split(",")) - set(WITH_VARIANTS):
            names = ", ".join(WITH_VARIANTS)
            raise argparse.ArgumentTypeError(f"no {', '.join(unknown)}; of {names}")
        return [WITH_VARIANTS[name] for name in text.split(",")]

    def limits(text: str) -> list[float]:
        found = sorted(float(item) for item in text.split(","))
        if len(found) >= max(states.NAMES):
            raise argparse.ArgumentTypeError("one or two limits")
        return found

    parser = argparse.ArgumentParser(prog="run.py", description=__doc__)
    add = parser.add_argument
    add(
        "--collective",
        choices=COLLECTIVES,
        default=COLLECTIVES[0],
        metavar="NAME",
        help=f"one of {', '.join(COLLECTIVES)} ({COLLECTIVES[0]})",
    )
    add("--budget", type=float, default=600, help="seconds to measure, in all (600)")
    add("--sizes", type=parse_sizes, default="4:64M", help="4:64M (powers of 2), 4:64M:4 or 4,1K")
    add("--ranks", type=parse_numbers, default="2,4,8", help="numbers of ranks (2,4,8)")
    add(
        "--peers",
        type=peers,
        default=",".join(PEERS),
        help=f"of {','.join(WITH_VARIANTS)} ({','.join(PEERS)})",
    )
    add(
        "--limits",
        type=limits,
        help="limits between the states of the machine, in ns; found if not given",
    )
    add("--library", type=Path, help="folder of a built libstretto.so; built if not given")
    results = {"json": "json", "markdown": "md", "plot": "png"}
    for option, suffix in results.items():
        add(f"--{option}", type=Path, help=f"results/peers-NAME.{suffix} if not given")
    arguments = parser.parse_args()
    for option, suffix in results.items():
        if getattr(arguments, option) is None:
            path = ROOT / "results" / f"peers-{arguments.collective}.{suffix}"
            setattr(arguments, option, path)
    return arguments


def build_stretto() -> Path:
    """Builds libstretto, optimised, and returns its folder."""
    cmake, build = VENV / "bin" / "cmake", BUILD / "stretto"
    run([cmake, "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
         f"-DCMAKE_MAKE_PROGRAM={VENV / 'bin' / 'ninja'}"])  # fmt: skip
    run([cmake, "--build", build, "--target", "stretto"])
    return build / "src" / "api"


def build_programs(
    peers: list[Peer], library: Path | None, console: Console, *sources: str
) -> dict[Peer, Path]:
    """The program of these sources for each MPI, with the libstretto in folder `library`, which is
    built if it is not given."""
    BUILD.mkdir(exist_ok=True)
    with console.status("building libstretto"):
        library = (library or build_stretto()).resolve()
    programs = {}
    for peer in peers:
        with console.status(f"installing and linking {peer.title}"):
            peer.install()
            programs[peer] = peer.build(library, ROOT / "include", *sources)
    return programs


def measure_all(
    arguments: argparse.Namespace, programs: dict[Peer, Path], console: Console
) -> tuple[list[Block], list[str]]:
    """The blocks of all peers at all numbers of ranks, and what failed."""
    jobs = [(n, peer) for n in arguments.ranks for peer in arguments.peers]
    # In passes, so that every pair has a chance to meet every state of the machine.
    passes = max(1, min(4, int(arguments.budget / len(jobs) / PASS_SECONDS)))
    jobs *= passes
    share = arguments.budget / len(jobs)
    blocks, failures = [], []
    with Progress(*Progress.get_default_columns(), TimeElapsedColumn(), console=console) as bar:
        task = bar.add_task("", total=len(jobs))
        for ranks, peer in jobs:
            for settings, sizes, seconds in launches(peer, ranks, arguments.sizes, share):
                try:
                    for block in measure(
                        peer, programs[peer], arguments.collective, ranks, sizes, seconds, settings
                    ):
                        blocks.append(block)
                        what = f"{ranks} ranks, {peer.title}, {size_text(block.bytes)}"
                        bar.update(task, description=f"{what}, probe {block.probe_ns[1]:.1f} ns")
                except LaunchError as error:
                    failures.append(str(error))
                    console.print(f"{peer.title} failed at {ranks} ranks: {error}", markup=False)
            bar.advance(task)
    return blocks, failures


def cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown CPU"


def main() -> int:
    console = Console()
    console.width = max(console.width, 136)  # of the tables
    arguments = parse_arguments()
    programs = build_programs(
        arguments.peers, arguments.library, console, "peer_bench.c", "contest.c", "meeting.c"
    )
    started = time.strftime("%Y-%m-%d %H:%M")
    blocks, failures = measure_all(arguments, programs, console)
    if not blocks:
        sys.exit("nothing was measured")
    limits = arguments.limits or states.boundaries([block.probe_ns[1] for block in blocks])
    meta = {
        "collective": arguments.collective,
        "date": started,
        "cpu": cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "peers": {peer.name: peer.packages for peer in arguments.peers},
        "budget_s": arguments.budget,
        "failures": failures,
    }
    results = {"meta": meta, **summarize(blocks, limits)}
    for path in (arguments.json, arguments.markdown, arguments.plot):
        path.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(results, indent=1))
    tables.write_markdown(results, arguments.markdown)
    draw(results, arguments.plot)
    tables.show(results, console)
    console.print(f"wrote {arguments.json}, {arguments.markdown}, {arguments.plot}")
    for where, count in results["wrong"].items():
        console.print(f"WRONG: {count} elements of {where} (peer/ranks/bytes/contestant)")
    return 1 if failures or results["wrong"] else 0
