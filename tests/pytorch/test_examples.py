# SPDX-License-Identifier: BSD-3-Clause
"""The examples for PyTorch, small."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading

import pytest
from programs import EXAMPLES, run

SIZES = [1, 2, 3, 4]
pytest.importorskip("sklearn", reason="the digits are scikit-learn's")


def losses(printed: str) -> list[float]:
    return [float(text) for text in re.findall(r"loss ([-.e\d]+)", printed)]


@pytest.mark.parametrize("size", SIZES)
def test_digits(size: int) -> None:
    short = "--steps", 6, "--rounds", 1
    ours = losses(run(size, EXAMPLES / "digits_ddp.py", *short))
    theirs = losses(run(size, EXAMPLES / "digits_ddp.py", *short, "--backend", "gloo"))
    assert len(ours) == 6
    if size <= 2:  # no order of additions but one
        assert ours == theirs
    assert ours == pytest.approx(theirs, rel=1e-4)


@pytest.mark.parametrize("size", [1, 2])
def test_alexnet(size: int) -> None:
    small = "--images", 1, "--steps", 1, "--warm", 1, "--rounds", 1
    printed = run(size, EXAMPLES / "alexnet.py", *small, "--slow", f"{size - 1}:10")
    assert "61,100,840 parameters" in printed
    assert "images a second" in printed and "hidden" in printed


@pytest.mark.parametrize("backend", ["stretto", "gloo"])
def test_language_model(backend: str) -> None:
    sizes = SIZES if backend == "stretto" else [2]
    small = "--width", 32, "--layers", 2, "--length", 16, "--batch", 12, "--steps", 5
    for size in sizes:
        small_run = run(
            size, EXAMPLES / "language_model.py", *small, "--check", "--backend", backend
        )
        assert len(re.findall(r"without sharding [.\d]+$", small_run, re.MULTILINE)) == 5


@pytest.mark.parametrize("size", SIZES)
def test_tensor_parallel(size: int) -> None:
    small = "--width", 64, "--layers", 2, "--tokens", 6, "--rounds", 1, "--double"
    printed = run(size, EXAMPLES / "tensor_parallel.py", *small)
    assert printed.count("tokens a second") == 3


@pytest.mark.parametrize(("workers", "kills"), [(3, ["1:20"]), (2, ["0:3"]), (4, ["0:3", "2:20"])])
def test_elastic(workers: int, kills: list[str]) -> None:
    options = [option for kill in kills for option in ("--kill", kill)]
    printed = elastic(workers, *options)
    assert printed.count("was killed") == len(kills)
    seconds = [float(text) for text in re.findall(r", ([.\d]+) s after the failure", printed)]
    assert len(seconds) == len(kills)
    assert max(seconds) < 10  # 2 s, where workers have cores
    assert f"{workers} workers from step" in printed


def test_elastic_killed_from_outside() -> None:
    """Of the only worker nothing is left; of two, one goes on."""
    printed = elastic(2, kill_at="step")
    assert "1 workers go on" in printed


def elastic(workers: int, *options: str, kill_at: str | None = None) -> str:
    """Small; kill_at: how a line begins at which the last worker is killed."""
    command = [sys.executable, "-W", "ignore", str(EXAMPLES / "elastic.py")]
    process = subprocess.Popen(
        [*command, "--workers", str(workers), "--batch", "96", "--epochs", "3", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert process.stdout is not None
    limit = threading.Timer(300, process.kill)
    limit.start()
    printed = ""
    for line in process.stdout:
        printed += line
        started = re.findall(r"worker (\d+) starts", printed)
        if kill_at is not None and line.startswith(kill_at) and len(started) == workers:
            os.kill(int(started[-1]), signal.SIGKILL)
            kill_at = None
    limit.cancel()
    assert process.wait() == 0, printed
    return printed
