#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The measurements of Kolmakov and Zhang (2020) in slow motion: each of P ranks has a host of the
lab, and so a port, of its own; what the algorithms take, which of them is chosen, and what the
choice costs beside the best.  Needs root, and Stretto where it is run from.

    sudo .venv/bin/python bench/hosts/kolmakov_zhang.py --ranks 127
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from stretto import _core

ROOT = Path(__file__).resolve().parents[2]
CLUSTER = [sys.executable, str(ROOT / "lab" / "cluster")]
# Table 2 of the paper, 400 times slower: two cores then have time for all ranks.
RATE, DELAY, DILATE = "800mbit", 30e-6, 400
RIVALS = ("recursive_doubling", "rabenseifner", "ring")
SIZES = (64, 428, 1024, 4096, 9216, 16384, 65536, 262144, 1048576)
ELEMENT = 4


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=127)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="BYTES")
    parser.add_argument("--iters", type=int, default=3, help="calls of each size (default: 3)")
    parser.add_argument(
        "--near", type=float, default=1.6,
        help="only candidates whose price is at most so many times the least (default: 1.6)",
    )  # fmt: skip
    parser.add_argument(
        "--dtype", default="int32", help="floats must be rounded alike by all ranks"
    )
    parser.add_argument("--output", type=Path, default=ROOT / "bench/hosts/results")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    name = f"kz{options.ranks}"
    up = ["up", str(options.ranks), "--name", name, "--rate", RATE, "--dilate", str(DILATE),
          "--burst", "3000", "--congestion", "reno", "--quiet"]  # fmt: skip
    subprocess.run([*CLUSTER, *up], check=True)
    try:
        link = measure_link(name, options)
        print(f"measured: {link}")
        rows = [
            row for sizes in groups(options.sizes) for row in measure(name, sizes, link, options)
        ]
    finally:
        subprocess.run([*CLUSTER, "down", "--name", name], check=True)
    results = {"ranks": options.ranks, "link": link, "dilate": DILATE, "rows": rows}
    path = options.output / f"kolmakov-zhang-{options.ranks}.json"
    path.write_text(json.dumps(results, indent=1))
    report(rows)
    return 0


def run(name: str, arguments: list[str], options: argparse.Namespace, **settings: str) -> str:
    """The output of a job of all ranks."""
    environment = {
        **os.environ, "STRETTO_TRIALS": "0", "STRETTO_TIMEOUT": "600",
        "STRETTO_INIT_TIMEOUT": "600", "STRETTO_PEER_TIMEOUT": "300",
        "STRETTO_DELAY": f"{DELAY * DILATE}s", **settings,
    }  # fmt: skip
    return subprocess.run(
        [*CLUSTER, "run", "--name", name, sys.executable, *arguments],
        check=True, stdout=subprocess.PIPE, text=True, env=environment,
    ).stdout  # fmt: skip


def groups(sizes: list[int]) -> list[list[int]]:
    """Sizes that one job measures, as starting it takes a minute: by powers of 16."""
    found: dict[int, list[int]] = {}
    for size in sorted(sizes):
        found.setdefault((size.bit_length() + 1) // 4, []).append(size)
    return list(found.values())


def bench(
    name: str, sizes: list[int], algorithms: list[str], options: argparse.Namespace, **settings: str
) -> list[dict[str, Any]]:
    path = options.output / f".{name}.json"
    run(
        name,
        ["-m", "stretto", "bench", "--sizes", ",".join(map(str, sizes)),
         "--algorithms", ",".join(algorithms),
         "--dtype", options.dtype, "--iters", str(options.iters), "--json", str(path)],
        options, **settings,
    )  # fmt: skip
    return json.loads(path.read_text())["rows"]


def measure_link(name: str, options: argparse.Namespace) -> tuple[float, float]:
    """alpha and beta from rings, whose 2 (P - 1) messages have P - 1 of a block each."""
    steps = 2 * (options.ranks - 1)
    # A link lets its burst pass at once, so what a byte takes is seen beyond it.
    blocks = [ELEMENT * 4, ELEMENT * 1024, ELEMENT * 2048]
    rows = bench(
        name, [options.ranks * block for block in blocks], ["ring"], options,
        STRETTO_PROFILE="assumed",
    )  # fmt: skip
    shortest, short, long = (row["t_p50_us"] * 1e-6 / steps for row in rows)
    byte = (long - short) / (blocks[2] - blocks[1])
    return (shortest - byte * blocks[0], byte)


def measure(
    name: str, sizes: list[int], link: tuple[float, float], options: argparse.Namespace
) -> list[dict[str, Any]]:
    profile = options.output / f".{name}-profile.json"
    one = {"latency": link[0], "overhead": 0, "byte": link[1], "reduce": 1e-10}
    given = {"host": "lab", "date": "measured before", "links": {"inside": one, "between": one}}
    profile.write_text(json.dumps(given))
    prices = {size: priced(size, link, options) for size in sizes}
    wanted = ["auto"]
    for able in prices.values():
        least = min(able.values())
        wanted += [each for each, price in able.items() if price <= options.near * least]
        wanted += [each for each in RIVALS if able.get(each, 1e9) < 12 * least]
    rows = bench(name, sizes, list(dict.fromkeys(wanted)), options, STRETTO_PROFILE=str(profile))
    for row in rows:
        row["price"] = prices[row["bytes"]].get(row["chosen"], 0)
        print(
            f"{row['bytes']:>9} {row['algorithm']:<32} {row['chosen']:<32} "
            f"{row['t_p50_us'] * 1e-3:10.1f} ms, priced {row['price'] * 1e3:10.1f}",
            flush=True,
        )
    return rows


def priced(size: int, link: tuple[float, float], options: argparse.Namespace) -> dict[str, float]:
    """Seconds, of everything that can serve."""
    prices = _core.explain(
        "allreduce", options.ranks, 2, size, ELEMENT, True, "off", options.dtype != "float32",
        options.ranks, (link[0], 0, link[1], 1e-10, 0),
    )  # fmt: skip
    return {
        each["algorithm"]: each["predicted_seconds"]
        for each in prices["candidates"]
        if not each["excluded"]
    }


def report(rows: list[dict[str, Any]]) -> None:
    print(f"{'bytes':>9}  {'choice':<32} {'to the best':>11} {'to rivals':>10}")
    for size in sorted({row["bytes"] for row in rows}):
        mine = {row["algorithm"]: row for row in rows if row["bytes"] == size}
        auto = mine.pop("auto")
        taken = auto["t_p50_us"]
        best = min(row["t_p50_us"] for row in mine.values())
        rivals = [mine[each]["t_p50_us"] for each in RIVALS if each in mine]
        faster = min(rivals) / taken if rivals else float("nan")
        print(f"{size:>9}  {auto['chosen']:<32} {taken / best:>11.3f} {faster:>10.2f}")


if __name__ == "__main__":
    sys.exit(main())
