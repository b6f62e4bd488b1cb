# SPDX-License-Identifier: BSD-3-Clause
"""The gain of an MPI program by the preload: every call that Stretto runs, and every size, under
each library, on this host and on hosts of the lab."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

import launching
from cluster import RSH, made
from peers import PEERS, Peer, run
from rich.console import Console
from rich.table import Table
from sizes import parse_sizes, size_text
from tables import microseconds

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = HERE / ".build"
CALLS = (
    "allreduce", "reduce", "bcast", "allgather", "reduce_scatter_block", "reduce_scatter",
    "barrier", "iallreduce",
)  # fmt: skip
# Nowhere slower than this, or than 50 ns more, whichever is more.
TOLERANCE, TOLERANCE_US = 1.05, 0.05


def build_library() -> Path:
    run(["cmake", "-S", ROOT, "-B", BUILD / "library", "-G", "Ninja", "--log-level=WARNING"])
    run(["cmake", "--build", BUILD / "library", "--target", "stretto_mpi"])
    return BUILD / "library" / "mpi" / "libstretto_mpi.so"


def build_program(peer: Peer) -> Path:
    peer.install()
    program, lib = BUILD / f"preload_bench_{peer.name}", peer.prefix / "lib"
    run([os.environ.get("CC", "cc"), "-std=gnu11", "-O2", "-Wall", "-Wextra",
         "-isystem", peer.prefix / "include", HERE / "preload_bench.c", "-o", program,
         f"-L{lib}", f"-Wl,-rpath,{lib}", "-lmpi"])  # fmt: skip
    return program


def here(peer: Peer, ranks: int, preload: Path, program: list[str]) -> Iterator[dict]:
    """The launch on this host, with the settings by which bench/peers judges it."""
    settings = peer.settings(ranks)[0]
    variables = ["-x", f"LD_PRELOAD={preload}"] if peer.name == "openmpi" else [
        "-genv", "LD_PRELOAD", str(preload)]  # fmt: skip
    first, *rest = peer.command(ranks)
    yield from launching.lines(
        [first, *variables, *rest, *program], peer.environment(settings), 600
    )


def there(peer: Peer, hosts: int, cluster, preload: Path, program: list[str]) -> Iterator[dict]:
    """The launch on so many hosts of the lab, by the library's own launcher; ranks give way."""
    names = ",".join(f"h{number}" for number in range(1, hosts + 1))
    environment = {"I_MPI_ROOT": str(peer.prefix)}
    if peer.name == "openmpi":
        launcher = [peer.prefix / "bin" / "mpirun", "--allow-run-as-root", "--bind-to", "none",
                    "--prtemca", "plm_ssh_agent", RSH, "-H", names, "-x", f"LD_PRELOAD={preload}",
                    "--mca", "pml", "ob1", "--mca", "btl", "tcp,self,sm", "--mca",
                    "btl_tcp_if_include", "eth0", "--mca", "mpi_yield_when_idle",
                    "1"]  # fmt: skip
    else:
        launcher = [peer.prefix / "bin" / "mpiexec.hydra", "-launcher", "ssh", "-launcher-exec",
                    RSH, "-hosts", names, "-ppn", 1, "-n", hosts, "-genv", "LD_PRELOAD",
                    preload]  # fmt: skip
        environment.update(PEERS["mpich"].oversubscribed[0].environment)
        if peer.name == "impi":
            from recipes import _INTEL

            PEERS["mpich"].install()
            environment.update(_INTEL)
    command = cluster.command("exec", "h1", *launcher, *program)
    yield from cluster.lines(command, environment, 900)


def judged(record: dict, peer: Peer, where: str) -> dict:
    stretto, library = (statistics.median(record[who]) for who in ("stretto", "library"))
    return {
        **record, "peer": peer.name, "where": where, "stretto_us": stretto, "library_us": library,
        "ratio": library / stretto,
        "slower": stretto > max(TOLERANCE * library, library + TOLERANCE_US),
    }  # fmt: skip


def geometric_mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def show(console: Console, records: list[dict]) -> None:
    places = list(dict.fromkeys((r["where"], r["peer"]) for r in records))
    for where, peer in places:
        mine = [r for r in records if (r["where"], r["peer"]) == (where, peer)]
        sizes = sorted({r["bytes"] for r in mine})
        mean = geometric_mean([r["ratio"] for r in mine])
        table = Table(title=f"{PEERS[peer].title}, {where}: µs of Stretto (× the library's); "
                            f"geometric mean {mean:.2f}")  # fmt: skip
        table.add_column("call")
        for size in sizes:
            table.add_column(size_text(size), justify="right")
        for call in dict.fromkeys(r["call"] for r in mine):
            cells = {r["bytes"]: r for r in mine if r["call"] == call}
            table.add_row(call, *(
                f"{cells[size]['stretto_us']:,.4g} ({cells[size]['ratio']:.2f})"
                + ("!" if cells[size]["slower"] else "") if size in cells else "–"
                for size in sizes))  # fmt: skip
        console.print(table)
    slower = sum(r["slower"] for r in records)
    console.print(
        f"{len(records)} cells, {slower} slower than the library's (!), geometric mean "
        f"{geometric_mean([r['ratio'] for r in records]):.2f}, "
        f"{sum(r['wrong'] for r in records)} wrong elements"
    )


