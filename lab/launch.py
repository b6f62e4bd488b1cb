# SPDX-License-Identifier: BSD-3-Clause
"""`lab/cluster run` and `exec`: runs programs in hosts and waits for them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import names
import processes
from errors import LabError
from jobs import Job, forward_death
from launchers import Place, Run, environment
from state import Cluster

MARK = "LAB_CLUSTER_RUN"  # in the environment of a run's processes, to find those left behind


@dataclass(frozen=True)
class Options:
    hosts: list[int]  # in the order of ranks; a host may be named several times
    ranks_per_host: int = 1
    launcher: str = "stretto"
    variables: Mapping[str, str] = field(default_factory=dict)
    prefix: bool = True
    keep_going: bool = False
    grace: float = 5.0


def run(cluster: Cluster, command: Sequence[str], options: Options) -> int:
    """Runs the command once for each rank; the exit status for the shell (see Job.run)."""
    inits = {host: _ready(cluster, host) for host in options.hosts}
    places = _places(options.hosts, options.ranks_per_host)
    shared = Run.at(places[0].host, cluster.ipv6)
    folder = os.getcwd()

    def start(rank: int, pipe: int | None) -> subprocess.Popen[bytes]:
        place = places[rank]
        return processes.spawn(
            inits[place.host],
            command,
            folder,
            {
                **environment(options.launcher, place, shared, os.environ),
                **options.variables,
                MARK: shared.job,
            },
            prepare=forward_death,
            stdin=None if rank == 0 else subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            start_new_session=True,
        )

    host_names = [names.hostname(place.host) for place in places]
    widths = len(str(len(places) - 1)), max(map(len, host_names))
    labels = [f"[{rank:{widths[0]}} {host:{widths[1]}}]" for rank, host in enumerate(host_names)]
    job = Job(
        "lab/cluster run",
        [f"rank {rank} on {host}" for rank, host in enumerate(host_names)],
        start,
        labels if options.prefix else None,
        options.grace,
        options.keep_going,
    )
    try:
        return job.run()
    finally:
        processes.end_marked(list(inits.values()), MARK, shared.job)


def execute(cluster: Cluster, host: int, command: Sequence[str]) -> int:
    """Runs the command in the host, on this terminal; its exit status."""
    process = processes.spawn(
        _ready(cluster, host),
        command,
        os.getcwd(),
        {**os.environ, "TMPDIR": names.TEMPORARY},
        prepare=forward_death,
    )
    with _passing_on(process):
        status = process.wait()
    return 128 - status if status < 0 else status


def _ready(cluster: Cluster, host: int) -> int:
    if host in cluster.frozen:
        raise LabError(f"h{host} is frozen; `lab/cluster thaw h{host}` first")
    return cluster.host(host)


def _places(hosts: list[int], ranks_per_host: int) -> list[Place]:
    on = [host for host in hosts for _ in range(ranks_per_host)]
    nodes = list(dict.fromkeys(hosts))
    return [
        Place(
            rank=rank,
            size=len(on),
            host=host,
            node=nodes.index(host),
            nodes=len(nodes),
            local_rank=on[:rank].count(host),
            local_size=on.count(host),
        )
        for rank, host in enumerate(on)
    ]


@contextlib.contextmanager
def _passing_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """The terminal's signals reach the command by themselves; others, through us."""

    def pass_on(number: int, _: object) -> None:
        process.send_signal(number)

    old = {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGHUP)}
    old.update(
        {
            number: signal.signal(number, signal.SIG_IGN)
            for number in (signal.SIGINT, signal.SIGQUIT)
        }
    )
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
