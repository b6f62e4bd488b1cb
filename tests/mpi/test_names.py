# SPDX-License-Identifier: BSD-3-Clause
"""By which name and from which language a rank makes a call, and which tools stand between."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import PROGRAMS, Done, Mpi, clean_environment, run
from test_served import BLOCKING
from test_settings import COMPARED, said

RANKS = 3


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_use_different_names(mpi: Mpi, ranks: int) -> None:
    done = mpi.run("names", ranks, STRETTO_MPI_WARMUP="0", STRETTO_MPI_REPORT="1")
    assert done.checks > 100
    assert {*BLOCKING, "MPI_Iallreduce"} <= done.served().keys()
    assert {line.reason for line in done.report} <= {None, COMPARED}


def test_some_ranks_call_from_mpi_f08(mpi: Mpi) -> None:
    if mpi.host.fortran is None:
        pytest.skip("no Fortran compiler belongs to this library")
    program = mpi.folder / "mixed"
    fortran = mpi.folder / "mixed_f90.o"
    build = [mpi.host.fortran, "-w", "-J", mpi.folder, "-c", PROGRAMS / "mixed.f90", "-o", fortran]
    run(build, clean_environment())
    for source in ("mixed", "check"):
        compiler, *flags = mpi.host.compiler
        words = [compiler, "-std=gnu11", *flags, "-c", PROGRAMS / f"{source}.c"]
        run([*words, "-o", mpi.folder / f"{source}_c.o"], clean_environment())
    objects = [mpi.folder / f"{source}_c.o" for source in ("mixed", "check")]
    run([mpi.host.fortran, "-o", program, fortran, *objects], clean_environment())
    for ranks in (2, 3):
        done = mpi.run("mixed", ranks, STRETTO_MPI_REPORT="1")
        assert done.checks == 20 * ranks
        assert {"MPI_Allreduce", "MPI_Iallreduce", "MPI_Barrier"} <= done.served().keys()
        assert {line.reason for line in done.report} <= {None, COMPARED}


def build_tool(mpi: Mpi, kind: int, linked: bool) -> Path:
    """A tool as a library, or a program that it is linked into."""
    made = mpi.folder / (f"profiled_{kind}" if linked else f"tool_{kind}.so")
    compiler, *flags = mpi.host.compiler
    sources = [PROGRAMS / "profiled.c"] if linked else []
    kinds = ["-rdynamic"] if linked else ["-shared", "-fPIC"]
    words = [compiler, *kinds, *flags, f"-DTOOL={kind}", *sources, PROGRAMS / "tool.c"]
    run([*words, "-o", made, *mpi.host.linking, "-ldl"], clean_environment())
    return made


def run_with_tool(mpi: Mpi, order: str, kind: int) -> Done:
    linked = order == "linked in"
    tool = build_tool(mpi, kind, linked)
    program = tool if linked else mpi.build("profiled")
    preload = {"before": f"{tool}:{mpi.library}", "behind": f"{mpi.library}:{tool}"}
    soname = "libmpi.so.40" if mpi.name.startswith("openmpi") else "libmpi.so.12"
    settings = {
        "LD_PRELOAD": preload.get(order, str(mpi.library)),
        "STRETTO_MPI_REPORT": "1",
        "TOOL_LIBRARY": "libmpi_abi.so.1" if mpi.name == "standard" else soname,
    }
    words = [*mpi.launch(RANKS), "env", *(f"{name}={value}" for name, value in settings.items())]
    done = run([*words, program], mpi.environment, cwd=mpi.folder)
    rights = [line for line in done.out.splitlines() if line.endswith(": 20 right")]
    assert len(rights) == RANKS, str(done)
    return done


# What the tool counts when it speaks, on every rank.
COUNTS = {0: (1, 10, 10), 1: (1, 0, 0), 2: (0, 10, 9), 3: (0, 0, 0), 4: (1, 10, 10)}
COUNTS |= {5: COUNTS[4], 6: COUNTS[2]}


def assert_counted(done: Done, kind: int) -> None:
    """The tool has seen the program's calls."""
    found = re.findall(r"tool: (\d+) inits, (\d+) allreduces, (\d+) waits", done.err)
    assert [tuple(map(int, each)) for each in found] == [COUNTS[kind]] * RANKS, str(done)


@pytest.mark.parametrize("order", ["before", "behind", "linked in"])
@pytest.mark.parametrize("kind", [0, 1, 2, 3])
def test_a_tool_and_stretto_both_see_the_calls(mpi: Mpi, order: str, kind: int) -> None:
    done = run_with_tool(mpi, order, kind)
    assert_counted(done, kind)
    assert done.served() == {"MPI_Allreduce": 10 * RANKS, "MPI_Iallreduce": 10 * RANKS}


def test_a_tool_before_that_calls_what_comes_next(mpi: Mpi) -> None:
    done = run_with_tool(mpi, "before", 4)
    assert_counted(done, 4)
    assert done.served() == {"MPI_Allreduce": 10 * RANKS, "MPI_Iallreduce": 10 * RANKS}


def test_a_tool_behind_that_takes_calls_away_is_named(mpi: Mpi) -> None:
    """It calls the MPI library past Stretto.  The rest is served; requests end all the same."""
    done = run_with_tool(mpi, "behind", 6)
    assert_counted(done, 6)
    assert done.served() == {"MPI_Iallreduce": 10 * RANKS}
    (line,) = (line for line in said(done) if "not run by Stretto" in line)
    assert line.startswith("stretto: not run by Stretto: MPI_Allreduce: ")
    assert "tool_6.so stands behind Stretto" in line


def test_nothing_is_served_through_a_tool_that_starts_mpi_past_stretto(mpi: Mpi) -> None:
    done = run_with_tool(mpi, "behind", 5)
    assert_counted(done, 5)
    (line,) = said(done)
    assert line.startswith("stretto: rank 0: Stretto runs no calls, the MPI library does all: ")
    assert "tool_5.so stands behind Stretto" in line


@pytest.mark.parametrize("order", ["before", "linked in"])
def test_a_tool_before_that_starts_mpi_past_stretto_is_told_of(mpi: Mpi, order: str) -> None:
    done = run_with_tool(mpi, order, 5)
    assert_counted(done, 5)
    (line,) = said(done)
    assert line.startswith("stretto: Stretto ran no calls: the program's MPI_Init did not reach it")
