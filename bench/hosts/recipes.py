# SPDX-License-Identifier: BSD-3-Clause
"""How Stretto's peers are started on several hosts over TCP, each in the ways that suit it best.

A recipe may have several variants, since no setting is the best for every size.  Each is measured
at the sizes it names, and a peer is judged by its fastest at each size.  The ranks of all hosts
share this machine's cores, so a rank that waits had better give way: every peer is told to.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

from cluster import ROOT, RSH, Cluster
from peers import PEERS, run
from placement import Placement

HERE = Path(__file__).resolve().parent
BUILD = HERE / ".build"

SECRET = "of-a-benchmark-in-a-lab-that-nobody-else-can-reach"
PORT = 29400
KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Variant:
    name: str
    arguments: tuple[str, ...] = ()  # of mpirun
    environment: dict[str, str] = field(default_factory=dict)
    from_bytes: int = 0
    to_bytes: int = 1 << 40
    usual: bool = True  # else measured with --every-variant only: it won in no trial
    of_several: bool = False  # measured only where hosts have several ranks each


@dataclass(frozen=True)
class Job:
    """What a launch is of."""

    cluster: Cluster
    placement: Placement
    contestants: tuple[str, ...]
    plan: str
    # Of hosts_bench only: other contestants and plans after that, and elements of int32.
    then: tuple[tuple[tuple[str, ...], str], ...] = ()
    contest: str = "allreduce"


@dataclass(frozen=True, eq=False)
class Recipe:
    name: str
    title: str
    variants: tuple[Variant, ...]
    takes_plain_sockets = True

    def install(self, library: Path) -> None:
        """Makes it ready to be started."""
        raise NotImplementedError

    def start(self, job: Job, variant: Variant, meeting: str) -> tuple[list[str], dict[str, str]]:
        """The command, and what it needs in its environment; `meeting` is the barrier's file."""
        raise NotImplementedError

    def packages(self) -> tuple[str, ...]:
        raise NotImplementedError


class Mpi(Recipe):
    """An MPI from bench/peers, and hosts_bench linked with it."""

    @property
    def prefix(self) -> Path:
        return PEERS[self.name].prefix

    @property
    def program(self) -> Path:
        return BUILD / f"hosts_bench_{self.name}"

    def packages(self) -> tuple[str, ...]:
        return PEERS[self.name].packages

    def install(self, library: Path) -> None:
        PEERS[self.name].install()
        lib, shared = self.prefix / "lib", ROOT / "bench" / "peers"
        sources = [HERE / "hosts_bench.c", HERE / "sockets.c"]
        sources += [shared / "contest.c", shared / "meeting.c"]
        run([os.environ.get("CC", "cc"), "-std=gnu11", "-O3", "-Wall", "-Wextra",
             f"-I{ROOT / 'include'}", f"-I{shared}", "-isystem", self.prefix / "include",
             *sources, "-o", self.program, f"-L{library}", f"-Wl,-rpath,{library}", "-lstretto",
             f"-L{lib}", f"-Wl,-rpath,{lib}", "-lmpi"])  # fmt: skip

    def start(self, job: Job, variant: Variant, meeting: str) -> tuple[list[str], dict[str, str]]:
        environment = {
            "STRETTO_ADDR": f"h1:{PORT}",
            "STRETTO_SECRET": SECRET,
            "I_MPI_ROOT": str(self.prefix),
            **variant.environment,
        }
        program = [self.program, meeting, job.contest]
        for contestants, plan in ((job.contestants, job.plan), *job.then):
            program += [",".join(contestants), plan]
        launcher = [*self.launcher(job), *variant.arguments]
        return job.cluster.command("exec", "h1", *launcher, *program), environment

    def launcher(self, job: Job) -> list[object]:
        return [self.prefix / "bin" / "mpiexec.hydra", "-launcher", "ssh", "-launcher-exec", RSH,
                "-hosts", job.placement.slots(), "-n", job.placement.ranks]  # fmt: skip


class OpenMpi(Mpi):
    def launcher(self, job: Job) -> list[object]:
        return [self.prefix / "bin" / "mpirun", "--allow-run-as-root", "--bind-to", "none",
                "--prtemca", "plm_ssh_agent", RSH, "-H", job.placement.slots(),
                "-x", "STRETTO_ADDR", "-x", "STRETTO_SECRET"]  # fmt: skip


class Gloo(Recipe):
    """PyTorch's CPU backend, with Stretto's Python API beside it."""

    takes_plain_sockets = False

    def packages(self) -> tuple[str, ...]:
        return tuple(
            line for line in (HERE / "requirements.txt").read_text().split() if "torch" in line
        )

    def install(self, library: Path) -> None:
        """It came with this environment."""

    def start(self, job: Job, variant: Variant, meeting: str) -> tuple[list[str], dict[str, str]]:
        variables = {
            "STRETTO_SECRET": SECRET,
            "GLOO_SOCKET_IFNAME": "eth0",
            "OMP_NUM_THREADS": "1",
            **variant.environment,
        }
        options = [f"--env={name}={value}" for name, value in variables.items()]
        command = job.cluster.command(
            "run", "--hosts", job.placement.host_of_ranks(), "--no-prefix",
            "--launcher", "torchrun", *options, sys.executable,
            HERE / "gloo_bench.py", meeting, job.plan)  # fmt: skip
        return command, {}


