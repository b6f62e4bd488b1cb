# SPDX-License-Identifier: BSD-3-Clause
"""Correct programs of all kinds stay correct, and end."""

from __future__ import annotations

import pytest
from conftest import PROGRAMS, Mpi, clean_environment, run
from test_served import BLOCKING

WARMUPS = pytest.mark.parametrize("settings", [{}, {"STRETTO_MPI_WARMUP": "0"}], ids=str)


@pytest.mark.parametrize("ranks", [2, 3])
def test_progress_of_messages_and_calls(mpi: Mpi, ranks: int) -> None:
    assert mpi.run("progress", ranks).checks > 0


def test_threads(mpi: Mpi) -> None:
    done = mpi.run("threads", 2, STRETTO_MPI_WARMUP="0")
    if "no MPI_THREAD_MULTIPLE" in done.out:
        pytest.skip("this library has no MPI_THREAD_MULTIPLE")
    assert done.checks > 0


def test_communicators_come_and_go(mpi: Mpi) -> None:
    rounds = 300 if mpi.host.most_ranks == 8 else 120
    assert mpi.run("churn", 3, rounds, STRETTO_MPI_WARMUP="0").checks > 0


@WARMUPS
@pytest.mark.parametrize("ranks", [2, 5])
def test_communicators_of_all_kinds(mpi: Mpi, ranks: int, settings: dict[str, str]) -> None:
    done = mpi.run("others", min(ranks, mpi.host.most_ranks), STRETTO_MPI_REPORT="1", **settings)
    assert done.checks > 0
    reasons = {line.reason for line in done.report}
    assert {"a communicator of one rank", "an intercommunicator"} <= reasons
    between = {line.call for line in done.report if line.reason == "an intercommunicator"}
    # Also those whose arguments an ordinary communicator does not take, as MPI_ROOT.
    assert between == {"MPI_Allreduce", "MPI_Allgather", "MPI_Bcast", "MPI_Barrier"}


@pytest.mark.parametrize(
    "what", ["start-order", "freed", "freed-init", "many", "status-any", "status-some"]
)
def test_what_few_programs_do(mpi: Mpi, what: str) -> None:
    mpi.has(what)
    done = mpi.run("rare", 2 if what == "many" else 3, what, STRETTO_MPI_WARMUP="0")
    if "this library has no" in done.out:
        pytest.skip(f"this library has no {what}")
    assert done.checks > 0


@pytest.mark.parametrize("ranks", [1, 3])
def test_sessions(mpi: Mpi, ranks: int) -> None:
    done = mpi.run("sessions", ranks)
    if "this library has no sessions" in done.out:
        pytest.skip("this library has no sessions")
    assert done.checks == 1
    assert "stretto" not in done.err


def test_child_processes(mpi: Mpi) -> None:
    done = mpi.run("children", 3)
    assert done.checks > 0
    assert "stretto" not in done.err


@WARMUPS
def test_a_job_that_is_started_without_stretto(mpi: Mpi, settings: dict[str, str]) -> None:
    """LD_PRELOAD is of this job's ranks alone: those that they start have no Stretto."""
    mpi.has("spawn")
    assert mpi.run("spawn", 2, **settings).checks > 0


@WARMUPS
def test_a_job_that_is_started_with_stretto(mpi: Mpi, settings: dict[str, str]) -> None:
    mpi.has("spawn")
    assert mpi.run_preloaded("spawn", 2, **settings).checks > 0


def test_the_end(mpi: Mpi) -> None:
    done = mpi.run("ending", 3, STRETTO_MPI_WARMUP="0")
    assert done.checks > 0
    cleaned = [line for line in done.out.splitlines() if "cleaned up" in line]
    assert sorted(cleaned) == [f"rank {rank}: attribute, cleaned up well" for rank in range(3)]


def test_buffers_in_device_memory(mpi: Mpi) -> None:
    """Of a driver in place of CUDA's, whose device memory nobody can touch."""
    driver = mpi.folder / "libcuda.so.1"
    root = PROGRAMS.parents[2]
    sources = [
        root / "tests/cpp/device" / f"{name}.cpp" for name in ("simulated_cuda", "host_kernels")
    ]
    compiler = ["c++", "-std=c++20", "-shared", "-fPIC", "-pthread", "-Wl,-soname,libcuda.so.1"]
    run([*compiler, f"-I{root / 'src'}", *sources, "-o", driver], clean_environment())
    flags = (driver, f"-Wl,-rpath,{mpi.folder}")
    mpi.build("device", *flags)
    settings = {"STRETTO_MPI_WARMUP": "0", "STRETTO_MPI_REPORT": "1"}
    done = mpi.run("device", 3, **settings)
    assert done.checks > 5000
    assert {line.call for line in done.report if line.reason is None} >= set(BLOCKING)
    assert done.err.count("a buffer in device memory has a datatype with gaps") == 3


def test_a_forced_algorithm_falls_back_where_it_cannot_run(mpi: Mpi) -> None:
    settings = {"STRETTO_MPI_WARMUP": "0", "STRETTO_MPI_REPORT": "1"}
    done = mpi.run("forced", 4, STRETTO_ALGORITHM="allreduce=hybrid", **settings)
    assert done.checks > 1000
    assert done.served() == {"MPI_Allreduce": 4 * 10 + 2 * 3 * 10}
    said = [line for line in done.err.splitlines() if "STRETTO_ALGORITHM" in line]
    assert len(said) == 1, str(done)
    assert "on a communicator of 3 of the ranks the library chooses the algorithm" in said[0]
    assert "hybrid cannot run on 3 ranks" in said[0]
