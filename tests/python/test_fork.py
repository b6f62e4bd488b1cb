# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that fork, or have workers: the children take no part in the job and do it no harm."""

from __future__ import annotations

import sys

import pytest
from conftest import JOBS


@pytest.mark.parametrize(
    "how",
    [
        "fork",
        "in_flight",
        "finalize",
        "thread",
        "subprocess",
        "workers_fork",
        "workers_spawn",
        "workers_forkserver",
    ],
)
def test_children_do_no_harm(stretto, where, how):
    job = stretto("run", "-n", 3, sys.executable, JOBS / "fork.py", how, **where)
    assert job.returncode == 0, job.stdout + job.stderr
    assert job.stdout.count("ended well") == 3, job.stdout + job.stderr
