# SPDX-License-Identifier: BSD-3-Clause
"""Two figures of SALaR (Bayatpour et al. 2018) on hosts of the lab: leaders that visit the others
in cyclic order and in the same order; chunks of fixed sizes and Stretto's choice."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import cluster
from paper_page import KIB
from sizes import parse_sizes, size_text

ROOT = Path(__file__).resolve().parents[2]
STRETTO = ROOT / ".venv" / "bin" / "stretto"
RESULTS = Path(__file__).resolve().parent / "results"
CYCLIC, SAME = "cyclic", "same target"


def stretto(*arguments: object) -> str:
    return subprocess.run(
        [str(STRETTO), *map(str, arguments)], check=True, capture_output=True, text=True
    ).stdout


def to_the_same(schedule: dict) -> dict:
    """The schedule with the sends that follow one another in the order of their destinations, so
    that all ranks begin with rank 0."""
    for program in schedule["programs"]:
        ops, sends = [], []
        for op in [*program["ops"], {"op": "end"}]:
            if op["op"] == "send":
                sends.append(op)
                continue
            ops += [*sorted(sends, key=lambda each: each["peer"]), op]
            sends = []
        program["ops"] = ops[:-1]
    schedule.pop("symmetry", None)
    schedule["name"] = "same_target"
    return schedule


@contextlib.contextmanager
def same_target(hosts: int) -> Iterator[Path]:
    """A file with `direct` in that order, which all hosts can read."""
    with tempfile.TemporaryDirectory(dir=ROOT / "bench" / "hosts") as folder:
        path = Path(folder) / "same_target.json"
        path.write_text(json.dumps(to_the_same(json.loads(
            stretto("show", "direct", "--ranks", hosts, "--json")))))  # fmt: skip
        stretto("verify", "--schedule", path)
        yield path


def measured(
    hosts: cluster.Cluster, each: int, size: int, algorithms: Sequence[str], calls: int
) -> list[dict]:
    """Rows of `stretto bench`, one for each algorithm; all run in one job, one after the other."""
    command = hosts.command(
        "run", "--ranks-per-host", each, "--no-prefix", "--launcher", "stretto", STRETTO, "bench",
        "--sizes", size, "--iters", calls, "--algorithms", ",".join(algorithms), "--json", "-",
    )  # fmt: skip
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=os.environ)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}failed: see above")
    return json.loads(done.stdout[done.stdout.index("{") :])["rows"]


def rounds(
    options: argparse.Namespace,
    hosts: cluster.Cluster,
    each: int,
    size: int,
    algorithms: dict[str, str],
) -> dict[str, dict]:
    """By label: the median time, and the mean of each rank, of several rounds in turns."""
    found: dict[str, list[dict]] = {label: [] for label in algorithms}
    labels = list(algorithms)
    for turn in range(options.rounds):
        order = labels if turn % 2 == 0 else labels[::-1]
        rows = measured(hosts, each, size, [algorithms[each] for each in order], options.iters)
        for label, row in zip(order, rows, strict=True):
            found[label].append(row)
    return {
        label: {
            "us": statistics.median(row["t_p50_us"] for row in rows),
            "rank_us": [
                statistics.median(times)
                for times in zip(*(row["rank_mean_us"] for row in rows), strict=True)
            ],
            "chosen": rows[-1]["chosen"],
            "wrong": sum(row["wrong"] for row in rows),
        }
        for label, rows in found.items()
    }


def keep(found: dict) -> None:
    """Writes what is measured so far: long vectors take minutes, and nobody may wait for them."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"bayatpour-panda-{found['what']}.json"
    path.write_text(json.dumps(found, indent=1) + "\n")


def order(options: argparse.Namespace) -> None:
    found = {"what": "order", "hosts": options.hosts, "rate": options.rate, "rows": []}
    with (
        same_target(options.hosts) as path,
        cluster.made(options.hosts, options.rate, options.congestion) as hosts,
    ):
        for size in parse_sizes(options.sizes):
            row = rounds(options, hosts, 1, size, {CYCLIC: "direct", SAME: f"file:{path}"})
            found["rows"].append({"bytes": size, "times": row})
            keep(found)
            cyclic, same = row[CYCLIC]["us"], row[SAME]["us"]
            print(f"{size_text(size):>8}  cyclic {cyclic:10,.0f} µs  same target {same:10,.0f} µs"
                  f"  {same / cyclic:.2f}", flush=True)  # fmt: skip


