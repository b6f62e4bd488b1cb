# SPDX-License-Identifier: BSD-3-Clause
"""STRETTO_MPI, STRETTO_MPI_REPORT and STRETTO_MPI_WARMUP, seen in the report."""

from __future__ import annotations

import pytest
from conftest import Done, Line, Mpi

RANKS = 3
CALLS = 64 * RANKS  # of each kind, by programs/calls.c
SAMPLED = 2 * RANKS  # one of 32 is the library's, to compare times
COMPARED = "left to the MPI library to compare the times"
KINDS = [
    "allreduce",
    "reduce",
    "bcast",
    "allgather",
    "reduce_scatter_block",
    "reduce_scatter",
    "barrier",
    "iallreduce",
    "allreduce_init",
]


def report(mpi: Mpi, **settings: str) -> list[Line]:
    done = mpi.run("calls", RANKS, STRETTO_MPI_REPORT="1", **settings)
    assert done.checks > 0
    return done.report


def lines(*kinds: str) -> list[Line]:
    """Of these, served as often as can be."""
    names = [f"MPI_{kind.capitalize()}" for kind in kinds]
    both = [(Line(name, CALLS - SAMPLED, None), Line(name, SAMPLED, COMPARED)) for name in names]
    return [line for pair in both for line in pair]


def kinds_of(mpi: Mpi) -> list[str]:
    """Open MPI 4 has no persistent collectives."""
    return [kind for kind in KINDS if mpi.name != "openmpi4" or kind != "allreduce_init"]


def test_all_are_served(mpi: Mpi) -> None:
    assert report(mpi) == lines(*kinds_of(mpi))
    assert report(mpi, STRETTO_MPI="all") == lines(*kinds_of(mpi))


def test_a_choice(mpi: Mpi) -> None:
    assert report(mpi, STRETTO_MPI="bcast,iallreduce") == lines("bcast", "iallreduce")
    others = [kind for kind in kinds_of(mpi) if kind not in ("barrier", "reduce")]
    assert report(mpi, STRETTO_MPI="^barrier,reduce") == lines(*others)


def test_none(mpi: Mpi) -> None:
    assert report(mpi, STRETTO_MPI="none") == []


def test_no_report_unless_asked_for(mpi: Mpi) -> None:
    done = mpi.run("calls", RANKS)
    assert done.checks > 0
    assert "stretto" not in done.err


def said(done: Done) -> list[str]:
    return [line for line in done.err.splitlines() if line.startswith("stretto:")]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("STRETTO_MPI", "allreduce,brodcast", ["'brodcast' is none of allreduce, reduce, bcast"]),
        ("STRETTO_MPI", "^", ["STRETTO_MPI is '^'"]),
        ("STRETTO_MPI_WARMUP", "soon", ["STRETTO_MPI_WARMUP", "soon"]),
        ("STRETTO_MPI_REPORT", "perhaps", ["STRETTO_MPI_REPORT", "perhaps"]),
    ],
)
def test_a_wrong_value_is_said_once_and_nothing_is_served(
    mpi: Mpi, name: str, value: str, words: list[str]
) -> None:
    done = mpi.run("calls", RANKS, **{name: value})
    assert done.checks > 0
    (line,) = said(done)
    assert line.startswith("stretto: rank 0: Stretto runs no calls")
    assert all(word in line for word in words), line
