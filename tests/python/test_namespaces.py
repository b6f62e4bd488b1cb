# SPDX-License-Identifier: BSD-3-Clause
"""Jobs in namespaces of the kernel, as containers are."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import JOBS, TIMEOUT

UNSHARE = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")


@pytest.fixture(autouse=True)
def namespaces() -> None:
    """Skips where this user may not have namespaces of its own."""
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare")
    done = subprocess.run([*UNSHARE, "true"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"cannot unshare: {done.stderr}")


def start(command: list[object], **settings: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        list(map(str, command)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "STRETTO_INIT_TIMEOUT": "60", **settings},
    )


def test_a_death_is_seen_where_all_ranks_are_process_1():
    """Two containers of a pod: PID namespaces of their own, and one network namespace."""
    settings = {"STRETTO_SIZE": "2", "STRETTO_JOB": f"pid-{os.getpid()}"}
    ranks = [
        start([*UNSHARE, sys.executable, JOBS / "watched.py"], STRETTO_RANK=str(rank), **settings)
        for rank in range(2)
    ]
    try:
        for number, rank in enumerate(ranks):
            assert rank.stdout.readline() == f"rank {number} of 2 is process 1\n"
        outside = ranks[1].pid  # of unshare, whose only child is the rank
        children = Path(f"/proc/{outside}/task/{outside}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGKILL)
        out, _ = ranks[0].communicate(timeout=TIMEOUT)
        assert out.startswith("rank 1 has died"), out
        assert ranks[0].returncode == 0
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()


def test_memory_that_may_not_be_executable(stretto):
    """The limit is one of the PID namespace."""
    script = 'echo 2 > /proc/sys/vm/memfd_noexec && exec "$@"'
    job = [stretto.path, "run", "-n", 2, sys.executable, JOBS / "operations.py"]
    if not Path("/proc/sys/vm/memfd_noexec").exists() or os.geteuid() != 0:
        pytest.skip("needs root and Linux 6.3")
    done = start(["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", script, "sh", *job])
    out, _ = done.communicate(timeout=TIMEOUT)
    assert done.returncode == 0, out
