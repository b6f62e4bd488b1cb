# SPDX-License-Identifier: BSD-3-Clause
"""Real launchers of MPIs, in a host and by `lab/rsh`, start Stretto's ranks on several hosts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import LAB, ROOT, Lab

pytest.importorskip("stretto", reason="the package is not installed: make install")

EXACT = [sys.executable, Path(__file__).parent / "jobs/exact.py", 1, 1009]
RSH = LAB / "rsh"
MPIS = ROOT / "bench/peers/.venv/mpi"
SECRET = "0123456789abcdef" * 2

HYDRA = ["-launcher", "ssh", "-launcher-exec", RSH, "-hosts", "h1,h2,h3", "-ppn", 2, "-n", 6]
OPEN_MPI = ["--allow-run-as-root", "--bind-to", "none", "--prtemca", "plm_ssh_agent", RSH,
            "-H", "h1:2,h2:2,h3:2", "-x", "STRETTO_SECRET", "-x", "PYTHONPATH"]  # fmt: skip


@pytest.fixture(scope="module")
def three(make_lab) -> Lab:
    return make_lab(3)


def start(lab: Lab, mpi: str, address: str | None) -> subprocess.CompletedProcess[str]:
    prefix = MPIS / mpi
    if not (prefix / "installed.txt").exists():
        pytest.skip(f"there is no {prefix}: bench/peers/run.py installs the MPIs")
    variables = [f"I_MPI_ROOT={prefix}", f"STRETTO_SECRET={SECRET}"]
    if address is not None:
        variables.append(f"STRETTO_ADDR={address}")
    if mpi == "openmpi":
        given = ["-x", "STRETTO_ADDR"] if address is not None else []
        launcher = [prefix / "bin/mpirun", *OPEN_MPI, *given]
    else:
        launcher = [prefix / "bin/mpiexec.hydra", *HYDRA]
    return lab("exec", "h1", "env", *variables, *launcher, *EXACT, status=None)


@pytest.mark.parametrize("mpi", ["openmpi", "mpich", "impi"])
def test_ranks_that_an_mpi_starts(three, mpi):
    done = start(three, mpi, "h1:7200")
    assert done.stdout.count("ended well") == 6, done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize("mpi", ["openmpi", "mpich", "impi"])
def test_without_an_address_they_say_at_once_what_is_missing(three, mpi):
    done = start(three, mpi, None)
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "says that the job has ranks on several hosts" in said
    assert "set STRETTO_ADDR to an address of rank 0's host" in said
