# SPDX-License-Identifier: BSD-3-Clause
"""Failures at random moments of jobs of random shapes."""

from __future__ import annotations

import random
from collections.abc import Callable

from .trial import Ground, Shape, Trial

Break = Callable[[random.Random, Trial], None]


def _hosts(trial: Trial) -> list[int]:
    """The failures that fit the placement of ranks."""
    return sorted({rank.host for rank in trial.crew if trial.world.fit(rank)})


def _kill_rank(chance: random.Random, trial: Trial) -> None:
    trial.world.kill_rank(
        chance.choice([rank.rank for rank in trial.crew if trial.world.fit(rank)])
    )


def _kill_host(chance: random.Random, trial: Trial) -> None:
    trial.world.kill_host(chance.choice(_hosts(trial)), power=False)


def _power_off(chance: random.Random, trial: Trial) -> None:
    trial.world.kill_host(chance.choice(_hosts(trial)), power=True)


def _cut(chance: random.Random, trial: Trial) -> None:
    trial.world.cut(chance.choice(_hosts(trial)))


def _cut_one_link(chance: random.Random, trial: Trial) -> None:
    """One of the two ends is excluded: which one depends on which noticed first."""
    trial.exact = False
    host, other = chance.sample(_hosts(trial), 2)
    trial.world.cut(host, [other])


def _split(chance: random.Random, trial: Trial) -> None:
    hosts = _hosts(trial)
    chance.shuffle(hosts)
    at = chance.randint(1, len(hosts) - 1)
    trial.world.split([sorted(hosts[:at]), sorted(hosts[at:])])


def _freeze(chance: random.Random, trial: Trial) -> None:
    trial.world.freeze(chance.choice(_hosts(trial)))


RUNNING: dict[str, Break] = {
    "`kill -9` a rank": _kill_rank,
    "kill a host": _kill_host,
    "power off a host": _power_off,
    "cut a host off": _cut,
    "cut one link": _cut_one_link,
    "split the switch": _split,
    "freeze a host, thaw it when the others have gone on": _freeze,
}
# What drops the rendezvous.
STARTING: dict[str, Break] = {
    "kill rank 0 while the job starts": lambda _, trial: trial.world.kill_rank(0),
    "kill rank 0's host while the job starts": lambda _, trial: trial.world.kill_host(
        trial.shape.hosts[0], power=False
    ),
    "cut rank 0's host off while the job starts": lambda _, trial: trial.world.cut(
        trial.shape.hosts[0]
    ),
}
# Faults that no rank should notice.
SHORT: dict[str, Break] = {
    "freeze a host for a moment": _freeze,
    "cut a host off for a moment": _cut,
}
TWO = "two of these, one soon after the other"
KINDS = [*RUNNING, *STARTING, *SHORT, TWO, TWO, TWO, TWO]


def play(ground: Ground, seed: int, kind: str) -> Trial:
    chance = random.Random(seed)
    size = ground.cluster.size
    # A second failure takes a third host.
    shape = Shape.by_chance(chance, size, (3 if kind == TWO else 2, size))
    trial = Trial(ground, seed, shape, mark=chance.randint(1, 200))
    with trial.running():
        if kind in STARTING:
            trial.crew.listen(chance.uniform(0, 0.12))
            STARTING[kind](chance, trial)
        elif trial.reached_mark():
            trial.crew.listen(chance.uniform(0, 0.05))
            if kind == TWO:
                _two(chance, trial)
            elif kind in SHORT:
                trial.harmless = True
                SHORT[kind](chance, trial)
                trial.crew.listen(ground.deadlines.peer * chance.uniform(0.05, 0.15))
                trial.world.tidy()
                trial.crew.listen(ground.deadlines.peer)
            else:
                RUNNING[kind](chance, trial)
        trial.see_to_the_end()
    return trial


def _two(chance: random.Random, trial: Trial) -> None:
    """The second failure: before a rank has detected the first, during the shrink, or after."""
    for each in chance.sample(list(RUNNING.values()), 2):
        trial.crew.listen(chance.uniform(0, 2 * trial.ground.deadlines.peer))
        each(chance, trial)
