# SPDX-License-Identifier: BSD-3-Clause
"""A job that is starting, then running, is attacked by a host that does not belong to it."""

from __future__ import annotations

import collections
import contextlib
import os
import random
import re
import resource

import names

from . import protocol
from .attacks import ATTACKS, CROWD, Stranger, Tally, Target, let_go
from .capture import Capture
from .crew import Rank
from .trial import Deadlines, Ground, Shape, Trial

CHILDREN_EVERY = 4  # calls between communicators: ranks accept only while they make one
PORTS = 2  # attacked ports of the running job
LISTENS = "0A"  # in /proc/net/tcp
# Attacks of seconds must not end the job: it waits as long as by default.
DEADLINES = Deadlines(peer=10.0, call=60.0, start=60.0)
REFUSAL = r"stretto: (rank \d+ on h\d+, listening at \S+), refused a connection from \S+: ([^;(]*)"


def play(ground: Ground, seed: int, tallies: dict[str, Tally]) -> Trial:
    """The attacker is the last host of the cluster.  `tallies`: by attack; counts are added."""
    chance = random.Random(seed)
    size = ground.cluster.size
    shape = Shape.by_chance(chance, size - 1, (2, min(4, size - 1)))
    trial = Trial(ground, seed, shape, mark=0, children=CHILDREN_EVERY)
    crew, first, last = trial.crew, shape.hosts[0], len(shape.hosts) - 1
    stranger = Stranger(ground.cluster.host(size), chance)

    def attack(targets: list[Target]) -> None:
        for name in chance.sample(list(tallies), len(tallies)):
            for target in targets:
                ATTACKS[name](stranger, target, tallies[name])

    allow_descriptors((PORTS + 1) * (CROWD + 100))
    crew.hold_back(last)
    with Capture(ground.cluster.host(first)) as capture, trial.running():
        place = Target(0, names.ipv4(first), crew.run.port, protocol.RENDEZVOUS, len(shape.hosts))
        if trial.within("listens", lambda: place.port in _listeners(crew.ranks[0])):
            crew.listen(1.0)  # all ranks but the last come: the job is starting
            stranger.recorded = capture.recordings(first)
            attack([place])
            crew.start(last)
        if trial.within("joins", lambda: all(rank.said("going") for rank in crew)):
            stranger.recorded += capture.recordings(first)
            ports = [port for rank in crew for port in _ports(rank, len(shape.hosts))]
            attack(chance.sample(ports, min(PORTS, len(ports))))
            _check_ourselves(trial, stranger, chance.choice(ports))
        for tally in tallies.values():
            let_go(tally)
        trial.see_to_the_end()
    reported = [rank for rank in crew if re.search(REFUSAL, rank.errors)]
    if not reported:
        trial.complaints.append("no rank has reported a refusal")
    for rank in crew:
        trial.complaints += _logged_twice(rank)
        rank.errors = re.sub(REFUSAL + ".*\n", "", rank.errors)
    return trial


def _check_ourselves(trial: Trial, stranger: Stranger, door: Target) -> None:
    """A peer that knows the secret is trusted, and gets the answer that this job has no such rank.
    So other peers are refused because of the secret, and not because of the form of their
    messages."""
    key = protocol.job_key(trial.crew.run.secret, trial.crew.run.rendezvous)
    hello = protocol.greeting(door.kind, door.ranks, door.rank)
    with stranger.connect(door) as connection:
        verdict = protocol.open_connection(connection, key, hello)
    if verdict != protocol.RANK:
        trial.complaints.append(f"the secret is not believed: verdict {verdict}")


def allow_descriptors(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count), max(hard, count)))


def _ports(rank: Rank, ranks: int) -> list[Target]:
    address = names.ipv4(rank.host)
    return [Target(rank.rank, address, port, protocol.DATA, ranks) for port in _listeners(rank)]


def _listeners(rank: Rank) -> list[int]:
    """The ports at which its process listens."""
    sockets = set()
    for descriptor in os.listdir(f"/proc/{rank.process.pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            sockets.add(os.readlink(f"/proc/{rank.process.pid}/fd/{descriptor}"))
    ports = []
    for file in ("tcp", "tcp6"):
        with open(f"/proc/{rank.process.pid}/net/{file}") as lines:
            for line in list(lines)[1:]:
                fields = line.split()
                if fields[3] == LISTENS and f"socket:[{fields[9]}]" in sockets:
                    ports.append(int(fields[1].rpartition(":")[2], 16))
    return ports


def _logged_twice(rank: Rank) -> list[str]:
    """Each listener reports the first refusal of a kind, and counts the others."""
    reports = collections.Counter(
        (where, re.sub(r"\d+", "N", why)) for where, why in re.findall(REFUSAL, rank.errors)
    )
    return [
        f"{where} has reported {n} times: {why}" for (where, why), n in reports.items() if n > 1
    ]
