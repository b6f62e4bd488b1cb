# SPDX-License-Identifier: BSD-3-Clause
"""The command `lab/soak`: many calls with late ranks, whose results are all checked."""

from __future__ import annotations

import argparse
import collections
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import check
import lifetime
import state
import units
from errors import LabError
from state import Cluster, Links

from . import program
from .crew import Crew, Event, Rank

EXAMPLES = """\
example, as root:
  lab/soak --calls 1000 --hosts 5

Prints the results as JSON.  The exit status is 0 if every result was right and nothing hung.
"""
PROGRESS_EVERY = 10.0  # seconds between two lines of progress
LAST_REPORTS = 15.0  # seconds for the other ranks to report how a call failed
START = 60.0  # seconds until all have joined


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="lab/soak",
        description="Makes allreduces, reduces and broadcasts around the size from which arrivals "
        "are measured. Ranks\nare late at random, and some announce their arrival, correctly or "
        "wrongly. Messages of different\nconnections arrive in random order. Checks every result.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    number = units.at_least
    add = made.add_argument
    add("--calls", type=number(1), default=100_000, help="(default: %(default)s)")
    add("--hosts", type=number(3), default=4, help="hosts of the cluster (default: %(default)s)")
    add("--ranks-per-host", type=number(1), default=1, metavar="K", help="(default: %(default)s)")
    add("--seed", type=number(0), default=1, help="of all random numbers (default: %(default)s)")
    add("--late", default="8ms", metavar="TIME", help="the latest arrival (default: %(default)s)")
    add("--rate", default="1gbit", help="of each link (default: %(default)s)")
    add("--delay", default="30us", help="of each link (default: %(default)s)")
    add("--jitter", default="500us", help="of each link (default: %(default)s)")
    add("--mtu", type=int, metavar="BYTES", help="of each link (default: 1500)")
    add(
        "--patience", type=number(10), default=120, metavar="SECONDS",
        help="time without a completed call that counts as a hang (default: %(default)s)",
    )  # fmt: skip
    add(
        "--prefix", type=Path, metavar="FOLDER",
        help="an installation or a build of Stretto (default: the one in .venv)",
    )  # fmt: skip
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    for sign in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(sign, _interrupted)
    try:
        check.need_root()
        return _soak(options)
    except (LabError, OSError) as error:
        print(f"lab/soak: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        return 130
    return 1


def _interrupted(number: int, _: object) -> None:
    raise SystemExit(128 + number)


def _soak(options: argparse.Namespace) -> int:
    made = Links(
        rate=units.rate(options.rate),
        delay_ns=units.time_ns(options.delay),
        jitter_ns=units.time_ns(options.jitter),
        seed=options.seed,
        mtu=options.mtu,
    )
    name = f"soak-{os.getpid()}"
    with tempfile.TemporaryDirectory() as folder:
        worker = program.build(Path(folder), options.prefix or program.installed(), "soak")
        lifetime.up(Cluster(name, options.hosts, made))
        try:
            command = [worker, options.seed, options.calls, units.time_ns(options.late) // 1000]
            hosts = list(range(1, options.hosts + 1)) * options.ranks_per_host
            # The library's error names the waiting ranks before this command gives up.
            variables = {"STRETTO_TIMEOUT": f"{options.patience / 2:g}"}
            with Crew(state.find(name), sorted(hosts), command, variables) as crew:
                started = time.monotonic()
                hung = _watch(crew, options)
                seen = summary(crew, hung, time.monotonic() - started)
        finally:
            lifetime.down(name)
    print(json.dumps(seen, indent=2))
    return int(bool(seen["failed_checks"]))


def _watch(crew: Crew, options: argparse.Namespace) -> bool:
    """Waits until all ranks have ended, or until one has failed and the others have reported it.
    Returns whether the job hangs."""

    def least() -> int:
        return min(_where(rank)[0] for rank in crew)

    began = moved = printed = time.monotonic()
    before = -1
    while not all(rank.ended for rank in crew):
        crew.listen(0.2)
        now = time.monotonic()
        if any(rank.said("failed") or (rank.ended and not _whole(rank)) for rank in crew):
            crew.wait(lambda: all(rank.ended for rank in crew), LAST_REPORTS)
            return False
        # A rank that has made its calls waits for the others to end.
        if least() != before:
            before, moved = least(), now
        if now - moved > max(options.patience, START if before < 0 else 0):
            return True
        if now - printed > PROGRESS_EVERY:
            printed = now
            rate = before / (now - began)
            print(f"call {before:,} of {options.calls:,}, {rate:.0f} a second", file=sys.stderr)
    return False


def _where(rank: Rank) -> tuple[int, str]:
    """The call that the rank is at, and what it does there."""
    last = rank.last("at")
    if rank.said("ended"):
        return int(rank.last("ended").fields[0]), "has ended"
    return (int(last.fields[0]), last.fields[1]) if last else (-1, "has said nothing")


def _whole(rank: Rank) -> bool:
    return rank.said("ended") and rank.process.returncode == 0


def summary(crew: Crew, hung: bool, seconds: float) -> dict:
    """The results; `failed_checks` is empty if all was as it should be."""
    served: collections.Counter[str] = collections.Counter()
    for event in crew.ranks[0].all("served"):
        collective, algorithm, calls = event.fields
        served[f"{collective} {algorithm.partition('(')[0]}"] += int(calls)
    wrong = [_line(rank, event) for rank in crew for event in rank.all("wrong")]
    failed = [_line(rank, event) for rank in crew for event in rank.all("failed")]
    ended = [rank for rank in crew if rank.said("ended")]
    silent = [
        f"{rank.name} ended with status {rank.process.returncode}"
        for rank in crew
        if rank.ended and not _whole(rank) and not rank.said("failed")
    ]
    stands = [f"{r.name}: call {_where(r)[0]}, {_where(r)[1]}" for r in crew if not _whole(r)]
    said = [f"{rank.name}: {line}" for rank in crew for line in rank.errors.splitlines()]
    errors = collections.Counter(event.fields[2] for rank in crew for event in rank.all("failed"))
    return {
        "ranks": len(crew.ranks),
        "calls": max(0, min(_where(rank)[0] for rank in crew)),
        "seconds": round(seconds, 1),
        "wrong": len(wrong),
        "hangs": int(hung or errors["timeout"] > 0),
        "mismatches": errors["mismatched collectives"],
        "announcements": sum(int(rank.last("ended").fields[1]) for rank in ended),
        "served": dict(served.most_common()),
        "failed_checks": [
            *(*wrong, *failed, *silent, *said),
            *(stands if hung or failed or silent else []),
        ],
    }


def _line(rank: Rank, event: Event) -> str:
    return f"{rank.name}: {event.what}: {' '.join(event.fields)}"
