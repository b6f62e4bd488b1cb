#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the stretto backend of torch.distributed with Gloo, in the same processes.

Workers of one host join a group of each backend.  For every collective and size the backends take
turns of some calls; each call is timed on each rank, and a call lasts as long as on its slowest
rank.  The table has the medians, and Gloo's over Stretto's.  Results of calls are checked.

    stretto run -n 4 python bench/pytorch/compare.py --json four.json --plot four.png

Under torchrun, `stretto run` or the lab: rank, size and address come from the environment.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from statistics import median
from typing import Any

import torch
import torch.distributed as dist
from stretto.cli.units import parse_sizes, show_size

Call = Callable[[], None]
Check = Callable[[], bool]
BACKENDS = ("gloo", "stretto")


def case(collective: str, nbytes: int, rank: int, size: int, group: Any) -> tuple[Call, Check]:
    """A call, and whether its result is right; `nbytes` of the vector that a rank sends or gets,
    as a multiple of what divides among ranks."""
    count = max(nbytes // 4, 1)
    part = max(count // size, 1)
    one = torch.full((count,), float(rank + 1))
    whole = torch.arange(part * size, dtype=torch.float32) % 7 + rank
    own = torch.zeros(part)
    total = size * (size + 1) // 2

    def all_reduce() -> None:
        dist.all_reduce(one, group=group)

    def reset_and_reduce() -> bool:
        one.fill_(rank + 1)
        all_reduce()
        right = bool(one.eq(total).all())
        one.zero_()  # sums of zeros stay what they are
        return right

    def broadcast() -> None:
        dist.broadcast(one, 0, group=group)

    def all_gather() -> None:
        dist.all_gather_single(gathered, own, group=group)

    def reduce_scatter() -> None:
        dist.reduce_scatter_single(own, whole, group=group)

    def all_to_all() -> None:
        dist.all_to_all_single(gathered, whole, group=group)

    gathered = torch.zeros(part * size)
    index = torch.arange(part * size, dtype=torch.float32) % 7

    def check_broadcast() -> bool:
        one.fill_(rank + 1)
        broadcast()
        return bool(one.eq(1).all())

    def check_all_gather() -> bool:
        own.fill_(rank)
        all_gather()
        return all(bool(gathered[r * part : (r + 1) * part].eq(r).all()) for r in range(size))

    def check_reduce_scatter() -> bool:
        reduce_scatter()
        mine = index[rank * part : (rank + 1) * part]
        return bool(own.eq(mine * size + size * (size - 1) // 2).all())

    def check_all_to_all() -> bool:
        all_to_all()
        mine = index[rank * part : (rank + 1) * part]
        return all(
            bool(gathered[r * part : (r + 1) * part].eq(mine + r).all()) for r in range(size)
        )

    return {
        "all_reduce": (all_reduce, reset_and_reduce),
        "broadcast": (broadcast, check_broadcast),
        "all_gather": (all_gather, check_all_gather),
        "reduce_scatter": (reduce_scatter, check_reduce_scatter),
        "all_to_all": (all_to_all, check_all_to_all),
    }[collective]


def turn(call: Call, calls: int) -> list[tuple[float, float]]:
    """Seconds of each call, and of them the processor's in this thread."""
    times = []
    for _ in range(calls):
        cpu, start = time.thread_time(), time.perf_counter()
        call()
        times.append((time.perf_counter() - start, time.thread_time() - cpu))
    return times


def measure(options: argparse.Namespace, groups: dict[str, Any]) -> list[dict[str, Any]]:
    rank, size = dist.get_rank(), dist.get_world_size()
    rows = []
    for collective in options.collectives:
        for nbytes in options.sizes:
            cases = {name: case(collective, nbytes, rank, size, groups[name]) for name in BACKENDS}
            wrong = [name for name, (_, check) in cases.items() if not check()]
            if wrong:
                raise SystemExit(f"rank {rank}: {wrong[0]}: wrong {collective} of {nbytes} bytes")
            start = time.perf_counter()
            turn(cases["gloo"][0], 3)
            # All ranks make as many calls: as many as rank 0 deems right.
            once = torch.tensor([(time.perf_counter() - start) / 3])
            dist.broadcast(once, 0)
            calls = max(3, min(options.calls, int(options.seconds / float(once) / options.turns)))
            times: dict[str, list[Any]] = {name: [] for name in BACKENDS}
            for _ in range(options.turns):
                for name in BACKENDS:
                    turn(cases[name][0], 2)
                    dist.barrier()
                    times[name] += turn(cases[name][0], calls)
            row: dict[str, Any] = {"collective": collective, "bytes": nbytes, "ranks": size}
            for name in BACKENDS:
                mine = torch.tensor(times[name], dtype=torch.float64)
                slowest = mine.clone()
                dist.all_reduce(slowest, dist.ReduceOp.MAX)
                row[name] = median(slowest[:, 0].tolist())
                row[f"{name}_processor"] = median(mine[:, 1].tolist())
                row[f"{name}_best"] = float(slowest[:, 0].min())
            row["ratio"] = row["gloo"] / row["stretto"]
            rows.append(row)
            if rank == 0:
                print(line(row), flush=True)
    return rows


def line(row: dict[str, Any]) -> str:
    shown = "  ".join(
        f"{name} {row[name] * 1e6:10.1f} us ({row[f'{name}_processor'] * 1e6:8.1f})"
        for name in BACKENDS
    )
    return f"{row['collective']:>14} {show_size(row['bytes']):>6}  {shown}  {row['ratio']:6.1f}"


def plot(rows: list[dict[str, Any]], title: str, path: str) -> None:
    from stretto.cli.pyplot import pyplot, save

    plt, _ = pyplot()
    names = list(dict.fromkeys(row["collective"] for row in rows))
    figure, axes = plt.subplots(
        1, len(names), figsize=(3.4 * len(names), 3.6), layout="constrained", squeeze=False,
        sharey=True,
    )  # fmt: skip
    for axis, name in zip(axes[0], names, strict=True):
        mine = [row for row in rows if row["collective"] == name]
        sizes = [row["bytes"] for row in mine]
        for backend, colour in zip(BACKENDS, ("#999999", "#0072b2"), strict=True):
            times = [row[backend] * 1e6 for row in mine]
            axis.plot(sizes, times, "o-", ms=3, color=colour, label=backend)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        labelled = sizes[:: max(1, len(sizes) // 6)]
        axis.set_xticks(labelled, [show_size(size) for size in labelled], fontsize=7)
        axis.minorticks_off()
        axis.set_title(name, loc="left", fontsize=10)
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("microseconds, slowest rank, median")
    axes[0][0].legend(fontsize=8)
    save(figure, title, path)


def join() -> None:
    """Joins by what a launcher says: torchrun's variables, or those of `stretto run`."""
    if "RANK" not in os.environ and "STRETTO_RANK" in os.environ:
        os.environ["RANK"] = os.environ["STRETTO_RANK"]
        os.environ["WORLD_SIZE"] = os.environ["STRETTO_SIZE"]
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29511")
    dist.init_process_group("gloo", timeout=timedelta(minutes=5))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--sizes", type=parse_sizes, default=parse_sizes("4:64M"))
    parser.add_argument(
        "--collectives",
        type=lambda text: text.split(","),
        default=["all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast"],
    )
    parser.add_argument("--turns", type=int, default=5, help="turns of each backend")
    parser.add_argument("--calls", type=int, default=200, help="most calls of a turn")
    parser.add_argument("--seconds", type=float, default=1.0, help="of Gloo's calls of a size")
    parser.add_argument("--json", help="a file for the results")
    parser.add_argument("--plot", help="a file for the picture")
    options = parser.parse_args()
    torch.set_num_threads(1)
    join()
    groups = {"gloo": dist.group.WORLD, "stretto": dist.new_group(backend="stretto")}
    rows = measure(options, groups)
    if dist.get_rank() == 0:
        meta = {
            "torch": torch.__version__,
            "machine": platform.machine(),
            "processors": os.cpu_count(),
            "command": " ".join(sys.argv[1:]),
        }
        if options.json:
            with open(options.json, "w") as file:
                json.dump({"meta": meta, "rows": rows}, file, indent=1)
        if options.plot:
            title = f"torch.distributed, {dist.get_world_size()} workers: Stretto and Gloo"
            plot(rows, title, options.plot)
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
