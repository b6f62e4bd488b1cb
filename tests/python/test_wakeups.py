# SPDX-License-Identifier: BSD-3-Clause
"""Some calls of `lab/wakeups`, which by hand makes millions."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "lab" / "wakeups"


def check(ranks: int, *more: object) -> None:
    """None is lost, and all are right; how long they take is for a machine that is known."""
    words = ["--ranks", ranks, "--calls", 3000, "--stops", 10, "--load", 1, "--slack", 120, *more]
    done = subprocess.run(
        [sys.executable, PROGRAM, *map(str, words)],
        env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert f"3000 calls on {ranks} ranks, ranks stopped" in done.stdout
    assert re.search(r"took -?[0-9.]+ s longer than ranks were stopped$", done.stdout.strip())


@pytest.mark.parametrize("ranks", [4, 8])
def test_small_calls_while_ranks_are_stopped(ranks: int) -> None:
    check(ranks)


def test_threads_of_mpi_processes_while_ranks_are_stopped() -> None:
    mpirun = shutil.which("mpirun")
    if mpirun is None or shutil.which("mpicc") is None:
        pytest.skip("there is no MPI library")
    version = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=False)
    check(4, "--mpi", "mpirun" + (" --oversubscribe" if "Open MPI" in version.stdout else ""))
