# SPDX-License-Identifier: BSD-3-Clause
"""Stretto on hosts that fail."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from conftest import TIMEOUT, Lab

pytest.importorskip("stretto")
pytest.importorskip("numpy")

SILENCE = 3  # seconds
LOOP = """
import numpy, stretto
comm = stretto.init()
vector = numpy.ones(10_000, "float32")
comm.barrier()
print("ready", flush=True)
try:
    while True: comm.allreduce(vector)
except stretto.PeerError as error:
    print("told:", error, flush=True)
"""
SILENT = (
    rf"rank (\d) has sent nothing for {SILENCE} s \((10\.83\.0\.\d)\); found by rank \d; restart"
)


@pytest.fixture(scope="module")
def three(make_lab) -> Lab:
    return make_lab(3)


def start(lab: Lab) -> subprocess.Popen[str]:
    """Six ranks that reduce for ever; returns when all of them do."""
    job = lab.start(
        "run", "--ranks-per-host", 2, "--keep-going", "--env", f"STRETTO_PEER_TIMEOUT={SILENCE}",
        "--env", "STRETTO_TIMEOUT=300", sys.executable, "-c", LOOP,
    )  # fmt: skip
    said = [job.stdout.readline() for _ in range(6)]
    assert all(line.endswith("ready\n") for line in said), (said, job.communicate(timeout=TIMEOUT))
    return job


def errors(job: subprocess.Popen[str]) -> dict[str, list[str]]:
    """What the ranks of each host were told."""
    told: dict[str, list[str]] = {}
    for host, text in re.findall(r"\[\d (h\d)\] told: (.*)", job.communicate(timeout=TIMEOUT)[0]):
        told.setdefault(host, []).append(text)
    return told


def test_a_host_that_is_cut_off_is_named_to_all_others(three):
    job = start(three)
    three("link", "h3", "cut")
    told = errors(job)
    assert [len(told[host]) for host in ("h1", "h2", "h3")] == [2, 2, 2]
    for text in told["h1"] + told["h2"]:
        rank, address = re.match(SILENT, text).groups()
        assert rank in "45"
        assert address == "10.83.0.3"
    for text in told["h3"]:  # to whom the others are the silent ones
        assert re.match(SILENT, text).group(1) in "0123"
    three("link", "h3", "restore")


def test_a_host_that_dies_is_named_to_all_others(three):
    job = start(three)
    three("kill", "h2")
    told = errors(job)
    assert "h2" not in told
    assert [len(told[host]) for host in ("h1", "h3")] == [2, 2]
    for text in told["h1"] + told["h3"]:
        assert re.match(r"rank [23] has died \(10\.83\.0\.2\)", text), text