def header(where: str, sizes: list[int]) -> list[str]:
    return ["| " + " | ".join([where, *map(size_text, sizes)]) + " |",
            "|:--|" + "--:|" * len(sizes)]  # fmt: skip


def page(records: list[dict]) -> str:
    """Markdown: of each place a table of all calls and sizes, and one of the means."""
    lines = []
    places = list(dict.fromkeys(r["where"] for r in records))
    for where in places:
        mine = [r for r in records if r["where"] == where]
        sizes = sorted({r["bytes"] for r in mine})
        lines += header(where, sizes)
        for call in dict.fromkeys(r["call"] for r in mine):
            cells = []
            for size in sizes:
                found = [r for r in mine if (r["call"], r["bytes"]) == (call, size)]
                if not found:
                    cells.append("")
                    continue
                ratios = ", ".join(
                    f"**{r['ratio']:.2f}**" if r["slower"] else f"{r['ratio']:.2f}" for r in found
                )
                time = statistics.median(r["stretto_us"] for r in found)
                cells.append(f"{microseconds(time)} ({ratios})")
            lines.append("| " + " | ".join([call, *cells]) + " |")
        lines.append("")
    lines += ["| | library | geometric mean | slower |", "|:--|:--|--:|--:|"]
    for where, peer in dict.fromkeys((r["where"], r["peer"]) for r in records):
        mine = [r for r in records if (r["where"], r["peer"]) == (where, peer)]
        lines.append(f"| {where} | {PEERS[peer].title} | "
                     f"{geometric_mean([r['ratio'] for r in mine]):.2f} | "
                     f"{sum(r['slower'] for r in mine)} of {len(mine)} |")  # fmt: skip
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", default="2,4,8", help="on this host (2,4,8; 0: none)")
    parser.add_argument("--hosts", default="0", help="hosts of the lab, which needs root (none)")
    parser.add_argument("--rate", default="1gbit", help="of the lab's links (1gbit)")
    parser.add_argument("--peers", default="openmpi,mpich,impi", help="MPI libraries (all)")
    parser.add_argument("--calls", default=",".join(CALLS), help="which calls (all)")
    parser.add_argument("--sizes", type=parse_sizes, default=parse_sizes("4:64M:16"),
                        help="of the whole vector, as 4:64M:16 or 4,1K,1M")  # fmt: skip
    parser.add_argument("--turns", type=int, default=9, help="of each side (9)")
    parser.add_argument("--json", type=Path, default=ROOT / "results" / "mpi.json")
    options = parser.parse_args()
    if unknown := set(options.peers.split(",")) - set(PEERS):
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(PEERS)}")
    if unknown := set(options.calls.split(",")) - set(CALLS):
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(CALLS)}")

    console = Console()
    BUILD.mkdir(exist_ok=True)
    preload = build_library()
    programs = {name: build_program(PEERS[name]) for name in options.peers.split(",")}
    arguments = [options.calls, ",".join(map(str, options.sizes)), str(options.turns)]
    records: list[dict] = []
    failed = False

    def take(lines: Iterator[dict], peer: Peer, where: str) -> None:
        nonlocal failed
        try:
            for record in lines:
                records.append(judged(record, peer, where))
                found = records[-1]
                console.print(
                    f"{where}, {peer.title}: {found['call']} {size_text(found['bytes'])}: "
                    f"{found['stretto_us']:,.4g} µs, the library's {found['library_us']:,.4g}",
                    highlight=False,
                )
        except launching.LaunchError as error:
            failed = True
            console.print(f"{where}, {peer.title}: {error}", style="red", markup=False)

    for ranks in filter(None, map(int, options.ranks.split(","))):
        for name, program in programs.items():
            command = [str(program), *arguments]
            take(here(PEERS[name], ranks, preload, command), PEERS[name], f"{ranks} ranks")
    hosts = [number for number in map(int, options.hosts.split(",")) if number]
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(made(max(hosts), options.rate, "reno")) if hosts else None
        for number in hosts:
            for name, program in programs.items():
                command = [str(program), *arguments]
                lines = there(PEERS[name], number, cluster, preload, command)
                take(lines, PEERS[name], f"{number} hosts")
    if records:
        show(console, records)
        options.json.parent.mkdir(exist_ok=True)
        options.json.write_text(json.dumps(records, indent=1))
        options.json.with_suffix(".md").write_text(page(records))
        console.print(f"wrote {options.json}, {options.json.with_suffix('.md')}")
    return 1 if failed or any(r["wrong"] for r in records) else 0


if __name__ == "__main__":
    sys.exit(main())
