# SPDX-License-Identifier: BSD-3-Clause
"""The training of Proficz (2018), section 6 and table 5, on hosts of the lab: recorded steps of
examples/cnn as sleeps, and real averages of real models after each.  Algorithms take turns,
execution by execution; results are written after each: a new start continues where the last one
ended."""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import recording
from cluster import ROOT, Cluster, made
from contest import build
from kept import PATIENCE, START, Kept, measure, stored, tell_wrong
from published_late import STEP
from rich.console import Console
from sizes import parse_numbers

RANK = Path(__file__).with_name("replay_rank.py")
STEPS = ROOT / "examples/cnn/steps.json"
# By name, what a job is told to go by, and whether its ranks tell how far they are.  As in the
# paper, the ring knows nothing of arrivals.
FORCED = "STRETTO_ALGORITHM"
DEAF = {"STRETTO_ARRIVALS": "0"}
ALGORITHMS: dict[str, tuple[dict[str, str], bool]] = {
    "ring": ({FORCED: "allreduce=ring", **DEAF}, False),
    "chain": ({FORCED: "allreduce=chain"}, True),
    "pre_reduced_ring": ({FORCED: "allreduce=pre_reduced_ring"}, True),
    "auto": ({}, True),
    "balanced": (DEAF, False),
}
USUAL = "ring,chain,pre_reduced_ring,auto"
# Seconds of a step on the average.
PACES = {"recorded": None, "paper": STEP}
AVERAGE = 0.1  # seconds of a call, about, to know when a job hangs


class Run(NamedTuple):
    """One job."""

    pace: str
    execution: int
    algorithm: str


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="training.py", description=__doc__)
    add = parser.add_argument
    add("--ranks", type=parse_numbers, default="16", help="numbers of hosts (16)")
    add("--rate", default="1gbit", help="of the links, each way, headers included (1gbit)")
    add("--congestion", default="reno", help="TCP's congestion control (reno)")
    add("--recording", type=Path, default=STEPS, metavar="FILE",
        help="what steps took: train.py --record (examples/cnn/steps.json)")  # fmt: skip
    add("--paces", type=one_of(PACES), default=",".join(PACES),
        help="steps as long as they were recorded, or stretched to the paper's (both)")  # fmt: skip
    add("--algorithms", type=one_of(ALGORITHMS), default=USUAL,
        help=f"of {','.join(ALGORITHMS)} ({USUAL})")  # fmt: skip
    add("--executions", type=int, default=5, metavar="N", help="of each (5; the paper's: 128)")
    add("--iterations", type=int, default=390, metavar="N", help="of an execution (390)")
    add("--seed", type=int, default=1, help="of the order of steps on each rank (1)")
    add("--output", type=Path, default=ROOT / "results", help="folder of the results (results)")
    add("--anew", action="store_true", help="forget what was measured before")
    add("--tables-only", action="store_true", help="from what was measured before")
    add("--page", action="store_true", help="write the tables into docs/ as well")
    return parser.parse_args()


def one_of(known: dict) -> Callable[[str], list[str]]:
    """Names with commas."""

    def names(text: str) -> list[str]:
        if unknown := set(text.split(",")) - set(known):
            raise argparse.ArgumentTypeError(f"no {', '.join(unknown)}; of {', '.join(known)}")
        return text.split(",")

    return names


def main() -> int:
    options = parse_arguments()
    options.output.mkdir(parents=True, exist_ok=True)
    whole = True
    if not options.tables_only:
        try:
            recording.read(options.recording)
        except (OSError, ValueError) as error:
            sys.exit(f"--recording: {error}")
        build([], Console())
        whole = measure(options.ranks, lambda ranks: Replays(ranks, options).run())
    found = stored(options.output, file_of("*", "*"))
    import replay_page  # with parts of Stretto, which is installed by now

    text = replay_page.markdown(found)
    (options.output / "training.md").write_text(text)
    if options.page:
        replay_page.write(text)
    print(text)
    return 1 if tell_wrong(found) or not whole else 0


def file_of(ranks: object, rate: str) -> str:
    return f"training-{rate}-{ranks}.json"


class Replays(Kept):
    """All executions on a number of hosts."""

    def __init__(self, ranks: int, options: argparse.Namespace) -> None:
        self.options = options
        self.recording = recording.read(options.recording)
        settings = {
            "rate": options.rate,
            "congestion": options.congestion,
            "iterations": options.iterations,
            "seed": options.seed,
            "recording": hashlib.sha256(options.recording.read_bytes()).hexdigest()[:16],
        }
        path = options.output / file_of(ranks, options.rate)
        super().__init__(path, ranks, settings, options.anew)
        self.results["meta"]["steps"] = {
            **self.recording.made,
            "parameters": self.recording.parameters,
            "mean_s": self.recording.mean,
            "fraction": self.recording.fraction,
        }

    def left(self) -> list[Run]:
        """In turns; a different one begins each time."""
        done = {
            Run(row["pace"], row["execution"], row["algorithm"]) for row in self.results["rows"]
        }
        names = self.options.algorithms
        planned = (
            Run(pace, execution, names[(place + execution) % len(names)])
            for pace in self.options.paces
            for execution in range(self.options.executions)
            for place in range(len(names))
        )
        return [run for run in planned if run not in done]

    def run(self) -> None:
        left = self.left()
        if not left:
            return
        with made(self.ranks, self.results["rate"], self.results["congestion"]) as cluster:
            profile = self.profile(cluster)
            for run in left:
                self._execute(cluster, run, profile)

    def _execute(self, cluster: Cluster, run: Run, profile: str) -> None:
        settings, tell = ALGORITHMS[run.algorithm]
        mean = PACES[run.pace]
        command = [
            sys.executable, str(RANK), "--recording", str(self.options.recording.resolve()),
            "--execution", str(run.execution), "--iterations", str(self.options.iterations),
            "--seed", str(self.options.seed),
            *(["--mean", repr(mean)] if mean else []), *(["--tell"] if tell else []),
        ]  # fmt: skip
        seconds = self.options.iterations * ((mean or self.recording.mean) + AVERAGE)
        limit = START + PATIENCE * seconds
        (found,) = self.job(cluster, command, limit, profile, **settings)
        self.results["rows"].append({**run._asdict(), **found})
        self.save()
        print(
            f"{self.ranks} hosts, {run.pace} {run.execution}: {run.algorithm:<18} "
            f"{found['elapsed_us'] * 1e-3:7.1f} ms a call, {found['total_s']:7.1f} s",
            flush=True,
        )
