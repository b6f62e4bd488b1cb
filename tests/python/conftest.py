# SPDX-License-Identifier: BSD-3-Clause
"""How the tests start commands and jobs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

JOBS = Path(__file__).parent / "jobs"
TIMEOUT = 240  # seconds after which a job hangs


def alive(pid: int) -> bool:
    """Whether this process runs, and has not just to be reaped."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Command:
    """The command `stretto` of the environment that runs the tests."""

    path = Path(sys.executable).parent / "stretto"

    def start(self, *arguments: object, **settings: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(self.path), *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "NO_COLOR": "1", **settings},
        )

    def __call__(self, *arguments: object, **settings: str) -> subprocess.CompletedProcess[str]:
        """Runs it to its end."""
        process = self.start(*arguments, **settings)
        try:
            out, err = process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate()
            pytest.fail(f"{arguments} did not end\n{out}\n{err}")
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def job(self, ranks: int, name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Runs jobs/NAME.py on so many ranks."""
        script = JOBS / f"{name}.py"
        return self("run", "-n", ranks, sys.executable, script, *arguments)


@pytest.fixture(scope="session")
def stretto() -> Command:
    return Command()


@pytest.fixture(params=["one host", "several hosts"])
def where(request) -> dict[str, str]:
    """Settings of the job."""
    if request.param == "one host":
        return {}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return {
        "STRETTO_FAKE_HOSTS": "a,b,c",
        "STRETTO_ADDR": f"127.0.0.1:{port}",
        "STRETTO_SECRET": "of-tests-only-0123456789abcdef-0123",
    }
