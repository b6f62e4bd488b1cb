# SPDX-License-Identifier: BSD-3-Clause
"""The commands of `lab/reliability`."""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import check
import lifetime
import state
from errors import LabError
from state import Cluster, Links

from . import failures, program, splits, strangers
from .arguments import parser
from .attacks import ATTACKS, Tally
from .counts import Row, attack_table, table
from .judge import Verdict, judge
from .trial import Deadlines, Ground, Trial

RATE = 10**9  # bits per second of each link, so that a large message takes some time


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)
    try:
        check.need_root()
        return WORK[options.command_name](options)
    except (LabError, OSError) as error:
        print(f"lab/reliability: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        return 130
    return 1


def _interrupted(number: int, _: object) -> None:
    raise SystemExit(128 + number)


def _failures(options: argparse.Namespace) -> int:
    return _one_by_one(options, failures.KINDS, failures.play)


def _splits(options: argparse.Namespace) -> int:
    return _one_by_one(options, list(splits.KINDS), splits.play)


def _one_by_one(
    options: argparse.Namespace,
    kinds: list[str],
    play: Callable[[Ground, int, str], Trial],
) -> int:
    """Jobs; the seed of each determines its kind."""
    wanted = _wanted(options, kinds)
    seeds = (seed for seed in itertools.count(options.seed) if kinds[seed % len(kinds)] in wanted)
    rows = {kind: Row() for kind in wanted}

    def seen() -> str:
        return table({kind: row for kind, row in rows.items() if row.jobs})

    with _told_at_the_end(seen), _ground(options, Deadlines()) as ground:
        for seed in itertools.islice(seeds, options.jobs):
            kind = kinds[seed % len(kinds)]
            trial = functools.partial(play, ground, seed, kind)
            _account(options, seed, kind, rows[kind], trial)
    return any(row.failed for row in rows.values())


@contextlib.contextmanager
def _told_at_the_end(words: Callable[[], str]) -> Iterator[None]:
    """Also the results so far, if the command is interrupted."""
    try:
        yield
    finally:
        print(words())


def _strangers(options: argparse.Namespace) -> int:
    tallies = {name: Tally() for name in _wanted(options, list(ATTACKS))}
    row = Row()
    with _ground(options, strangers.DEADLINES) as ground:
        for seed in range(options.seed, options.seed + options.jobs):
            _account(
                options,
                seed,
                "attacks",
                row,
                functools.partial(strangers.play, ground, seed, tallies),
            )
    print(table({"attacked while it starts and while it runs": row}), "", sep="\n")
    print(attack_table(tallies))
    return row.failed > 0 or any(tally.accepted for tally in tallies.values())


WORK = {"failures": _failures, "splits": _splits, "strangers": _strangers}


def _wanted(options: argparse.Namespace, kinds: list[str]) -> list[str]:
    """Each once, in their order."""
    found = [
        kind
        for kind in dict.fromkeys(kinds)
        if not options.kind or any(text in kind for text in options.kind)
    ]
    if not found:
        raise LabError(f"--kind {options.kind[0]}: there are " + "; ".join(dict.fromkeys(kinds)))
    return found


@contextlib.contextmanager
def _ground(options: argparse.Namespace, deadlines: Deadlines) -> Iterator[Ground]:
    """A cluster of its own, and the program."""
    name = f"reliability-{os.getpid()}"
    with tempfile.TemporaryDirectory() as folder:
        worker = program.build(Path(folder), options.prefix or program.installed())
        lifetime.up(Cluster(name, options.hosts, Links(rate=RATE)))
        try:
            yield Ground(state.find(name), worker, deadlines)
        finally:
            lifetime.down(name)


def _account(
    options: argparse.Namespace, seed: int, kind: str, row: Row, play: Callable[[], Trial]
) -> None:
    started = time.monotonic()
    trial = play()
    verdict = judge(trial)
    row.add(verdict, trial.complaints)
    if not options.quiet or trial.complaints:
        print(_line(seed, kind, trial, verdict, time.monotonic() - started))
    for complaint in trial.complaints:
        print("    failed check:", complaint)
    if options.verbose or trial.complaints:
        for rank in trial.crew:
            for event in rank.events if options.verbose else rank.events[-2:]:
                print(f"    {rank.name} {event.when:.3f} {event.what} {' '.join(event.fields)}")
    sys.stdout.flush()


def _line(seed: int, kind: str, trial: Trial, verdict: Verdict, seconds: float) -> str:
    done = "; ".join(fault.text for fault in trial.world.done) or kind
    slowest = f", last error after {verdict.slowest_error:.2f} s" if verdict.errors else ""
    return (
        f"{seed:4} {verdict.ranks:2} ranks on {','.join(map(str, trial.shape.hosts))}: {done}: "
        f"{verdict.continued} ranks continue, {verdict.excluded} are excluded{slowest} "
        f"({seconds:.1f} s)"
    )
