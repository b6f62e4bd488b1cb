#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs two programs with adaptive mesh refinement with and without Stretto under each MPI library
that is there, compares what they compute, and prints the time that they spend in MPI_Allreduce.

  sudo python3 examples/amr/run.py                       4 hosts of the lab with 4 ranks each
  python3 examples/amr/run.py --local 4                  4 ranks on this host
  python3 examples/amr/run.py --local 4 --mpi ~/mpich    also the MPI in this folder
  sudo python3 examples/amr/run.py -- -t 20 -l 5         options of amr after --

The exit status is 1 if a run failed, or if a result with Stretto differs from one without it.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from compiling import Programs, programs, with_system_library  # noqa: E402
from mpis import ROOT, Mpi, find  # noqa: E402
from table import print_table  # noqa: E402

CLUSTER = str(ROOT / "lab" / "cluster")


class Failed(Exception):
    """A run that did not end well; the message holds the end of what it said."""


@dataclass(frozen=True)
class Place:
    """Where ranks run."""

    hosts: int  # of the lab; 0: all ranks on this host
    ranks_per_host: int
    cluster: str = ""

    def start(self, mpi: Mpi) -> tuple[list[str], dict[str, str]]:
        """The launcher, and its environment."""
        if self.hosts == 0:
            return mpi.on_this_host(self.ranks_per_host), {**mpi.environment, **mpi.alone}
        command = [CLUSTER, "exec", "--name", self.cluster, "h1"]
        return [*command, *mpi.on_hosts(self.hosts, self.ranks_per_host)], mpi.environment


def stretto_library() -> Path:
    """The preload of `stretto`: beside this Python, of `make install`, or in the path."""
    beside = Path(sys.executable).with_name("stretto")
    installed = ROOT / ".venv/bin/stretto"
    command = next((str(each) for each in (beside, installed) if each.exists()), None)
    command = command or shutil.which("stretto")
    if command is None:
        sys.exit("there is no command `stretto`: make install")
    done = subprocess.run([command, "mpi", "--library"], capture_output=True, text=True, check=True)
    return Path(done.stdout.strip())


def run(
    mpi: Mpi,
    place: Place,
    program: list[object],
    preloads: list[Path],
    limit: float,
    report: bool = False,
) -> tuple[list[str], list[dict], str]:
    """The lines that a job prints, those that are JSON apart, and what it said on standard error.
    The ranks alone have the libraries before their own, and not the launcher.  `report`: Stretto
    says which calls it ran; it then leaves some to the MPI library."""
    launcher, environment = place.start(mpi)
    variables = [f"LD_PRELOAD={':'.join(map(str, preloads))}", f"STRETTO_MPI_REPORT={int(report)}"]
    words = [str(word) for word in (*launcher, "env", *variables, *program)]
    # p4est's example writes files of its mesh where it runs.
    with tempfile.TemporaryDirectory(prefix="amr-") as folder:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**os.environ, **environment},
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            err = end(process)
            raise Failed(
                f"{' '.join(words)}: has not ended in {limit:g} s\n{err[-3000:]}"
            ) from None
        except BaseException:
            end(process)
            raise
    if process.returncode != 0:
        said = f"{out}{err}"[-3000:]
        raise Failed(f"{' '.join(words)}: status {process.returncode}\n{said}")
    lines = out.splitlines()
    return (
        [line for line in lines if not line.startswith("{")],
        [json.loads(line) for line in lines if line.startswith("{")],
        err,
    )


