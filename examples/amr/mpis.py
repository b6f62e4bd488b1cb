# SPDX-License-Identifier: BSD-3-Clause
"""The MPI libraries of this machine: how programs are compiled with each, and how its launcher
starts ranks on the hosts of a cluster of the lab, or on this host alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RSH = ROOT / "lab" / "rsh"

# All hosts of the lab share the cores of one machine, so ranks that wait give way.
_MPICH = {
    "MPIR_CVAR_POLLS_BEFORE_YIELD": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
}
_INTEL = {"I_MPI_PIN": "0", "I_MPI_WAIT_MODE": "1"}


@dataclass(frozen=True)
class Mpi:
    name: str  # of folders
    title: str
    family: str  # "openmpi", "mpich" or "intel"
    major: int
    prefix: Path | None  # none: the commands in the path
    environment: dict[str, str] = field(default_factory=dict)  # of the launcher and its ranks
    alone: dict[str, str] = field(default_factory=dict)  # further ones, on this host alone

    @property
    def compiler(self) -> tuple[list[str], list[str]]:
        """The C compiler with what comes before the sources, and what comes after them."""
        if self.prefix is None:
            return ["mpicc"], []
        # The compiler commands in packages of PyPI name folders of the machine that built them.
        lib = self.prefix / "lib"
        before = [os.environ.get("CC", "cc"), "-isystem", str(self.prefix / "include")]
        after = [f"-L{lib}", f"-Wl,-rpath,{lib}", "-Wl,--allow-shlib-undefined", "-lmpi"]
        return before, after

    def _launcher(self, name: str) -> str:
        return str(self.prefix / "bin" / name) if self.prefix else name

    def on_this_host(self, ranks: int) -> list[str]:
        if self.family == "openmpi":
            return [self._launcher("mpirun"), "--allow-run-as-root", "--oversubscribe",
                    "--bind-to", "none", "-n", str(ranks)]  # fmt: skip
        return [self._launcher("mpiexec.hydra"), "-n", str(ranks)]

    def on_hosts(self, hosts: int, ranks_per_host: int) -> list[str]:
        """From inside of host h1 of a cluster."""
        names = [f"h{number}" for number in range(1, hosts + 1)]
        ranks = hosts * ranks_per_host
        if self.family != "openmpi":
            return [self._launcher("mpiexec.hydra"), "-launcher", "ssh", "-launcher-exec", str(RSH),
                    "-hosts", ",".join(names), "-ppn", str(ranks_per_host),
                    "-n", str(ranks)]  # fmt: skip
        old = self.major < 5
        agent = ("--mca", "plm_rsh_agent") if old else ("--prtemca", "plm_ssh_agent")
        shared = "vader" if old else "sm"
        return [self._launcher("mpirun"), "--allow-run-as-root", "--bind-to", "none",
                *agent, str(RSH), "-H", ",".join(f"{name}:{ranks_per_host}" for name in names),
                "--mca", "pml", "ob1", "--mca", "btl", f"tcp,self,{shared}",
                "--mca", "btl_tcp_if_include", "eth0", "--mca", "mpi_yield_when_idle", "1",
                "-n", str(ranks)]  # fmt: skip


def find(prefixes: list[Path]) -> list[Mpi]:
    """The MPI in the path, those that bench/peers/run.py has installed, and those in `prefixes`.
    Ends the program if one of `prefixes` holds none."""
    found = []
    if shutil.which("mpicc") and shutil.which("mpirun"):
        found += [mpi for mpi in (_examine(None),) if mpi is not None]
    installed = sorted((ROOT / "bench" / "peers" / ".venv" / "mpi").glob("*/bin/mpirun"))
    known = {mpi.title for mpi in found}
    for prefix in [*(each.parents[1] for each in installed), *prefixes]:
        mpi = _examine(prefix.resolve())
        if mpi is None and prefix in prefixes:
            sys.exit(f"{prefix}: no MPI that this program can start: neither Open MPI, nor MPICH "
                     "or Intel MPI with bin/mpirun, include/mpi.h and lib/libmpi.so")  # fmt: skip
        if mpi is not None and mpi.title not in known:
            known.add(mpi.title)
            found.append(mpi)
    return found


def _examine(prefix: Path | None) -> Mpi | None:
    """Which MPI a prefix holds, by what its launcher says; None if it is none of ours."""
    command = str(prefix / "bin" / "mpirun") if prefix else "mpirun"
    if prefix and not (prefix / "include" / "mpi.h").exists():
        return None
    path = f"{prefix / 'bin'}{os.pathsep}{os.environ['PATH']}" if prefix else os.environ["PATH"]
    variables = {"I_MPI_ROOT": str(prefix), "PATH": path} if prefix else {}
    try:
        done = subprocess.run(
            [command, "--version"],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **variables},
        )
    except OSError:
        return None
    words = (done.stdout + done.stderr).replace(",", " ").split()
    if "MPI)" in words and "(Open" in words:
        version = words[words.index("MPI)") + 1]
        family, title = "openmpi", "Open MPI"
    elif "Intel(R)" in words and "Version" in words:
        version = words[words.index("Version") + 1]
        family, title = "intel", "Intel MPI"
        variables |= _INTEL
    elif "HYDRA" in words and "Version:" in words:
        version = words[words.index("Version:") + 1]
        family, title = "mpich", "MPICH"
        variables |= _MPICH
    else:
        return None
    name = f"{family}-{version}"
    major = int(version.split(".")[0])
    if family == "intel":
        return Mpi(name, f"{title} {version}", family, major, prefix,
                   {**variables, **_fabric(prefix)}, {"I_MPI_FABRICS": "shm"})  # fmt: skip
    return Mpi(name, f"{title} {version}", family, major, prefix, variables)


def _fabric(prefix: Path | None) -> dict[str, str]:
    """How Intel MPI finds libfabric, which its packages on PyPI lack: MPICH's have one."""
    mpich = prefix.parent / "mpich" / "lib" / "mpich" if prefix else Path()
    if prefix is None or any(prefix.rglob("libfabric.so*")) or not mpich.is_dir():
        return {}
    return {
        "I_MPI_FABRICS": "shm:ofi",
        "FI_PROVIDER": "tcp",
        "I_MPI_OFI_LIBRARY": str(mpich / "libfabric.so.1"),
        "LD_LIBRARY_PATH": f"{mpich}{os.pathsep}{os.environ.get('LD_LIBRARY_PATH', '')}",
    }
