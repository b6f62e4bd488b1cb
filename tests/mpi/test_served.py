# SPDX-License-Identifier: BSD-3-Clause
"""What is served is right, and it is served: on every library, with odd and even ranks."""

from __future__ import annotations

import pytest
from conftest import Mpi
from hosts import HOSTS, absent

BLOCKING = [
    "MPI_Allreduce",
    "MPI_Reduce",
    "MPI_Bcast",
    "MPI_Allgather",
    "MPI_Reduce_scatter_block",
    "MPI_Reduce_scatter",
    "MPI_Barrier",
]
YOUNG = "a communicator on which little has been done yet"
# What the programs do that is the library's also where Stretto serves all it can.
ALWAYS_THE_LIBRARYS = {
    "a communicator of one rank",
    "an operation that is not for this type",  # some of Fortran's, in the standard's interface
    "elements of no bytes, or more than 4 KiB, for an operation of the program's own",
    "nonblocking, with an operation that only the MPI library knows",
    "nonblocking, before Stretto has a communicator for it",
    "left to the MPI library to compare the times",
}


@pytest.mark.parametrize("name", HOSTS)
def test_the_library_is_here(name: str) -> None:
    """Says which are not tried."""
    if reason := absent(name):
        pytest.skip(f"{name} {reason}")


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 7, 8])
def test_results_from_the_first_call_on(mpi: Mpi, ranks: int) -> None:
    done = mpi.run("served", ranks, STRETTO_MPI_WARMUP="0", STRETTO_MPI_REPORT="1")
    assert done.checks > 10_000
    assert {*BLOCKING, "MPI_Iallreduce"} <= done.served().keys()
    reasons = {line.reason for line in done.report if line.reason is not None}
    assert reasons <= ALWAYS_THE_LIBRARYS


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 7, 8])
def test_results_after_a_while(mpi: Mpi, ranks: int) -> None:
    done = mpi.run("served", ranks)
    assert done.checks > 10_000
    assert "stretto" not in done.err


@pytest.mark.parametrize("ranks", [2, 5])
def test_contributions_that_share_memory_with_results(mpi: Mpi, ranks: int) -> None:
    done = mpi.run("aliased", ranks, STRETTO_MPI_WARMUP="0", STRETTO_MPI_REPORT="1")
    assert done.out == "right\n"
    assert {*BLOCKING, "MPI_Iallreduce"} - done.served().keys() == {"MPI_Bcast", "MPI_Barrier"}


def test_communicators_are_the_librarys_first(mpi: Mpi) -> None:
    done = mpi.run("served", 3, "collectives", STRETTO_MPI_REPORT="1")
    assert done.checks > 10_000
    young = {line.call for line in done.report if line.reason == YOUNG}
    assert young == set(BLOCKING) - {"MPI_Barrier"}
    assert young <= done.served().keys()


def test_signs(mpi: Mpi) -> None:
    """Every call is Stretto's: not all libraries do this right themselves."""
    assert mpi.run("signs", 3).checks > 1000


def test_fortran(mpi: Mpi) -> None:
    for ranks in (2, 3):
        done = mpi.run("fortran", ranks, STRETTO_MPI_REPORT="1")
        assert done.checks > 50
        assert {*BLOCKING, "MPI_Iallreduce"} <= done.served().keys()
