# SPDX-License-Identifier: BSD-3-Clause
"""The measurements of Proficz ("Improving all-reduce collective operations for imbalanced process
arrival patterns", 2018) on hosts of the lab: `stretto bench arrival` for each mode and size, on 4
to 16 hosts.  Results are written after each: a new start continues where the last one ended."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from cluster import ROOT, Cluster, made
from contest import build
from kept import PATIENCE, START, Kept, measure, stored, tell_wrong
from late_parts import Part, Point, parts
from rich.console import Console
from sizes import parse_numbers, parse_sizes, size_text

ALGORITHMS = "ring,rabenseifner,chain,pre_reduced_ring,late_rooted,auto"
MODES, PARTS = "one-late,rand-late", "tables,together,wrong"
SIZES, DELAYS = "512K,4M,16M", "0,5,10,50,100"
# All of the paper's.
FULL_SIZES, FULL_DELAYS, FULL_ITERS = "512K,2M,4M,8M,16M,32M", "0,1,5,10,50,100,500,1000", 64


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="proficz.py", description=__doc__)
    add = parser.add_argument
    add("--ranks", type=parse_numbers, default="4,8,12,16", help="numbers of hosts (4,8,12,16)")
    add("--rate", default="1gbit", help="rate of each link, headers included (1gbit)")
    add("--congestion", default="reno", help="TCP's congestion control (reno)")
    add(
        "--parts",
        default=PARTS,
        help=f"of {PARTS} (all): the paper's tables; whether the choice "
        "is the best if no rank is late; the cost of wrong estimates",
    )
    add("--modes", default=MODES, help=f"of {MODES} (both), for the tables")
    add("--sizes", type=parse_sizes, help=f"of the vector, for the tables ({SIZES})")
    add("--delays", type=parse_numbers, metavar="MS", help=f"milliseconds ({DELAYS})")
    add("--algorithms", default=ALGORITHMS, help=f"for the tables ({ALGORITHMS})")
    add("--iters", type=int, metavar="N", help="calls of each (2 s, 5 to 20)")
    add("--full", action="store_true", help="all of the paper's sizes and delays, 64 calls of each")
    add("--output", type=Path, default=ROOT / "results", help="folder of the results (results)")
    add("--anew", action="store_true", help="discard earlier results")
    add("--plots-only", action="store_true", help="measure nothing, plot earlier results")
    add("--page", action="store_true", help="write tables and figures into docs/ as well")
    options = parser.parse_args()
    unknown = set(options.parts.split(",")) - set(PARTS.split(","))
    if unknown:
        parser.error(f"--parts {', '.join(sorted(unknown))}: there are {PARTS}")
    options.sizes = options.sizes or parse_sizes(FULL_SIZES if options.full else SIZES)
    options.delays = options.delays or parse_numbers(FULL_DELAYS if options.full else DELAYS)
    options.iters = options.iters or (FULL_ITERS if options.full else None)
    return options


def main() -> int:
    options = parse_arguments()
    options.output.mkdir(parents=True, exist_ok=True)
    whole = True
    if not options.plots_only:
        build([], Console())
        whole = measure(options.ranks, lambda ranks: Sweep(ranks, options).run())
    found = stored(options.output, file_of("*", "*"))
    import late_page  # with parts of Stretto, which is installed by now

    text = late_page.markdown(found)
    (options.output / "proficz.md").write_text(text)
    late_page.draw(found, options.output)
    if options.page:
        late_page.write(found)
        late_page.draw(found, ROOT / "docs/images")
    print(text)
    return 1 if tell_wrong(found) or not whole else 0


def file_of(ranks: object, rate: str) -> str:
    return f"proficz-{rate}-{ranks}.json"


def point_of(row: dict) -> Point:
    return Point(row["part"], row["mode"], row["edge"], row["bytes"])


class Sweep(Kept):
    """All parts on a number of hosts."""

    def __init__(self, ranks: int, options: argparse.Namespace) -> None:
        self.parts = parts(options)
        settings = {
            "rate": options.rate,
            "congestion": options.congestion,
            "algorithms": options.algorithms,
            "iters": options.iters,
        }
        path = options.output / file_of(ranks, options.rate)
        super().__init__(path, ranks, settings, options.anew)

    def left(self) -> list[tuple[Point, list[int]]]:
        """Points with the delays, in milliseconds, that have not been measured."""
        done = {(point_of(row), round(row["delay_us"])) for row in self.results["rows"]}
        found = []
        for part in self.parts.values():
            for point in part.points:
                delays = [ms for ms in part.delays if (point, ms * 1000) not in done]
                if delays:
                    found.append((point, delays))
        return found

    def run(self) -> None:
        left = self.left()
        if not left:
            return
        with made(self.ranks, self.results["rate"], self.results["congestion"]) as cluster:
            profile = self.profile(cluster)
            for point, delays in left:
                self._measure(cluster, point, delays, profile)

    def _measure(self, cluster: Cluster, point: Point, delays: list[int], profile: str) -> None:
        written, part = self.path.with_suffix(".job"), self.parts[point.part]
        more = ["--iters", str(part.iters)] if part.iters else []
        command = [
            sys.executable, "-m", "stretto", "bench", "arrival", "--mode", point.mode,
            "--edge", point.edge, "--sizes", str(point.size),
            "--delays", ",".join(f"{ms}ms" for ms in delays),
            "--algorithms", part.algorithms, "--reference", part.reference,
            "--json", str(written), *more,
        ]  # fmt: skip
        print(
            f"{self.ranks} hosts, {point.mode}, {size_text(point.size)} ({point.part})", flush=True
        )
        seconds = self._expected(point, part, delays)
        self.job(cluster, command, START + PATIENCE * seconds, profile)
        found = json.loads(written.read_text())
        written.unlink()
        meta = self.results["meta"]
        self.results["meta"] = {**found["meta"], **meta}
        self.results["rows"] += [
            {**row, "part": point.part, "edge": point.edge} for row in found["rows"]
        ]
        self.save()
        for row in found["rows"]:
            what = f"late by {row['delay_us'] * 1e-3:g} ms: {row['algorithm']}"
            print(f"  {what:<40} {row['elapsed_us'] * 1e-3:8.1f} ms, bound "
                  f"{row['elapsed_bound_us'] * 1e-3:8.1f}", flush=True)  # fmt: skip

    def _expected(self, point: Point, part: Part, delays: list[int]) -> float:
        """Seconds of a job: of each call the computation, the delay, the call, and its check by
        ranks that share the processors."""
        from stretto.cli.arrival import EXTRA
        from stretto.cli.skew import REHEARSALS, Skew

        byte, size = self.results["profile"]["links"]["between"]["byte"], point.size
        call = 4 * byte * size + 2e-9 * size * self.ranks
        seconds = 0.0
        for late in (ms * 1e-3 for ms in delays):
            usual = Skew(point.mode, late).usual_calls(EXTRA + 2 * late)
            seconds += (REHEARSALS + (part.iters or usual)) * (EXTRA + 2 * late + call)
        contribution = 2e-8 * size * self.ranks**2  # of all, to know what is right
        return seconds * len(part.algorithms.split(",")) + contribution
