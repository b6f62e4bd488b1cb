# SPDX-License-Identifier: BSD-3-Clause
"""The Intel MPI Benchmarks (IMB-MPI1), which know nothing of Stretto, with and without the preload:
whole runs in turns, of the binary that comes with Intel MPI."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from contest_mpi import ROOT, build_library, geometric_mean, header
from peers import PEERS
from rich.console import Console
from sizes import parse_sizes
from tables import microseconds

CALLS = ("Allreduce", "Reduce", "Bcast", "Allgather", "Reduce_scatter", "Reduce_scatter_block",
         "Barrier")  # fmt: skip
SHORT = 65536  # bytes
Times = dict[tuple[str, int], float]  # us by call and bytes


def read(text: str) -> Times:
    """The column t_max of every table."""
    times: Times = {}
    call = ""
    for line in text.splitlines():
        words = line.split()
        if line.startswith("# Benchmarking"):
            call = words[2]
        elif not words or not words[0].isdigit() or "limit" in words:  # of time
            continue
        elif call == "Barrier":  # without a column of bytes
            times[call, 0] = float(words[2])
        elif call:
            times[call, int(words[0])] = float(words[3])
    return times


def measure(ranks: int, sizes: list[int], calls: int, preload: Path | None) -> Times:
    """One run of so many calls of each size."""
    peer = PEERS["impi"]
    first, *rest = peer.command(ranks)
    variables = [] if preload is None else ["-genv", "LD_PRELOAD", str(preload)]
    environment = peer.environment(peer.settings(ranks)[0])
    environment["LD_LIBRARY_PATH"] = str(peer.prefix / "lib")  # the binary does not say where
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as lengths:
        lengths.write("".join(f"{size}\n" for size in sizes))
        lengths.flush()
        program = [peer.prefix / "bin" / "IMB-MPI1", "-npmin", ranks, "-msglen", lengths.name,
                   "-iter", calls, "-iter_policy", "off", *CALLS]  # fmt: skip
        command = [first, *variables, *rest, *program]
        done = subprocess.run(
            [str(word) for word in command],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    if done.returncode != 0:
        words = " ".join(map(str, command))
        sys.exit(f"{words}\n{done.stdout[-2000:]}{done.stderr}failed: see above")
    return read(done.stdout)


def measure_all(ranks: int, sizes: list[int], preload: Path | None) -> Times:
    """Long calls need less often be repeated."""
    times: Times = {}
    for calls, some in ((40, [size for size in sizes if size > SHORT]),
                        (2000, [size for size in sizes if size <= SHORT])):  # fmt: skip
        if some:
            times |= measure(ranks, some, calls, preload)
    return times


def table(where: str, runs: dict[bool, list[Times]], sizes: list[int]) -> tuple[str, float]:
    ratios = []

    def cell(call: str, size: int) -> str:
        times = {side: [run[call, size] for run in all_of if (call, size) in run]
                 for side, all_of in runs.items()}  # fmt: skip
        if not all(times.values()):
            return "–"
        times = {side: statistics.median(found) for side, found in times.items()}
        ratios.append(times[False] / times[True])
        return f"{microseconds(times[True])} ({ratios[-1]:.2f})"

    lines = header(where, sizes)
    for call in CALLS:
        cells = [cell(call, 0)] if call == "Barrier" else [cell(call, size) for size in sizes]
        lines.append("| " + " | ".join([call, *cells]) + " |")
    return "\n".join(lines) + "\n", geometric_mean(ratios)


def main() -> int:
    parser = argparse.ArgumentParser(prog="imb.py", description=__doc__)
    parser.add_argument("--ranks", default="2,4,8", help="on this host (2,4,8)")
    parser.add_argument("--sizes", type=parse_sizes, default=parse_sizes("4,64,1K,16K,256K,4M"),
                        help="as 4:4M:16 or 4,1K,1M")  # fmt: skip
    parser.add_argument("--turns", type=int, default=3, help="of each side (3)")
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "imb.md")
    options = parser.parse_args()
    console = Console()
    (ROOT / "bench" / "mpi" / ".build").mkdir(exist_ok=True)
    PEERS["impi"].install()
    preload = build_library()
    page = []
    for ranks in map(int, options.ranks.split(",")):
        runs: dict[bool, list[Times]] = defaultdict(list)
        for turn in range(options.turns):
            for side in (turn % 2 == 0, turn % 2 != 0):
                runs[side].append(measure_all(ranks, options.sizes, preload if side else None))
        text, mean = table(f"{ranks} ranks", runs, options.sizes)
        page.append(f"{text}\nGeometric mean at {ranks} ranks: {mean:.2f}\n")
        console.print(page[-1], markup=False, highlight=False)
    options.output.parent.mkdir(exist_ok=True)
    options.output.write_text("\n".join(page))
    console.print(f"wrote {options.output}")
    return 0
