# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that go on without the ranks that they lose, on one host and as if on several."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest
from conftest import JOBS

EXAMPLE = Path(__file__).parents[2] / "examples" / "digits" / "survive.py"


def test_ranks_die_until_one_is_left(stretto, where):
    job = stretto("run", "--keep-going", "-n", 4, sys.executable, JOBS / "shrink.py", **where)
    assert job.stdout.count("ended well") == 1, job.stdout + job.stderr
    assert job.stderr.count("was ended by SIGKILL") == 3, job.stderr
    assert job.returncode == 128 + signal.SIGKILL


def test_the_example_trains_on(stretto, where):
    pytest.importorskip("sklearn")
    job = stretto(
        "run", "--keep-going", "-n", 4, sys.executable, EXAMPLE,
        "--steps", 300, "--kill", "2:40", "--kill", "0:80", **where,
    )  # fmt: skip
    said = job.stdout + job.stderr
    assert "3 workers go on after step" in said
    assert "2 workers are left after 300 steps" in said
    # Which it says only after it has compared them with those of one process.
    assert "the workers hold the same weights to the last bit" in said
    assert job.stderr.count("was ended by SIGKILL") == 2, said
    assert "exited with status" not in said
