# SPDX-License-Identifier: BSD-3-Clause
"""The measurements of Kolmakov and Zhang ("A Generalization of the Allreduce Operation", 2020) in
slow motion: each of P ranks has a host of the lab, and so a port, of its own, and time is dilated,
so that two cores suffice for all.  What is chosen by price takes turns with everything whose price
is close, with what the paper compares it with, and with Open MPI as it chooses.  Results are
written after each size: who starts again goes on where it ended."""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import statistics
import sys
import time
from pathlib import Path

import gains
import paper_figures
import paper_page
from cluster import ROOT, Cluster, made
from contest import build, facts
from jobs import records
from launching import LaunchError
from placement import Placement
from recipes import KIB, MIB, RECIPES, Job, Variant
from rich.console import Console
from sizes import parse_numbers, parse_sizes, size_text

# Table 2 of the paper: latency, 10 ns a byte, reducing a byte.
RATE, DELAY, TABLE_2 = "800mbit", "30us", (3e-5, 1e-8, 2e-10)
SIZES = "64,428,1K,2K,4K,9K,16K,32K,64K,256K,1M"
ELEMENT = 4
FOR_RINGS = 40 << 30  # bytes of all hosts' rings, which take memory only as they are filled
# Short calls are repeated until each contestant has had that many seconds, or calls.
LONG_ENOUGH, MOST = 3.0, 15
START, PATIENCE = 600, 4  # seconds for a start; times what is expected, before a job is ended
TYPES = {"int32": "allreduce_int32", "float32": "allreduce"}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="kolmakov_zhang.py", description=__doc__)
    add = parser.add_argument
    add("--ranks", type=parse_numbers, default="127", help="numbers of ranks (127)")
    add("--dilate", type=float, default=400, help="how many times as slow all is (400)")
    add("--sizes", type=parse_sizes, default=SIZES, help=f"of the vector ({SIZES})")
    add("--iters", type=int, default=3, metavar="N",
        help=f"calls of each contestant at least; more, up to {MOST}, if short (3)")  # fmt: skip
    add("--near", type=float, default=1.3, metavar="X",
        help="algorithms whose price is at most X times the least (1.3)")  # fmt: skip
    add("--within", type=float, default=6, metavar="X",
        help="the same for those that the paper draws (6)")  # fmt: skip
    add("--dtype", choices=TYPES, default="int32", help="floats must be added alike by all ranks")
    add("--peers", choices=["openmpi", "none"], default="openmpi",
        help="whether Open MPI's own allreduce takes its turns (openmpi)")  # fmt: skip
    add("--congestion", default="reno", help="TCP's congestion control (reno)")
    add("--output", type=Path, default=ROOT / "results", help="folder of the results (results)")
    add("--anew", action="store_true", help="forget what was measured before")
    add("--plots-only", action="store_true", help="from what was measured before")
    add("--page", action="store_true", help="write tables and figures into docs/ as well")
    return parser.parse_args()


def main() -> int:
    options = parse_arguments()
    options.output.mkdir(parents=True, exist_ok=True)
    console = Console()
    failures = []
    if not options.plots_only:
        build([RECIPES["openmpi"]], console)
        for ranks in options.ranks:
            try:
                Sweep(ranks, options).run()
            except LaunchError as error:
                failures.append(error)
                print(f"{ranks} ranks: {error}", file=sys.stderr)
    found = sorted(
        (json.loads(path.read_text()) for path in options.output.glob(file_of("*"))),
        key=lambda results: results["ranks"],
    )
    found = [results for results in found if results["rows"]]
    if not found:
        sys.exit(f"nothing was measured: there is no {options.output / file_of('P')} with rows")
    text = paper_page.markdown(found)
    (options.output / "kolmakov-zhang.md").write_text(text)
    paper_figures.draw(found, options.output)
    if options.page:
        paper_page.write(text)
        paper_figures.draw(found, ROOT / "docs/images")
    print(text)
    wrong = sum(row["wrong"] for results in found for row in results["rows"])
    if wrong:
        print(f"WRONG: {wrong} elements")
    return 1 if failures or wrong else 0


def file_of(ranks: object) -> str:
    return f"kolmakov-zhang-{ranks}.json"


def ring_bytes(size: int, ranks: int) -> int:
    """What a rank sends in a call should fit, for prices know nothing of rings; but a rank has two
    for each that may send to it, and one machine plays them all."""
    room = FOR_RINGS // (2 * ranks**2)
    most = 1 << (room.bit_length() - 1)
    return max(128 * KIB, min(2 * size, most, MIB))


