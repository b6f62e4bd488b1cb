# SPDX-License-Identifier: BSD-3-Clause
"""`lab/cluster up` and `down`: all of a cluster, or nothing."""

from __future__ import annotations

import contextlib
import os
import select
import signal

import check
import hosts
import relay
import state
from errors import LabError
from state import Cluster, Process

PATIENCE_MS = 30_000  # for the kernel to end all processes of a cluster


def up(cluster: Cluster) -> None:
    wanted = ["links", "loss"]
    if cluster.links.rate is not None:
        wanted.append("rate")
    if cluster.links.relayed:
        wanted.append("delay")
    check.need(*wanted)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)
    state.create(cluster)
    try:
        (cluster.folder / "mount").mkdir()
        (cluster.folder / "inside").mkdir()
        if cluster.links.relayed:
            relay.build(cluster)
        hosts.start(cluster)
    except BaseException:  # also what interrupts us
        if cluster.keeper is not None:
            _end(cluster.keeper)
        cluster.forget()
        raise


def _interrupted(number: int, _: object) -> None:
    raise SystemExit(128 + number)


def down(name: str) -> None:
    check.need_root()
    if name not in state.names():
        there = ", ".join(state.names()) or "none"
        raise LabError(f"there is no cluster '{name}' (there is {there})")
    cluster = state.load(name)
    if cluster is None:  # `up` was ended before it had anything to save
        cluster = Cluster(name, 0, state.Links())
    if cluster.keeper is not None:
        _end(cluster.keeper)
    cluster.forget()


def down_all() -> None:
    for name in state.names():
        down(name)


def _end(keeper: Process) -> None:
    """With it the kernel ends all processes of the cluster, and is done when it is."""
    if not keeper.alive():
        return
    descriptor = os.pidfd_open(keeper.pid)
    try:
        with contextlib.suppress(ProcessLookupError):
            os.kill(keeper.pid, signal.SIGKILL)
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        if not poll.poll(PATIENCE_MS):
            raise LabError(f"the cluster's processes do not end (keeper {keeper.pid} was killed)")
    finally:
        os.close(descriptor)
