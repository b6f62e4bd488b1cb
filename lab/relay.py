# SPDX-License-Identifier: BSD-3-Clause
"""Builds relay.cpp, starts a relay for each host, and reads how exact it is."""

from __future__ import annotations

import os
import shlex
import struct
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

import kernel
import links
import names
from errors import LabError
from state import Cluster

SOURCE = Path(__file__).resolve().parent / "relay.cpp"
FLAGS = ["-std=c++20", "-O2", "-Wall", "-Wextra"]
LAYOUT = struct.Struct("<5Q32Q")  # struct Statistics
LEAST_LIMIT = 1 << 20
UNSHAPED_LIMIT = 64 << 20
# Of polling before a release, so that it is exact; in slow motion there is no need to be, and a
# hundred relays that poll take the processors from the ranks.
MOST_LEAD_NS = 250_000


def build(cluster: Cluster) -> None:
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    command = [*compiler, *FLAGS, str(SOURCE), "-o", str(_program(cluster))]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise LabError(
            f"--delay and --jitter need a C++20 compiler, and there is no '{compiler[0]}'; "
            "install one (apt-get install g++) or name it in CXX"
        ) from None
    if done.returncode != 0:
        raise LabError(f"the relay cannot be built: {shlex.join(command)}\n{done.stderr.strip()}")


def start(cluster: Cluster, host: int, init: int) -> None:
    """Starts the host's relay and returns when its TUN device is there."""
    log = _log(cluster, host)

    def prepare() -> None:
        kernel.enter(init, "net")
        try:  # a release is due also while ranks take all cores
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        except OSError as error:
            said = f"no real-time priority ({error.strerror}): late while ranks take all cores"
            os.write(2, f"{said}\n".encode())

    command = [
        str(_program(cluster)),
        names.DEVICE,
        names.WIRE,
        str(cluster.links.delay_ns),
        str(cluster.links.jitter_ns),
        str(cluster.links.seed * names.MOST_HOSTS + host),  # hosts differ
        str(_limit(cluster)),
        str(round(MOST_LEAD_NS / cluster.links.dilate)),
        str(cluster.links.rate if cluster.links.rate and links.exact(cluster.links) else 0),
        str(cluster.links.mtu or links.USUAL_MTU),
        str(_statistics(cluster, host)),
    ]
    with open(log, "w") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            preexec_fn=prepare,
        )
    assert process.stdout is not None
    if process.stdout.read() != b"ready\n":
        raise LabError(f"the relay of h{host} did not start: {log.read_text().strip()}")


@dataclass
class Exactness:
    packets: int
    bytes: int
    dropped: int  # more than may wait, or the wire refused it
    late_us_mean: float
    late_us_median_below: int  # a power of two
    late_us_p99_below: int
    late_us_most: float

    def as_json(self) -> dict[str, float]:
        return asdict(self)


def exactness(cluster: Cluster, host: int) -> Exactness | None:
    """How late packets were released after their time; None without a relay."""
    try:
        data = _statistics(cluster, host).read_bytes()
    except FileNotFoundError:
        return None
    packets, size, dropped, late_sum, late_most, *buckets = LAYOUT.unpack(data[: LAYOUT.size])
    total = sum(buckets)

    def below(share: float) -> int:
        seen = 0
        for exponent, count in enumerate(buckets):
            seen += count
            if total and seen >= share * total:
                return 1 << exponent
        return 0

    mean = late_sum / total / 1000 if total else 0.0
    return Exactness(packets, size, dropped, mean, below(0.5), below(0.99), late_most / 1000)


def complaints(cluster: Cluster, host: int) -> str:
    """The output of the host's relay; "" if all is as it should be."""
    try:
        return " ".join(_log(cluster, host).read_text().split())
    except FileNotFoundError:
        return ""


def _limit(cluster: Cluster) -> int:
    """Bytes that wait at most: twice what the link carries in the delay, and its bursts."""
    if cluster.links.rate is None:
        return UNSHAPED_LIMIT
    flying = cluster.links.rate / 8 * (cluster.links.delay_ns + cluster.links.jitter_ns) / 1e9
    return int(2 * flying) + LEAST_LIMIT


def _program(cluster: Cluster) -> Path:
    return cluster.folder / "relay"


def _log(cluster: Cluster, host: int) -> Path:
    return cluster.folder / f"relay-{host}.log"


def _statistics(cluster: Cluster, host: int) -> Path:
    return cluster.folder / f"relay-{host}.statistics"
