# SPDX-License-Identifier: BSD-3-Clause
"""The state of a cluster that later commands need, in a file of its folder."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from errors import LabError
from kernel import started_at


def root() -> Path:
    """The folder of all clusters; in memory, so that a reboot leaves nothing."""
    for base in ("/run", os.environ.get("XDG_RUNTIME_DIR")):
        if base and os.access(base, os.W_OK | os.X_OK):
            return Path(base) / "stretto-lab"
    return Path("/run/stretto-lab")


@dataclass
class Process:
    pid: int
    started: int

    @staticmethod
    def of(pid: int) -> Process:
        started = started_at(pid)
        if started is None:
            raise LabError(f"process {pid} of the cluster ended at once")
        return Process(pid, started)

    def alive(self) -> bool:
        return started_at(self.pid) == self.started


@dataclass
class Links:
    """How links are, in time as the hosts see it: rates and delays are divided by dilation."""

    rate: int | None = None  # bits per second each way; None: not shaped
    delay_ns: int = 0  # each way
    jitter_ns: int = 0  # what a packet is held for on top, at most
    seed: int = 1  # of the jitter
    mtu: int | None = None  # bytes of a packet; None: the kernel's, 1500
    dilate: float = 1.0
    burst: int | None = None  # bytes; None: by the rate
    queue: int | None = None  # bytes that wait at most for a link; None: by the rate

    @property
    def relayed(self) -> bool:
        """Whether what a host sends goes through a relay."""
        return self.delay_ns > 0 or self.jitter_ns > 0


@dataclass
class Cluster:
    name: str
    size: int
    links: Links
    ipv6: bool = False
    shm: int = 0  # bytes of each host's /dev/shm; 0: half of the machine's memory
    congestion: str | None = None  # TCP's congestion control; None: the machine's
    keeper: Process | None = None  # its end is the end of everything in the cluster
    hosts: list[Process] = field(default_factory=list)  # process 1 of each
    rates: dict[int, int] = field(default_factory=dict)  # of links that were slowed
    loss: dict[int, dict[int, float]] = field(default_factory=dict)  # of what host a sends to b
    frozen: list[int] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return root() / self.name

    def alive(self) -> bool:
        return self.keeper is not None and self.keeper.alive() and len(self.hosts) == self.size

    def host(self, number: int) -> int:
        """The process whose namespaces are this host."""
        process = self.hosts[number - 1]
        if not process.alive():
            raise LabError(
                f"h{number} of cluster '{self.name}' does not exist: its process 1 has ended; "
                f"start again with `lab/cluster down --name {self.name}` and up"
            )
        return process.pid

    def save(self) -> None:
        temporary = self.folder / "state.new"
        temporary.write_text(json.dumps(asdict(self)))
        temporary.rename(self.folder / "state.json")

    def forget(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # other clusters are in it
            root().rmdir()


def create(cluster: Cluster) -> None:
    """Takes the name."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,30}", cluster.name):
        raise LabError(f"'{cluster.name}' is no name for a cluster: use letters, digits, '-', '_'")
    cluster.folder.parent.mkdir(mode=0o700, exist_ok=True)
    try:
        cluster.folder.mkdir()
    except FileExistsError:
        raise LabError(
            f"there is a cluster '{cluster.name}' already; end it with "
            f"`lab/cluster down --name {cluster.name}`, or give this one another --name"
        ) from None


def names() -> list[str]:
    with contextlib.suppress(FileNotFoundError):
        return sorted(path.name for path in root().iterdir() if path.is_dir())
    return []


def load(name: str) -> Cluster | None:
    """None if it was never completed."""
    try:
        data = json.loads((root() / name / "state.json").read_text())
    except (FileNotFoundError, NotADirectoryError):
        return None
    data["links"] = Links(**data["links"])
    data["keeper"] = Process(**data["keeper"])
    data["hosts"] = [Process(**each) for each in data["hosts"]]
    data["rates"] = {int(host): rate for host, rate in data["rates"].items()}
    data["loss"] = {
        int(a): {int(b): share for b, share in row.items()} for a, row in data["loss"].items()
    }
    return Cluster(**data)


def find(name: str) -> Cluster:
    """The running cluster of this name."""
    if not (root() / name).is_dir():
        there = ", ".join(names())
        hint = f"there are: {there} (--name)" if there else "start one with `lab/cluster up 4`"
        raise LabError(f"there is no cluster '{name}'; {hint}")
    cluster = load(name)
    if cluster is None or not cluster.alive():
        raise LabError(
            f"cluster '{name}' does not run (it was not completed, or its processes were ended); "
            f"clear it away with `lab/cluster down --name {name}`"
        )
    return cluster


@contextlib.contextmanager
def changing(name: str) -> Iterator[Cluster]:
    """The cluster, locked against other changes; saved at the end."""
    find(name)
    with open(root() / name / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        cluster = find(name)
        yield cluster
        cluster.save()