def chunks_of(size: int) -> dict[str, int]:
    """By the size of a chunk, 256 KiB to 64 MiB: how many of them the vector has."""
    return {
        size_text(chunk): size // chunk
        for chunk in (256 * KIB << k for k in range(9))
        if chunk <= size and size // chunk <= 256
    }


def chunks(options: argparse.Namespace) -> None:
    found = {"what": "chunks", "hosts": options.hosts, "rate": options.rate,
             "ranks_per_host": options.ranks_per_host, "rows": []}  # fmt: skip
    with cluster.made(options.hosts, options.rate, options.congestion) as hosts:
        for size in parse_sizes(options.sizes):
            forms = {
                chunk: f"salar(chunks={count})" for chunk, count in chunks_of(size).items()
            } | {"choice": "auto"}
            row = rounds(options, hosts, options.ranks_per_host, size, forms)
            found["rows"].append({"bytes": size, "times": row})
            keep(found)
            best = min(each["us"] for label, each in row.items() if label != "choice")
            print(f"{size_text(size):>8}", *(
                f"{label} {each['us'] / 1e3:.1f} ms" for label, each in row.items()
            ), f"({row['choice']['chosen']}, {row['choice']['us'] / best:.2f} of the best)",
                  sep="  ", flush=True)  # fmt: skip


def draw(found: dict, path: Path) -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="tight")
    axis = figure.subplots()
    if found["what"] == "order":
        row = found["rows"][-1]
        for label, look in ((CYCLIC, "#0072b2"), (SAME, "#d55e00")):
            times = [each / 1e3 for each in row["times"][label]["rank_us"]]
            axis.plot(range(len(times)), times, marker="o", color=look, label=label)
        title = f"{size_text(row['bytes'])} on {found['hosts']} hosts, {found['rate']}"
        axis.set(xlabel="host", ylabel="ms until its rank is done", title=title)
        axis.set_ylim(bottom=0)
    else:
        for row in found["rows"]:
            fixed = {k: v for k, v in row["times"].items() if k != "choice"}
            line = axis.plot(list(fixed), [each["us"] / 1e3 for each in fixed.values()],
                             marker="o", label=size_text(row["bytes"]))[0]  # fmt: skip
            axis.axhline(row["times"]["choice"]["us"] / 1e3, ls=":", color=line.get_color())
        axis.set(xlabel="chunk", ylabel="ms (dotted: Stretto's choice)")
        axis.set_yscale("log", base=2)
        axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.grid(alpha=0.25)
    axis.legend(frameon=False)
    figure.savefig(path, dpi=130)


COMMANDS = {"order": order, "chunks": chunks}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bayatpour_panda.py", description=__doc__)
    parser.add_argument("what", choices=COMMANDS)
    parser.add_argument("--hosts", type=int, help="default: 16 for the order, 4 for chunks")
    parser.add_argument("--ranks-per-host", type=int, default=4, help="of chunks (4)")
    parser.add_argument("--sizes", help="default: 256K,1M,4M,16M for the order, 4M,16M,64M")
    parser.add_argument("--rate", default="1gbit", help="of each link (1gbit)")
    parser.add_argument("--congestion", default="reno", help="TCP's congestion control (reno)")
    parser.add_argument("--iters", type=int, default=10, help="calls of a turn (10)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each (5)")
    parser.add_argument("--plots-only", action="store_true", help="measure nothing")
    options = parser.parse_args(arguments)
    is_order = options.what == "order"
    options.hosts = options.hosts or (16 if is_order else 4)
    options.sizes = options.sizes or ("256K,1M,4M,16M" if is_order else "4M,16M,64M")
    path = RESULTS / f"bayatpour-panda-{options.what}.json"
    if not options.plots_only:
        COMMANDS[options.what](options)
    found = json.loads(path.read_text())
    draw(found, path.with_suffix(".png"))
    print(f"wrote {path.relative_to(ROOT)} and its picture")
    return 1 if any(each["wrong"] for row in found["rows"] for each in row["times"].values()) else 0
