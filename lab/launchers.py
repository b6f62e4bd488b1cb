# SPDX-License-Identifier: BSD-3-Clause
"""The variables that launchers set for a rank."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import names

FIRST_PORT, PORTS = 10000, 20000  # below the ports that the kernel assigns


@dataclass(frozen=True)
class Place:
    """Where a rank is among the others."""

    rank: int
    size: int
    host: int
    node: int  # this host's place among those of the job
    nodes: int
    local_rank: int
    local_size: int


@dataclass(frozen=True)
class Run:
    """The data that all ranks of a run share."""

    job: str
    secret: str
    address: str
    port: int

    @staticmethod
    def at(host: int, ipv6: bool) -> Run:
        """With rank 0 on that host.  A run's port is its own, as far as chance allows."""
        address = names.ipv6(host) if ipv6 else names.ipv4(host)
        port = FIRST_PORT + int.from_bytes(os.urandom(4), "big") % PORTS
        return Run(os.urandom(8).hex(), os.urandom(32).hex(), address, port)

    @property
    def rendezvous(self) -> str:
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{host}:{self.port}"


def stretto(place: Place, run: Run) -> dict[str, object]:
    return {
        "STRETTO_RANK": place.rank,
        "STRETTO_SIZE": place.size,
        "STRETTO_LOCAL_RANK": place.local_rank,
        "STRETTO_LOCAL_SIZE": place.local_size,
        "STRETTO_JOB": run.job,
        "STRETTO_ADDR": run.rendezvous,
        "STRETTO_SECRET": run.secret,
    }


def torchrun(place: Place, run: Run) -> dict[str, object]:
    return {
        "RANK": place.rank,
        "WORLD_SIZE": place.size,
        "LOCAL_RANK": place.local_rank,
        "LOCAL_WORLD_SIZE": place.local_size,
        "GROUP_RANK": place.node,
        "GROUP_WORLD_SIZE": place.nodes,
        "ROLE_RANK": place.rank,
        "ROLE_WORLD_SIZE": place.size,
        "ROLE_NAME": "default",
        "MASTER_ADDR": run.address,
        "MASTER_PORT": run.port,
        "TORCHELASTIC_RUN_ID": run.job,
        "TORCHELASTIC_RESTART_COUNT": 0,
        "TORCHELASTIC_MAX_RESTARTS": 0,
    }


def mpi_like(place: Place, run: Run) -> dict[str, object]:
    """Open MPI's, and what a user passes on by `mpirun -x`: MPI's own say nothing of addresses."""
    return {
        "OMPI_COMM_WORLD_RANK": place.rank,
        "OMPI_COMM_WORLD_SIZE": place.size,
        "OMPI_COMM_WORLD_LOCAL_RANK": place.local_rank,
        "OMPI_COMM_WORLD_LOCAL_SIZE": place.local_size,
        "OMPI_COMM_WORLD_NODE_RANK": place.local_rank,
        "OMPI_UNIVERSE_SIZE": place.size,
        "PMIX_NAMESPACE": f"lab-{run.job}",
        "STRETTO_ADDR": run.rendezvous,
        "STRETTO_SECRET": run.secret,
    }


LAUNCHERS: dict[str, Callable[[Place, Run], dict[str, object]]] = {
    "stretto": stretto,
    "torchrun": torchrun,
    "mpi-like": mpi_like,
}


def environment(launcher: str, place: Place, run: Run, base: Mapping[str, str]) -> dict[str, str]:
    """The environment of a rank: `base` without the variables of any launcher, plus those of this
    one."""
    theirs = {name for each in LAUNCHERS.values() for name in each(place, run)}
    kept = {name: value for name, value in base.items() if name not in theirs}
    ours = {name: str(value) for name, value in LAUNCHERS[launcher](place, run).items()}
    # A rank's lines appear when they are printed; its temporary files stay on its host.
    return {"PYTHONUNBUFFERED": "1", **kept, "TMPDIR": names.TEMPORARY, **ours}
