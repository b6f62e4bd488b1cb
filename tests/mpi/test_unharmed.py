# SPDX-License-Identifier: BSD-3-Clause
"""Where the library stands in front of something that it has no business with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Mpi, clean_environment, run


def test_no_mpi_program(library: Path) -> None:
    environment = {**clean_environment(), "LD_PRELOAD": str(library), "STRETTO_MPI_REPORT": "1"}
    for words in (["/bin/true"], ["/bin/sh", "-c", "ls / | cat > /dev/null"]):
        done = run(words, environment)
        assert done.out == done.err == ""
    done = run([sys.executable, "-c", "print(sum(range(5)))"], environment)
    assert (done.out, done.err) == ("10\n", "")


def test_one_rank(mpi: Mpi) -> None:
    done = mpi.run("calls", 1, STRETTO_MPI_WARMUP="0")
    assert done.checks > 0
    assert "stretto" not in done.err


def test_the_launcher_has_it_as_well(mpi: Mpi) -> None:
    done = mpi.run_preloaded("calls", 3, STRETTO_MPI_REPORT="1")
    assert done.checks > 0
    assert done.served()["MPI_Barrier"] > 0


def test_another_librarys_launcher(mpi: Mpi) -> None:
    """It would start each rank as a job of one: here as this library's own does."""
    open_mpi = mpi.name.startswith("openmpi")
    variable = "PMI_SIZE" if open_mpi else "OMPI_COMM_WORLD_SIZE"
    done = mpi.run("calls", 1, **{variable: "2"})
    assert f"stretto: {variable}=2, but MPI_COMM_WORLD has one rank" in done.err


@pytest.mark.parametrize("mpi", ["mpich5"], indirect=True)  # it takes 10 s: once is enough
def test_a_rank_without_it(mpi: Mpi) -> None:
    """It keeps the others waiting, who say for what."""
    words = [*mpi.launch(1), *mpi.program("failures", "forgotten"), ":", "-n", 1]
    words += mpi.program("failures", "forgotten", preload=False)
    with subprocess.Popen(
        [str(word) for word in words],
        env=mpi.environment,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            said = process.stderr.readline()
        finally:
            process.terminate()
    assert said.startswith("stretto: rank 0 has waited 10 s in MPI_Init for all ranks to load")
    assert "LD_PRELOAD" in said
