# SPDX-License-Identifier: BSD-3-Clause
"""One job: its faults, and the waits for its ranks."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import names
from state import Cluster

from . import views
from .crew import Crew, Rank
from .world import World


@dataclass(frozen=True)
class Deadlines:
    """Seconds."""

    peer: float = 2.0  # STRETTO_PEER_TIMEOUT: of silence, until a rank is taken for dead
    call: float = 6.0  # STRETTO_TIMEOUT
    start: float = 10.0  # STRETTO_INIT_TIMEOUT
    # The delay that a busy machine may add: a notified rank waits for a core.
    margin: float = 5.0

    @property
    def running(self) -> float:
        """Until a rank of a running job must have an error, whatever happened."""
        return self.call + self.margin

    @property
    def starting(self) -> float:
        """Ranks wait five seconds longer than rank 0, which sends them the reason."""
        return self.start + 5.0 + self.margin

    def variables(self) -> dict[str, str]:
        return {
            "STRETTO_PEER_TIMEOUT": str(self.peer),
            "STRETTO_TIMEOUT": str(self.call),
            "STRETTO_INIT_TIMEOUT": str(self.start),
        }


@dataclass(frozen=True)
class Ground:
    """Where trials take place."""

    cluster: Cluster
    program: Path
    deadlines: Deadlines


@dataclass(frozen=True)
class Shape:
    hosts: tuple[int, ...]  # by rank

    @staticmethod
    def by_chance(chance: random.Random, size: int, count: tuple[int, int]) -> Shape:
        """From one to three ranks on each of some hosts of a cluster, in any order."""
        some = chance.sample(range(1, size + 1), chance.randint(*count))
        placed = [host for host in some for _ in range(chance.randint(1, 3))]
        if chance.random() < 0.5:
            chance.shuffle(placed)
        return Shape(tuple(placed))


class Trial:
    def __init__(self, ground: Ground, seed: int, shape: Shape, mark: int, children: int = 0):
        self.ground = ground
        self.shape = shape
        self.complaints: list[str] = []
        self.hangs = 0
        self.harmless = False  # no rank may fail because of the faults
        self.exact = True  # the ranks that continue follow from the connections at the end
        self.mended = False  # it is chance which ranks took others for dead: none must continue
        self.candidates: list[
            frozenset[int]
        ] = []  # the ranks that could continue together after the last fault
        command = [ground.program, seed, mark, children]
        self.crew = Crew(ground.cluster, shape.hosts, command, ground.deadlines.variables())
        self.world = World(ground.cluster.name, self.crew)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        with self.crew:
            try:
                yield
            finally:
                self.world.tidy()

    def see_to_the_end(self) -> None:
        """After the last fault: ranks that can continue do, all others get ExcludedError, and all
        end."""
        self.settled()
        if not self.candidates:
            self.reachable()
        self.world.tidy()
        if not self.hangs:
            self.thawed_give_up()
        if not self.hangs:
            self.ends()

    def reachable(self) -> None:
        """Records the ranks that can continue now."""
        self.candidates = self.world.largest()

    # ---- waiting; False after the time limit, which is a hang

    def within(self, what: str, until: Callable[[], bool]) -> bool:
        """Waits for an event that needs no failure."""
        return self._within(
            self.ground.deadlines.starting + self.ground.deadlines.running, what, until
        )

    def reached_mark(self) -> bool:
        """Some rank has come to the marked call."""
        return self.within(
            "comes to the marked call", lambda: any(rank.said("mark") for rank in self.crew)
        )

    def settled(self) -> bool:
        """Each live rank continues, or has got ExcludedError."""
        deadlines = self.ground.deadlines
        once = max(deadlines.running, deadlines.starting) + deadlines.call
        return self._within(
            once * max(1, len(self.world.done)),
            "continues or gives up",
            lambda: all(map(self._is_settled, filter(self.world.fit, self.crew))),
        )

    def thawed_give_up(self) -> bool:
        """The ranks that were frozen when the others continued without them."""
        thawed = [rank for rank in self.crew if rank.host in self.world.thawed_at]
        return self._within(
            2 * self.ground.deadlines.running,
            "gets an error after it thawed",
            lambda: all(rank.killed or self._is_settled(rank) for rank in thawed),
        )

    def ends(self) -> bool:
        """Asks all remaining ranks to stop, and waits until they have."""
        self.crew.stop()
        return self._within(
            2 * self.ground.deadlines.running,
            "ends after the signal to stop",
            lambda: all(rank.ended for rank in self.crew),
        )

    def _is_settled(self, rank: Rank) -> bool:
        if views.is_out(rank):
            return True
        if not views.is_going(rank):
            return False
        size = len(self.crew.ranks)
        view = views.history(rank, size)[-1]
        others = [self.crew.ranks[each] for each in view]
        return self.world.together(others) and all(
            views.is_going(other) and views.history(other, size)[-1] == view for other in others
        )

    def _within(self, seconds: float, what: str, until: Callable[[], bool]) -> bool:
        if self.crew.wait(until, seconds):
            return True
        self.hangs += 1
        stuck = "; ".join(self._state(rank) for rank in self.crew if not rank.ended)
        self.complaints.append(f"after {seconds:g} s not every rank {what}: {stuck}")
        return False

    def _state(self, rank: Rank) -> str:
        said = " ".join(event.what for event in rank.events[-4:])
        frozen = ", frozen" if rank.host in self.world.frozen else ""
        return f"{rank.rank} ({names.hostname(rank.host)}{frozen}) {said or 'said nothing'}"
