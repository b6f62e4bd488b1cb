#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Slices with registration over a device for RDMA, by UCX as Stretto does it and by bare verbs:
runs rdma_bench in the machine of tests/rdma, and writes what it measured and tables of it."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / each) for each in ("bench", "bench/hosts", "tests/rdma")]

import machine  # noqa: E402
from paper_page import put  # noqa: E402
from tables import DEFAULT, TOLD, Records, details, results, text  # noqa: E402

HERE = Path(__file__).resolve().parent
PAGE = ROOT / "docs/papers/ueno-fukuda.md"
BEGIN = "<!-- rdma: written by bench/rdma/measure.py --page -->"
END = "<!-- rdma: end -->"
PATIENCE_S = 7200  # for the rounds of a start
# Of UCX: its own, and what makes it put from callers' memory as it lies there, as a device for
# which it takes that to be faster, and deregister memory when it is told to.
SETTINGS = {DEFAULT: {}, TOLD: {"UCX_ZCOPY_THRESH": "8192", "UCX_RCACHE_ENABLE": "n"}}
FLAGS = ["-O2", "-std=gnu11", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-rdynamic"]
LIBRARIES = ["-lucp", "-lucs", "-libverbs", "-ldl"]


def compiled(folder: Path) -> Path:
    program = folder / "rdma_bench"
    watch = ROOT / "tests/rdma"
    sources = [*sorted(map(str, HERE.glob("*.c"))), str(watch / "verbs_watch.c")]
    command = ["cc", *FLAGS, f"-I{watch}", "-o", str(program), *sources, *LIBRARIES]
    if subprocess.run(command, check=False).returncode != 0:
        raise machine.Impossible("no program (apt-get install libucx-dev libibverbs-dev)")
    return program


def measured(folder: Path, options: argparse.Namespace) -> list[dict[str, int | str]]:
    """What the program says, started with each of SETTINGS in turns."""
    program = str(compiled(folder))
    runs = {
        machine.Run(
            f"{name}-{start}", [program, str(options.rounds)], machine.SETTINGS | more, PATIENCE_S
        ): name
        for start in range(options.starts)
        for name, more in SETTINGS.items()
    }
    image = machine.prepare(folder, list(runs), options.release, options.kernel_release)
    print(f"measuring, emulated: {folder / 'console.txt'} grows", flush=True)
    console = machine.boot(folder, image)
    records = []
    for run, name in runs.items():
        outcome = machine.outcome(console, run)
        if outcome is None or outcome.code != 0:
            sys.exit(f"{run.name} failed: {outcome.said[-2000:] if outcome else console[-2000:]}")
        lines = (line for line in outcome.said.splitlines() if line.startswith("{"))
        records += [json.loads(line) | {"settings": name} for line in lines]
    return records


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--starts", type=int, default=3, help="of the program, with each setting of UCX (3)")
    add("--rounds", type=int, default=4, help="of a start; the first warms up (4)")
    add("--read", action="store_true", help="measure nothing, read rdma.json of the folder")
    add("--page", action="store_true", help=f"write the tables into {PAGE.relative_to(ROOT)}")
    machine.add_options(parser)
    parser.set_defaults(release="trixie", kernel_release="trixie")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / "rdma.json"
    if not options.read:
        try:
            record.write_text(json.dumps(measured(folder, options), indent=0))
        except machine.Impossible as why:
            print(f"SKIPPED: nothing is measured here: {why}")
            return 0
    counted = Records([each for each in json.loads(record.read_text()) if each["round"] > 0])
    print(text(results(counted) | details(counted)))
    if options.page:
        PAGE.write_text(put(PAGE.read_text(), text(results(counted)), BEGIN, END))
    return 0


if __name__ == "__main__":
    sys.exit(main())
