# SPDX-License-Identifier: BSD-3-Clause
"""The switch is split.  At most one side continues, and the others get ExcludedError."""

from __future__ import annotations

import random
from collections.abc import Callable

from .trial import Ground, Shape, Trial


def _sides(chance: random.Random, hosts: list[int], count: int) -> list[list[int]]:
    """Two sides, neither of them empty."""
    hosts = chance.sample(hosts, len(hosts))
    cuts = sorted(chance.sample(range(1, len(hosts)), count - 1))
    return [sorted(hosts[a:b]) for a, b in zip([0, *cuts], [*cuts, len(hosts)])]


def _two_sides(chance: random.Random, trial: Trial) -> None:
    trial.world.split(_sides(chance, trial.world.hosts(), 2))


def _even_halves(chance: random.Random, trial: Trial) -> None:
    """Two sides with equally many ranks: the side of the lowest rank continues."""
    hosts = chance.sample(trial.world.hosts(), len(trial.world.hosts()))
    half = len(hosts) // 2
    trial.world.split([sorted(hosts[:half]), sorted(hosts[half:])])


def _three_sides(chance: random.Random, trial: Trial) -> None:
    trial.world.split(_sides(chance, trial.world.hosts(), 3))


def _link_by_link(chance: random.Random, trial: Trial) -> None:
    """Within a second or two, in any order: for a while one side has no host."""
    trial.exact = False
    one, other = _sides(chance, trial.world.hosts(), 2)
    pairs = [(a, b) for a in one for b in other]
    for a, b in chance.sample(pairs, len(pairs)):
        trial.world.cut(a, [b])
        trial.crew.listen(chance.uniform(0, 2.0 / len(pairs)))


def _during_shrink(chance: random.Random, trial: Trial) -> None:
    """A rank has died, and the remaining ranks are about to agree on the ranks that continue."""
    trial.world.kill_rank(chance.randrange(len(trial.crew.ranks)))
    trial.within("fails", lambda: any(rank.said("failed") for rank in trial.crew))
    trial.crew.listen(chance.choice([0, chance.uniform(0, 0.05)]))
    _two_sides(chance, trial)


def _twice(chance: random.Random, trial: Trial) -> None:
    """The ranks that continue are split again."""
    one, other, third = _sides(chance, trial.world.hosts(), 3)
    trial.world.split([sorted(one + other), third])
    trial.settled()
    trial.world.split([one, other])


def _healed_too_early(chance: random.Random, trial: Trial) -> None:
    """The network is whole again when some ranks have taken others for dead, or are about to."""
    trial.mended = True
    _two_sides(chance, trial)
    trial.crew.listen(trial.ground.deadlines.peer * chance.uniform(0.7, 1.3))
    trial.reachable()
    trial.world.heal()
    trial.crew.listen(2 * trial.ground.deadlines.peer)


KINDS: dict[str, Callable[[random.Random, Trial], None]] = {
    "two sides": _two_sides,
    "even halves": _even_halves,
    "three sides": _three_sides,
    "two sides, link by link": _link_by_link,
    "two sides while ranks shrink": _during_shrink,
    "two sides, and again": _twice,
    "two sides, healed when some have noticed": _healed_too_early,
}


def play(ground: Ground, seed: int, kind: str) -> Trial:
    chance = random.Random(seed)
    size = ground.cluster.size
    if kind == "even halves":
        some = chance.sample(range(1, size + 1), 2 * chance.randint(1, size // 2))
        shape = Shape(tuple(some * chance.randint(1, 3)))
    else:
        shape = Shape.by_chance(chance, size, (3, size))
    trial = Trial(ground, seed, shape, mark=chance.randint(1, 200))
    with trial.running():
        if trial.reached_mark():
            KINDS[kind](chance, trial)
        trial.see_to_the_end()
    return trial
