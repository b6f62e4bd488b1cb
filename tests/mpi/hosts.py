# SPDX-License-Identifier: BSD-3-Clause
"""The MPI libraries that are tried: how programs are built and started for each."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "peers"))

from peers import PEERS  # noqa: E402

# Of 316 MB: only if it is there already, or asked for.
INTEL_WANTED = "STRETTO_TEST_INTEL_MPI"


class Missing(Exception):
    """Why a library cannot be installed."""


@dataclass(frozen=True)
class Host:
    compiler: tuple[str, ...]  # and what comes before the sources
    linking: tuple[str, ...] = ()  # what comes after them
    launcher: tuple[str, ...] = ()
    # What has it leave the others alone when a rank dies; none: nothing has.
    recovery: tuple[str, ...] | None = None
    environment: dict[str, str] = field(default_factory=dict)
    most_ranks: int = 8  # with more, its own calls take minutes on two cores
    fortran: str | None = None
    lacks: frozenset[str] = frozenset()  # what its own calls cannot do


def of_peer(name: str, library: str = "mpi", flags: tuple[str, ...] = (), **facts: object) -> Host:
    """From PyPI, installed if it is not there.  It is told that ranks share cores: they may."""
    peer = PEERS[name]
    try:
        peer.install()
    except SystemExit as failure:
        raise Missing(f"{peer.title} cannot be installed: {failure}") from None
    # Hydra, of MPICH and Intel, spawns nothing where it is told not to bind, as it does anyway.
    arguments = peer.arguments if name == "openmpi" else ()
    lib = peer.prefix / "lib"
    environment = peer.environment(peer.oversubscribed[0])
    return Host(
        compiler=(os.environ.get("CC", "cc"), *flags, "-isystem", str(peer.prefix / "include")),
        # Not all that these libraries could use comes with them.
        linking=(f"-L{lib}", f"-Wl,-rpath,{lib}", f"-l{library}", "-Wl,--allow-shlib-undefined"),
        launcher=(str(peer.prefix / "bin" / "mpirun"), *arguments),
        environment={
            name: value for name, value in environment.items() if os.environ.get(name) != value
        },
        **facts,
    )


def of_system(compiler: str, launcher: tuple[str, ...], **facts: object) -> Host:
    """Of the distribution, by the names that Debian gives them."""
    return Host(compiler=(compiler, *facts.pop("flags", ())), launcher=launcher, **facts)


# Open MPI 4 and 5 crash when a communicator is freed under a running call of their own.
_OPEN_MPI_LACKS = frozenset({"freed", "freed-init"})
_MPICH_LACKS = frozenset({"status-some"})

HOSTS: dict[str, Callable[[], Host]] = {
    "openmpi5": lambda: of_peer("openmpi", recovery=("--enable-recovery",), lacks=_OPEN_MPI_LACKS),
    # MPI_Request_get_status_some sees no message beside others that goes on.
    "mpich5": lambda: of_peer("mpich", lacks=_MPICH_LACKS),
    # The binary interface of the MPI 5 standard, which MPICH has beside its own.
    "standard": lambda: of_peer(
        "mpich", library="mpi_abi", flags=("-DMPI_ABI",), lacks=_MPICH_LACKS
    ),
    # Its own persistent calls mix up their starts; on shared memory alone it spawns nothing.
    "intel": lambda: of_peer(
        "impi", recovery=("-disable-auto-cleanup",), lacks=frozenset({"start-order", "spawn"})
    ),
    "openmpi4": lambda: of_system(
        "mpicc.openmpi",
        ("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"),
        recovery=("--enable-recovery",),
        fortran="mpif90.openmpi",
        lacks=_OPEN_MPI_LACKS,
    ),
    "mpich4": lambda: of_system(
        "mpicc.mpich",
        ("mpiexec.mpich",),
        # Its header makes GCC believe that MPI_STATUSES_IGNORE is an array of none.
        flags=("-Wno-stringop-overflow",),
        # Its reduction on one host takes MPI_IN_PLACE for an address where the root is not rank 0.
        environment={
            "MPIR_CVAR_REDUCE_DEVICE_COLLECTIVE": "0",
            "MPIR_CVAR_POLLS_BEFORE_YIELD": "1",
        },
        most_ranks=4,
        fortran="mpif90.mpich",
        lacks=frozenset({"many", "spawn"}),
    ),
}


def absent(name: str) -> str | None:
    """Why this machine is to do without a library."""
    if name == "intel" and not os.environ.get(INTEL_WANTED):
        there = (PEERS["impi"].prefix / "installed.txt").exists()
        return None if there else f"is not installed; {INTEL_WANTED}=1 installs it (316 MB)"
    commands = {
        "openmpi4": ("mpicc.openmpi", "mpirun.openmpi"),
        "mpich4": ("mpicc.mpich", "mpiexec.mpich"),
    }
    missing = [each for each in commands.get(name, ()) if shutil.which(each) is None]
    return f"the system has no {' and no '.join(missing)}" if missing else None


HERE = [name for name in HOSTS if absent(name) is None]