def too_many(algorithm: str, size: int, ranks: int) -> bool:
    """Whether its ranks receive from so many others that the rings do not fit into memory."""
    return algorithm.startswith("direct") and ranks > 64 and ring_bytes(size, ranks) > 128 * KIB


class Sweep:
    """All sizes on a number of ranks."""

    def __init__(self, ranks: int, options: argparse.Namespace) -> None:
        self.ranks, self.options = ranks, options
        self.path = options.output / file_of(ranks)
        self.results = self._begun()

    def _begun(self) -> dict:
        settings = {
            "ranks": self.ranks,
            "dilate": self.options.dilate,
            "dtype": self.options.dtype,
            "rate": RATE,
            "delay": DELAY,
            "congestion": self.options.congestion,
        }
        if self.path.exists() and not self.options.anew:
            before = json.loads(self.path.read_text())
            if any(before[name] != value for name, value in settings.items()):
                sys.exit(f"{self.path} has other settings: --anew forgets it, --output spares it")
            return before
        return {**settings, "meta": facts([RECIPES["openmpi"]]), "link": None, "rows": []}

    def _save(self) -> None:
        whole = self.path.with_suffix(".part")
        whole.write_text(json.dumps(self.results, indent=1))
        whole.replace(self.path)

    def run(self) -> None:
        done = {row["bytes"] for row in self.results["rows"]}
        sizes = [size for size in self.options.sizes if size not in done]
        if not sizes:
            return
        # Buckets let as little pass at once as they can, a frame, which relays make up for.
        shape = ("--delay", DELAY, "--dilate", self.options.dilate, "--burst", 1600)
        with made(self.ranks, RATE, self.options.congestion, *shape) as cluster:
            if self.results["link"] is None:
                self.results |= self._measure_link(cluster)
                self._save()
            for ring, some in itertools.groupby(
                sorted(sizes), lambda size: ring_bytes(size, self.ranks)
            ):
                self._measure(cluster, list(some), ring)

    # ---- the network

    def _measure_link(self, cluster: Cluster) -> dict:
        """Rings have 2 (P - 1) messages one after the other, at the same time on all ranks: they
        show what a message takes with all that the ranks want of the processors meanwhile.  Where
        all send to one and hear from it, that one's port shows what each message takes besides its
        bytes.  An exchange of all with all shows what the processors take for each."""
        steps = 2 * (self.ranks - 1)
        blocks = [ELEMENT * 4, ELEMENT * 1024, ELEMENT * 3072]
        tiny, short, long = (self.ranks * block for block in blocks)
        plans = [
            (("stretto=ring",), f"{tiny}/1/3/1,{short}/0/3/1,{long}/0/3/1"),
            (("stretto=linear",), f"{blocks[0]}/1/3/1"),
            (("stretto=direct",), f"{tiny}/1/3/1"),
        ]
        started, times = {}, []
        for record in self._records(cluster, plans, {}, START):
            if "profile" in record:
                started = record["profile"]
                print(f"{self.ranks} ranks have joined", flush=True)
            else:
                found = next(each for each in record.values() if isinstance(each, dict))
                times.append(statistics.median(found["ns"]) * 1e-9)
                print(f"{size_text(record['bytes'])}: {times[-1]:.2f} s", flush=True)
        byte = (times[2] - times[1]) / steps / (blocks[2] - blocks[1])
        message = times[0] / steps - byte * blocks[0]
        # Twice: the first message as any, the others behind it.
        behind = (times[3] / 2 - message) / max(1, self.ranks - 2) - byte * blocks[0]
        overhead = min(max(0.0, behind), message / 2)
        link = {
            "latency": message - overhead,
            "overhead": overhead,
            "byte": byte,
            "reduce": started["links"]["between"]["reduce"],
            "common": 0.0,
        }
        # As Stretto itself: it counts if it takes half as long again as each link by itself says.
        if times[4] > 1.5 * self._prices(tiny, link)["direct"]:
            link["common"] = times[4] / (steps * self.ranks)
        print(f"{self.ranks} ranks, measured: {link}", flush=True)
        return {"link": link, "started": started}

    def _prices(self, size: int, link: dict) -> dict[str, float]:
        """Seconds, of everything that can run."""
        from stretto import _core  # it is installed by now

        numbers = tuple(link[name] for name in ("latency", "overhead", "byte", "reduce", "common"))
        exact = self.options.dtype != "float32"
        found = _core.explain(
            "allreduce", self.ranks, len(os.sched_getaffinity(0)), size, ELEMENT, True, "off",
            exact, self.ranks, numbers,
        )  # fmt: skip
        return {
            each["algorithm"]: each["predicted_seconds"]
            for each in found["candidates"]
            if not each["excluded"]
        }

    def _paper(self, size: int) -> float:
        """The gain by the paper's equations, and its numbers."""
        from stretto import _core

        said = _core.kolmakov_zhang(self.ranks, size, *TABLE_2)
        others = ("recursive_doubling", "recursive_halving", "ring")
        return min(said[name] for name in others) / min(said["proposed"])

    # ---- the sizes

    def _measure(self, cluster: Cluster, sizes: list[int], ring: int) -> None:
        link, plans, expected = self.results["link"], [], 0.0
        prices = {size: self._prices(size, link) for size in sizes}
        for size in sizes:
            of = {
                name: price
                for name, price in prices[size].items()
                if not too_many(name, size, self.ranks)
            }
            names = gains.wanted(of, self.ranks, self.options.near, self.options.within)
            who = ["stretto", *(f"stretto={name}" for name in names)]
            who += ["peer"] if self.options.peers == "openmpi" else []
            turns = min(MOST, math.ceil(LONG_ENOUGH / min(of.values())))
            turns = max(self.options.iters, turns)
            plans.append((tuple(who), f"{size}/1/{turns}/1"))
            expected += (turns + 1) * (sum(of[name] for name in names) + 3 * min(of.values()))
        print(f"{self.ranks} ranks: about {expected / 60:.0f} minutes", flush=True)
        settings = {"STRETTO_TUNING_FILE": self._profile(link), "STRETTO_RING_BYTES": str(ring)}
        for record in self._records(cluster, plans, settings, START + PATIENCE * expected):
            if "bytes" in record:
                size = record["bytes"]
                self.results["rows"].append(gains.row(record, prices[size], self._paper(size)))
                self.results["rows"].sort(key=lambda row: row["bytes"])
                self._save()
                self._tell(record["bytes"])

    def _profile(self, link: dict) -> str:
        """A tuning file for Stretto."""
        one = {name: value for name, value in link.items() if name != "common"}
        path = self.path.with_suffix(".profile")
        links = {"inside": one, "between": one}
        given = {"host": "lab", "date": time.strftime("%Y-%m-%d"), "common": link["common"]}
        path.write_text(json.dumps({**given, "links": links}))
        return str(path)

    def _tell(self, size: int) -> None:
        row = next(row for row in self.results["rows"] if row["bytes"] == size)
        for each in sorted(row["contestants"], key=lambda each: each["median"]):
            name = f"auto: {each['algorithm']}" if each["who"] == gains.AUTO else each["who"]
            price = f", priced {each['priced'] * 1e3:9.1f}" if each["priced"] else ""
            print(f"{size_text(size):>8}  {name:<44} {each['median'] * 1e3:9.1f} ms{price}")
        sys.stdout.flush()

    def _records(self, cluster: Cluster, plans: list, settings: dict[str, str], limit: float):
        """What a job of all ranks prints.  Signs of life, and questions why nobody comes, would
        be most of what slow links carry among so many: hardly any, and nobody is dead because none
        comes."""
        settings = {
            "STRETTO_AUTOTUNE": "0",
            "STRETTO_TIMEOUT": "0",
            "STRETTO_INIT_TIMEOUT": str(START),
            "STRETTO_PEER_TIMEOUT": "0",
            "STRETTO_HEARTBEAT": "10000s",
            "STRETTO_RING_BYTES": str(ring_bytes(0, self.ranks)),
            **settings,
        }
        passed = [word for name in settings for word in ("-x", name)]
        # All daemons are started at once, by the first host.
        launch = ("--prtemca", "plm_ssh_num_concurrent", str(self.ranks),
                  "--prtemca", "plm_ssh_no_tree_spawn", "1")  # fmt: skip
        usual = next(v for v in RECIPES["openmpi"].variants if v.name == "as it chooses")
        variant = Variant(usual.name, (*launch, *usual.arguments, *passed), settings)
        (who, plan), *then = plans
        contest = TYPES[self.options.dtype]
        job = Job(cluster, Placement((1,) * self.ranks), who, plan, tuple(then), contest)
        return records(job, RECIPES["openmpi"], variant, limit)
