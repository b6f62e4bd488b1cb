# SPDX-License-Identifier: BSD-3-Clause
"""Jobs over UCX on hosts of a lab, over UCX's own TCP and shared memory: exact, and a rank that
dies is named.  Skipped where UCX is not installed."""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path

import pytest
from conftest import Lab

pytest.importorskip("stretto", reason="the package is not installed: make install")

JOBS = Path(__file__).parent / "jobs"
HOSTS = [1, 1, 1, 2, 3, 3, 3, 3]
COUNTS = [0, 1, 1009, 70_001]


def version() -> tuple[int, int]:
    """Of the installed UCX; (0, 0): there is none."""
    try:
        ucp = ctypes.CDLL("libucp.so.0")
    except OSError:
        return 0, 0
    numbers = [ctypes.c_uint() for _ in range(3)]
    ucp.ucp_get_version(*map(ctypes.byref, numbers))
    return numbers[0].value, numbers[1].value


VERSION = version()
pytestmark = pytest.mark.skipif(VERSION == (0, 0), reason="UCX is not installed")


@pytest.fixture(scope="module")
def lab(make_lab) -> Lab:
    return make_lab(3)


def over_ucx(transports: str, *settings: str) -> list[str]:
    named = ["STRETTO_TRANSPORT=ucx", f"UCX_TLS={transports}", "UCX_LOG_LEVEL=fatal", *settings]
    options = [option for each in named for option in ("--env", each)]
    return ["--no-prefix", "--hosts", ",".join(map(str, HOSTS)), *options]


def assert_exact(lab: Lab, job: str, options: list[str]) -> None:
    done = lab("run", *options, sys.executable, JOBS / job, *COUNTS)
    assert done.stdout.count("ended well") == len(HOSTS), done.stderr


@pytest.mark.parametrize("job", ["composed.py", "exact.py"])
@pytest.mark.parametrize("transports", ["tcp,self", "tcp,shm,self"])
def test_every_rank_gets_exact_answers(lab, job, transports):
    assert_exact(lab, job, over_ucx(transports))


def test_payloads_are_put(lab):
    """UCX emulates puts over its TCP, where they are off unless they are asked for."""
    options = over_ucx("tcp,self", "STRETTO_PINNED_BYTES=16M", "STRETTO_ALGORITHM=allreduce=ring")
    assert_exact(lab, "composed.py", options)


@pytest.mark.skipif(VERSION < (1, 14), reason="UCX 1.13 may abort where a peer dies")
def test_a_rank_that_dies_is_named(lab):
    options = [*over_ucx("tcp,self"), "--keep-going"]
    done = lab("run", *options, sys.executable, JOBS / "killed.py", 3, status=137)
    heard = re.findall(r"^PeerError .*\brank 3\b", done.stdout, re.MULTILINE)
    assert len(heard) == len(HOSTS) - 1, (done.stdout, done.stderr)