def end(process: subprocess.Popen) -> str:
    """Launchers take their ranks with them when they are asked to end; what the job said."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=10)[1]
    return ""


@contextlib.contextmanager
def cluster(hosts: int, rate: str) -> Iterator[str]:
    """The name of a new cluster, which is removed afterwards."""
    name = f"amr-{os.getpid()}"
    up = [CLUSTER, "up", str(hosts), "--name", name, "--rate", rate, "--congestion", "reno"]
    try:
        if subprocess.run(up, stdout=subprocess.DEVNULL, check=False).returncode != 0:
            sys.exit("the lab makes no cluster: see above, or use --local")
        yield name
    finally:
        subprocess.run([CLUSTER, "down", "--name", name], check=False, capture_output=True)


def compare(
    mpi: Mpi, place: Place, made: Programs, library: Path, options: argparse.Namespace
) -> dict:
    """Runs everything under one MPI; raises Failed if a result differs."""
    amr = [made.amr, *options.amr]
    kinds = {"without": [made.times], "with": [made.times, library]}
    results: dict[str, list[dict]] = {kind: [] for kind in kinds}
    expected: dict[str, list[str]] = {}

    def check(what: str, program: list[object], kind: str) -> list[dict]:
        lines, records, err = run(mpi, place, program, kinds[kind], options.limit)
        if "stretto:" in err:  # it runs no calls, and says why
            raise Failed(f"{what} under {mpi.title} {kind} Stretto: {err[-3000:]}")
        # The checksum, but not the time that it took.
        lines += [str(record["checksum"]) for record in records if "checksum" in record]
        if lines != expected.setdefault(what, lines):
            differing = next(pair for pair in itertools.zip_longest(expected[what], lines)
                             if pair[0] != pair[1])  # fmt: skip
            raise Failed(f"{what} under {mpi.title}: a run {kind} Stretto printed {differing[1]!r} "
                         f"where the first run without it printed {differing[0]!r}")  # fmt: skip
        return records

    for number in range(options.repeat):
        order = list(kinds) if number % 2 == 0 else list(kinds)[::-1]
        for kind in order:
            merged: dict = {}
            for record in check("amr", amr, kind):
                merged |= record
            results[kind].append(merged)
    if made.step3 is not None and not options.no_step3:
        for kind in kinds:
            check("p8est_step3", [made.step3], kind)
    amr_with = (mpi, place, amr, kinds["with"], options.limit)
    served = re.search(r"stretto: MPI_Allreduce +(\d+)  by Stretto", run(*amr_with, report=True)[2])
    if served is None:
        raise Failed(f"Stretto ran none of the allreduces of amr under {mpi.title}")
    checksums = {record["checksum"] for records in results.values() for record in records}
    return {"mpi": mpi.title, "checksum": checksums.pop(), "lines": expected["amr"],
            "served": int(served.group(1)), **results}  # fmt: skip


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--local", type=int, metavar="RANKS", help="ranks on this host, no lab")
    parser.add_argument("--hosts", type=int, default=4, help="of the lab (default: 4)")
    parser.add_argument("--ranks-per-host", type=int, default=4, help="(default: 4)")
    parser.add_argument("--rate", default="1gbit", help="of the links (default: 1gbit)")
    parser.add_argument("--mpi", type=Path, action="append", default=[], metavar="PREFIX",
                        help="a folder with an MPI, also several times; the MPI in the path and "
                        "those of bench/peers are found")  # fmt: skip
    parser.add_argument("--only", metavar="WORD", help="MPIs that have this word in their title")
    parser.add_argument(
        "--system",
        action="store_true",
        help="use the system's p4est (Debian: libp4est-dev) for the MPI in the path, no other MPI",
    )
    parser.add_argument("--library", type=Path, help="the preload; else that of `stretto mpi`")
    parser.add_argument("--source", type=Path, help="p4est's source; else Debian's")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each kind (default: 3)")
    parser.add_argument("--limit", type=float, default=300, help="seconds of a run (default: 300)")
    parser.add_argument("--no-step3", action="store_true", help="without p4est's own example")
    parser.add_argument("--json", type=Path, help="write all results into this file")
    parser.add_argument("amr", nargs="*", help="after --: options of amr, see amr.c")
    options = parser.parse_args()
    if options.repeat < 1:
        parser.error("--repeat must be 1 or more")
    return options


def main() -> int:
    options = read_options()
    # So that the cluster is removed also when the program is asked to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    mpis = [mpi for mpi in find(options.mpi) if options.only is None or options.only in mpi.title]
    if options.system:
        mpis = [mpi for mpi in mpis if mpi.prefix is None]
    if not mpis:
        sys.exit("no MPI: install one (Debian: libopenmpi-dev), or name its folder by --mpi")
    library = options.library.resolve() if options.library else stretto_library()
    built = [
        (mpi, with_system_library(mpi) if options.system else programs(mpi, options.source))
        for mpi in mpis
    ]
    results, failures = [], 0
    with contextlib.ExitStack() as stack:
        place = Place(0, options.local or 0)
        if options.local is None:
            name = stack.enter_context(cluster(options.hosts, options.rate))
            place = Place(options.hosts, options.ranks_per_host, name)
        for mpi, made in built:
            try:
                results.append(compare(mpi, place, made, library, options))
                print_table(results[-1])
            except Failed as failure:
                failures += 1
                print(f"FAILED: {failure}", file=sys.stderr, flush=True)
    # All MPIs compute the same: the mesh and the bits of its cells.
    for result in results[1:]:
        if result["lines"] != results[0]["lines"]:
            failures += 1
            print(f"FAILED: {result['mpi']} and {results[0]['mpi']} computed different cells",
                  file=sys.stderr)  # fmt: skip
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
