# SPDX-License-Identifier: BSD-3-Clause
"""Signals during calls, and limits of calls: the rank that stops tells the others why.

STRETTO_TIMEOUT=0 everywhere: what does not end by itself has no end.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import JOBS, TIMEOUT

CALLS = ["allreduce", "barrier", "recv", "wait", "alltoallv", "split", "dup", "finalize"]
LIMITED = [
    "allreduce",
    "reduce",
    "broadcast",
    "barrier",
    "reduce_scatter",
    "reduce_scatterv",
    "allgather",
    "allgatherv",
    "gather",
    "scatter",
    "alltoall",
    "gatherv",
    "scatterv",
    "alltoallv",
    "recv",
    "send",
    "probe",
    "wait",
    "wait_message",
    "set_timeout",
]


def run(stretto, where, name, *arguments):
    command = ("run", "--keep-going", "-n", 2, sys.executable, JOBS / f"{name}.py", *arguments)
    job = stretto(*command, STRETTO_TIMEOUT="0", **where)
    assert job.stdout.count("ended well") == 2, job.stdout + job.stderr


@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c_ends_a_call(stretto, where, tmp_path, call):
    run(stretto, where, "interrupted", "INT", call, tmp_path / "mark")


def test_what_a_handler_raises_ends_a_call(stretto, where, tmp_path):
    run(stretto, where, "interrupted", "ALRM", "allreduce", tmp_path / "mark")


def test_a_handler_that_returns_lets_a_call_go_on(stretto, where, tmp_path):
    run(stretto, where, "interrupted", "goes_on", "barrier", tmp_path / "mark")


@pytest.mark.parametrize("call", LIMITED)
def test_a_call_has_a_limit(stretto, tmp_path, call):
    run(stretto, {}, "timeouts", call, tmp_path / "mark")


@pytest.mark.parametrize("rank", [0, 1])
def test_ctrl_c_ends_the_start(where, rank):
    code = "import stretto\nprint('begins', flush=True)\nstretto.init()"
    settings = {
        "STRETTO_RANK": str(rank),
        "STRETTO_SIZE": "2",
        "STRETTO_JOB": f"interrupted-{os.getpid()}-{rank}-{len(where)}",
        "STRETTO_INIT_TIMEOUT": "0",
        **where,
    }
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # It may be ignored here, as it is in what a shell has in the background.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout.readline() == "begins\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=TIMEOUT)
    assert "KeyboardInterrupt" in err, err
