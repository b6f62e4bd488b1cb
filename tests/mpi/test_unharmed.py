# SPDX-License-Identifier: BSD-3-Clause
"""Where the library stands in front of something that it has no business with."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from conftest import PROGRAMS, Mpi, clean_environment, run


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
    found = re.search(r"rank (\d): Stretto runs no calls.*: rank (\d) has not loaded", line)
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
    assert line.startswith("stretto: rank 0: Stretto runs no calls")
    assert "STRETTO_MPI_ALL_RANKS=1" in line
    settings = {"STRETTO_MPI_ALL_RANKS": "1", "STRETTO_MPI_REPORT": "1"}
    done = mpi.run("halves", 3, I_MPI_PMI="pmi2", **settings)
    assert done.checks > 500
    assert done.served()["MPI_Barrier"] == 3


def test_it_needs_nothing_beyond_libc_and_shows_nothing_but_mpi(library: Path) -> None:
    found = run(["readelf", "-d", library], clean_environment()).out
    needed = set(re.findall(r"\(NEEDED\).*\[(.+?)\]", found))
    libc = re.compile(r"(libc|libm|libdl|librt|libpthread|ld-linux[-\w]*)\.so\.\d+")
    assert all(libc.fullmatch(each) for each in needed), needed
    symbols = run(["nm", "-D", "--defined-only", library], clean_environment()).out.split()[2::3]
    others = {"PMIx_Commit", "OPAL_MCA_PMIX3X_PMIx_Commit"}
    assert all(each.startswith(("MPI_", "PMPI_")) for each in set(symbols) - others)


def test_another_c_plus_plus_runtime_is_found_first(mpi: Mpi, tmp_path: Path) -> None:
    """One that has nothing of what Stretto is built with."""
    for name in ("libstdc++.so.6", "libgcc_s.so.1"):
        words = ["cc", "-shared", "-x", "c", "/dev/null", f"-Wl,-soname,{name}"]
        run([*words, "-o", tmp_path / name], clean_environment())
    settings = {"LD_LIBRARY_PATH": str(tmp_path)}
    without = [*mpi.launch(2), "env", f"LD_LIBRARY_PATH={tmp_path}", mpi.build("halves")]
    if run(without, mpi.environment, status=None, cwd=mpi.folder).status != 0:
        pytest.skip("the MPI library itself needs the system's")
    done = mpi.run("halves", 2, STRETTO_MPI_REPORT="1", **settings)
    assert done.checks > 100
    assert done.served()["MPI_Barrier"] == 2


def test_a_program_with_address_sanitizer(mpi: Mpi, stretto_command: str) -> None:
    """`stretto mpi` preloads its run-time library, which has to be the first, for it alone."""
    if mpi.name != "openmpi4":
        pytest.skip("once is enough")
    program = mpi.folder / "profiled_asan"
    compiler, *flags = mpi.host.compiler
    words = [compiler, *flags, "-fsanitize=address", PROGRAMS / "profiled.c", "-o", program]
    if run(words, clean_environment(), status=None).status != 0:
        pytest.skip("the compiler has no AddressSanitizer")
    environment = {**mpi.environment, "ASAN_OPTIONS": "detect_leaks=0", "STRETTO_MPI_REPORT": "1"}
    done = run([stretto_command, "mpi", *mpi.launch(2), program], environment, cwd=mpi.folder)
    assert done.served() == {"MPI_Allreduce": 20, "MPI_Iallreduce": 20}
