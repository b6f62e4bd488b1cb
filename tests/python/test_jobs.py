# SPDX-License-Identifier: BSD-3-Clause
"""The Python API on real ranks: one job for each number of ranks, which runs all its cases."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import JOBS, alive

FULL = os.environ.get("STRETTO_TEST_FULL") == "1"
RANKS = range(1, 17) if FULL else (1, 2, 3, 5, 8)
full = pytest.mark.skipif(not FULL, reason="part of make test-full")


def assert_ended_well(done, times: int = 1) -> None:
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ended well") == times, done.stdout


@pytest.mark.parametrize("ranks", RANKS)
def test_collectives(stretto, ranks):
    assert_ended_well(stretto.job(ranks, "collectives"))


@pytest.mark.parametrize("ranks", RANKS)
def test_messages(stretto, ranks):
    assert_ended_well(stretto.job(ranks, "messages"))


@pytest.mark.parametrize("ranks", RANKS)
def test_parts(stretto, ranks):
    assert_ended_well(stretto.job(ranks, "parts"))


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_ranks_that_something_else_connects(stretto, tmp_path, ranks):
    assert_ended_well(stretto.job(ranks, "exchange", str(tmp_path)))


@full
def test_many_more_ranks_than_cores(stretto):
    assert_ended_well(stretto.job(64, "crowd"))


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_operations(stretto, ranks):
    assert_ended_well(stretto.job(ranks, "operations"), times=ranks)


def test_an_operation_that_raises_is_an_error_on_all(stretto):
    done = stretto.job(3, "operations", "fails")
    assert_ended_well(done, times=3)
    assert done.stdout.count("KeyError: 'no such thing'") == 3
    assert "failed on rank 1" in done.stdout


def test_an_operation_cannot_keep_its_arrays(stretto):
    assert_ended_well(stretto.job(2, "operations", "keeps"), times=2)


@pytest.mark.parametrize("ranks", [1, 3])
def test_lifetimes(stretto, ranks):
    assert_ended_well(stretto.job(ranks, "lifetimes"))


def test_threads(stretto):
    done = stretto.job(3, "threads")
    assert_ended_well(done)
    assert "went on beside a waiting thread" in done.stdout


@pytest.mark.parametrize("ranks", [1, 3])
def test_callbacks(stretto, ranks):
    assert_ended_well(stretto.job(ranks, "callbacks"))


def test_reproducible_results(stretto):
    assert_ended_well(stretto.job(5, "reproducible"), times=5)


@pytest.mark.parametrize("mode, expected", [("full", 0), ("ful", 1)])
def test_the_reproducible_mode_of_the_environment(stretto, mode, expected):
    code = "import stretto; print(stretto.init().chosen_algorithm('allreduce', 1 << 20))"
    done = stretto("run", "-n", 5, sys.executable, "-c", code, STRETTO_REPRODUCIBLE=mode)
    assert (done.returncode != 0) == expected
    assert ("direct_canonical" in done.stdout) == (not expected)
    assert ("STRETTO_REPRODUCIBLE" in done.stderr) == expected


@pytest.mark.parametrize("how", ["dies", "leaves"])
def test_a_rank_that_is_gone_is_an_error_on_the_others(stretto, how):
    done = stretto.job(4, "failure", how)
    assert_ended_well(done, times=3)
    assert done.stdout.count("told: ") == 3
    assert "rank 3" in done.stdout


def test_a_rank_that_calls_something_else_is_an_error_on_all(stretto):
    done = stretto.job(3, "failure", "differs")
    assert_ended_well(done, times=3)
    assert done.stdout.count("told: ") == 3


def test_nothing_is_left_when_ranks_are_killed(stretto):
    before = set(Path("/dev/shm").iterdir())
    code = (
        "import os, signal, numpy, stretto\n"
        "comm = stretto.init(); comm.alloc(1000); comm.allreduce(numpy.ones(9))\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert stretto("run", "-n", 3, sys.executable, "-c", code).returncode == 128 + 9
    assert set(Path("/dev/shm").iterdir()) <= before


@pytest.mark.parametrize("how", ["recv", "recv_any", "send", "probe", "wait", "allreduce"])
def test_a_rank_that_is_killed_is_named_to_those_who_wait(stretto, tmp_path, how):
    before = set(Path("/dev/shm").iterdir())
    script = JOBS / "killed.py"
    done = stretto("run", "-n", 3, "--grace", 60, sys.executable, script, how, tmp_path)
    assert done.returncode == 128 + signal.SIGKILL
    assert done.stderr == "stretto run: rank 1 was ended by SIGKILL\n"
    assert done.stdout.count("told: rank 1 has died; rank ") == 2, done.stdout
    assert done.stdout.count("ended well") == 2
    assert {path.name for path in tmp_path.iterdir()} == {"0", "1", "2"}
    assert not any(alive(int(path.read_text())) for path in tmp_path.iterdir())
    assert set(Path("/dev/shm").iterdir()) <= before


def test_a_rank_that_does_not_come_is_named(stretto):
    code = (
        "import os, stretto, time\n"
        "if os.environ['STRETTO_RANK'] == '2': time.sleep(20)\n"
        "try: stretto.init()\n"
        "except stretto.TimeoutError as error: print('told:', error); os._exit(5)"
    )
    done = stretto("run", "-n", 3, sys.executable, "-c", code, STRETTO_INIT_TIMEOUT="1")
    assert done.returncode == 5
    assert "told:" in done.stdout


def test_torchrun_starts_a_job_as_well(stretto):
    code = "import stretto; c = stretto.init(); c.barrier(); print(f'{c.rank} of {c.size}')"
    settings = {"WORLD_SIZE": "2", "MASTER_PORT": "29501", "TORCHELASTIC_RUN_ID": str(os.getpid())}
    without = {key: value for key, value in os.environ.items() if not key.startswith("STRETTO_")}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            env={**without, **settings, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    assert [each.communicate(timeout=60)[0] for each in ranks] == ["0 of 2\n", "1 of 2\n"]


@pytest.mark.parametrize("case", ["alone", "rank 0 lacks", "port taken", "unknown name", "strange"])
def test_errors_of_a_start_name_what_was_set(case):
    """Where MASTER_ADDR and MASTER_PORT say where ranks meet, no message is of STRETTO_ADDR."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        if case != "port taken":
            taken.close()
        hosts = {"unknown name": "no-such-host.invalid", "strange": "no host"}
        settings = {
            "RANK": "1" if case in ("rank 0 lacks", "unknown name") else "0",
            "WORLD_SIZE": "2",
            "LOCAL_WORLD_SIZE": "1",
            "MASTER_ADDR": hosts.get(case, "127.0.0.1"),
            "MASTER_PORT": str(port - 1),
            "STRETTO_SECRET": "of-tests-only-0123456789abcdef-0123",
            "STRETTO_INIT_TIMEOUT": "1",
        }
        without = {
            key: value for key, value in os.environ.items() if not key.startswith("STRETTO_")
        }
        done = subprocess.run(
            [sys.executable, "-c", "import stretto; stretto.init()"],
            env={**without, **settings},
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode != 0
    said = done.stderr.strip().splitlines()[-1]
    assert "MASTER_ADDR" in said, said
    assert "STRETTO_ADDR" not in said, said
    assert "torch-" not in said, said
