# SPDX-License-Identifier: BSD-3-Clause
"""What goes wrong is said by MPI's own means, on every rank, and nobody waits for ever."""

from __future__ import annotations

import re

import pytest
from conftest import Mpi

RANKS = 3
WHO = r"call \d+ is .*allreduce\(.* on rank \d+ but .*allreduce\(.* on rank \d+"


@pytest.mark.parametrize(
    ("what", "call"),
    [("return", "MPI_Allreduce"), ("handler", "MPI_Allreduce"), ("later", "MPI_Iallreduce")],
)
def test_a_code_comes_back_and_tells_the_ranks(mpi: Mpi, what: str, call: str) -> None:
    done = mpi.run("failures", RANKS, what, STRETTO_MPI_WARMUP="0")
    assert done.checks > 0  # other communicators are as good as before
    for rank in range(RANKS):
        pattern = rf"^rank {rank}: code some, a class: {call}, run by Stretto: {WHO}"
        assert re.search(pattern, done.out, re.MULTILINE), str(done)


def test_the_job_ends_by_default(mpi: Mpi) -> None:
    done = mpi.run("failures", RANKS, "fatal", status=None)
    assert done.status != 0
    assert re.search(rf"stretto: MPI_Allreduce, run by Stretto: {WHO}", done.err), str(done)
    assert "has come through" not in done.out


@pytest.mark.parametrize("what", ["killed", "abort"])
def test_the_job_ends_with_a_rank(mpi: Mpi, what: str) -> None:
    done = mpi.run("failures", RANKS, what, status=None)
    assert done.status != 0
    assert "has come through" not in done.out


def test_survivors_hear_who_died(mpi: Mpi) -> None:
    if mpi.host.recovery is None:
        pytest.skip("this launcher ends all ranks when one has died")
    options = mpi.host.recovery
    done = mpi.run("failures", RANKS, "survivors", status=None, options=options)
    for rank in (0, 2):
        words = f"rank {rank}: code some, a class: MPI_Allreduce, run by Stretto: rank 1 has died"
        assert words in done.out, str(done)


def test_a_rank_that_sends_less_than_it_receives_leaves_nobody_waiting(mpi: Mpi) -> None:
    done = mpi.run("failures", RANKS, "short")
    said = "code some, a class: MPI_Allgather, run by Stretto: rank 1"
    for rank in range(RANKS):
        words = "sends 4 bytes and receives blocks of 40" if rank == 1 else "has left"
        assert f"rank {rank}: {said} {words}" in done.out, str(done)
