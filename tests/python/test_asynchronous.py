# SPDX-License-Identifier: BSD-3-Clause
"""The example in which nobody waits for a slow worker, on one host and as if on several."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "digits" / "asynchronous.py"


def test_the_example_learns_both_ways(stretto, where):
    pytest.importorskip("sklearn")
    job = stretto(
        "run", "-n", 3, sys.executable, EXAMPLE, "--images", 60_000, "--slow", "1:4", **where
    )
    # It says this only after it has compared the workers' models, and what they have learned.
    assert "a step each" in job.stdout and "steps as they fit" in job.stdout, job.stderr
    assert job.returncode == 0


def test_a_worker_that_does_not_exist_is_refused(stretto):
    pytest.importorskip("sklearn")
    job = stretto("run", "-n", 2, sys.executable, EXAMPLE, "--slow", "5:10")
    assert "--slow: there is no rank 5 among 2" in job.stderr
    assert job.returncode != 0