# Open MPI takes plain TCP by its own byte transfer layer (ob1 over tcp).  It yields by itself only
# when a *host* has more ranks than cores, which it cannot see here.
_OB1 = ("--mca", "pml", "ob1", "--mca", "btl", "tcp,self,sm", "--mca", "btl_tcp_if_include", "eth0",
        "--mca", "mpi_yield_when_idle", "1")  # fmt: skip


def _tuned(algorithm: int) -> tuple[str, ...]:
    return ("--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", "coll_tuned_allreduce_algorithm",
            str(algorithm))  # fmt: skip


# Its collectives over hosts: inside them, between their leaders, inside them.
_HAN = ("--mca", "coll_han_priority", "100")


# As in bench/peers: without these it spins, and needs milliseconds when ranks share a core.
_MPICH = PEERS["mpich"].oversubscribed[0].environment

# Intel MPI talks TCP through libfabric, which its packages on PyPI do not have; that of MPICH's
# does.  I_MPI_WAIT_MODE is its switch for ranks that share cores.
_FABRIC = PEERS["mpich"].prefix / "lib" / "mpich"
_INTEL = {
    "I_MPI_FABRICS": "shm:ofi",
    "FI_PROVIDER": "tcp",
    "I_MPI_OFI_LIBRARY": str(_FABRIC / "libfabric.so.1"),
    "LD_LIBRARY_PATH": str(_FABRIC),
    "I_MPI_PIN": "0",
    "I_MPI_WAIT_MODE": "1",
}


class IntelMpi(Mpi):
    def install(self, library: Path) -> None:
        PEERS["mpich"].install()
        super().install(library)


RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        OpenMpi(
            "openmpi",
            "Open MPI",
            (
                Variant("recursive doubling", (*_OB1, *_tuned(3)), to_bytes=512 * KIB),
                Variant("ring", (*_OB1, *_tuned(4)), from_bytes=128 * KIB),
                Variant("segmented ring", (*_OB1, *_tuned(5)), from_bytes=1 * MIB, usual=False),
                Variant("Rabenseifner", (*_OB1, *_tuned(6)), from_bytes=1 * MIB, usual=False),
                Variant("HAN", (*_OB1, *_HAN), of_several=True),
                Variant("as it chooses", _OB1, usual=False),
                Variant("spinning", _OB1[:-3], usual=False),
            ),
        ),
        Mpi(
            "mpich",
            "MPICH",
            (
                Variant("", environment=_MPICH),
                # DPML with three barriers a chunk, for hosts with as many ranks.
                Variant(
                    "delta",
                    environment={**_MPICH, "MPIR_CVAR_ALLREDUCE_COMPOSITION": "4"},
                    of_several=True,
                ),
                Variant(
                    "ring",
                    environment={**_MPICH, "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "ring"},
                    from_bytes=1 * MIB,
                    usual=False,
                ),
                Variant(
                    "libfabric",
                    environment={
                        **_MPICH,
                        "MPIR_CVAR_CH4_NETMOD": "ofi",
                        "FI_PROVIDER": "tcp",
                    },
                    usual=False,
                ),
                Variant("spinning", usual=False),
            ),
        ),
        IntelMpi(
            "impi",
            "Intel MPI",
            (
                Variant("", environment=_INTEL, to_bytes=512 * KIB),
                Variant(
                    "ring",
                    environment={**_INTEL, "I_MPI_ADJUST_ALLREDUCE": "8"},
                    from_bytes=1 * MIB,
                ),
                Variant(
                    "Rabenseifner",
                    environment={**_INTEL, "I_MPI_ADJUST_ALLREDUCE": "2"},
                    from_bytes=1 * MIB,
                    usual=False,
                ),
                Variant("as it chooses", environment=_INTEL, from_bytes=1 * MIB, usual=False),
                # Its topology-aware reduction and broadcast around an allreduce of leaders.
                Variant(
                    "over hosts",
                    environment={**_INTEL, "I_MPI_ADJUST_ALLREDUCE": "4"},
                    of_several=True,
                ),
                Variant(
                    "libfabric's sockets",
                    environment={**_INTEL, "FI_PROVIDER": "sockets"},
                    usual=False,
                ),
                Variant("spinning", environment={**_INTEL, "I_MPI_WAIT_MODE": "0"}, usual=False),
            ),
        ),
        Gloo("gloo", "Gloo", (Variant(""),)),
    )
}
