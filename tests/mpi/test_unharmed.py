# SPDX-License-Identifier: BSD-3-Clause
"""Where the library stands in front of something that it has no business with."""

from __future__ import annotations

import re
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


@pytest.mark.parametrize("without", [[1], [0], [3], [0, 1], [1, 2]], ids=str)
def test_ranks_without_it(mpi: Mpi, without: list[int]) -> None:
    """Nothing is served, and they notice nothing: no message, no bytes of a collective."""
    words = [*mpi.launch(0)[:-2]]
    for rank in range(4):
        words += [":"] if rank > 0 else []
        words += ["-n", 1, *mpi.program("halves", preload=rank not in without)]
    done = run(words, mpi.environment, cwd=mpi.folder)
    assert done.checks > 1000
    (line,) = (line for line in done.err.splitlines() if line.startswith("stretto:"))
    first = next(rank for rank in range(4) if rank not in without)
    found = re.search(r"rank (\d): nothing is served.*: rank (\d) has not loaded", line)
    assert found is not None, line
    assert int(found[1]) == first
    assert int(found[2]) in without


def test_a_launcher_that_cannot_be_asked(mpi: Mpi) -> None:
    """Nothing is served unless the user knows that all ranks have the preload."""
    if mpi.name not in ("mpich5", "standard"):
        pytest.skip("the variable that hides the launcher has a meaning for this library")
    done = mpi.run("halves", 3, I_MPI_PMI="pmi2")
    assert done.checks > 500
    (line,) = (line for line in done.err.splitlines() if line.startswith("stretto:"))
    assert line.startswith("stretto: rank 0: nothing is served")
    assert "STRETTO_MPI_ALL_RANKS=1" in line
    settings = {"STRETTO_MPI_ALL_RANKS": "1", "STRETTO_MPI_REPORT": "1"}
    done = mpi.run("halves", 3, I_MPI_PMI="pmi2", **settings)
    assert done.checks > 500
    assert done.served()["MPI_Barrier"] == 3
