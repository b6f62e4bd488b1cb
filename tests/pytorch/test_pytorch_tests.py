# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's own tests of distributed backends, with Stretto.

Each test of PyTorch's decides by a backend's name whether it runs.  Those that it has for Gloo run,
and those that it has for MPI alone: all to all, groups of a few ranks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pytest
import torch

RUNNER = Path(__file__).with_name("pytorch_tests.py")
TIMEOUT = 1800  # seconds for all tests at some number of ranks
NEXT = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 14)

# How many run, by number of ranks: as for Gloo, and besides as for MPI.  Fewer: a gate has changed.
# PyTorch 2.14 has two for Gloo besides, whose names were built in before.
RUN = {2: (89, 9), 3: (89, 25), 4: (92, 25)} if NEXT else {2: (87, 9), 3: (87, 25), 4: (90, 25)}
# DDP logs "stretto", as PyTorch's test expects, if the group is a process group in Python.
# If the group is a backend, DDP logs PyTorch's word "custom".
WHOLE_GROUP = os.environ.get("STRETTO_TORCH_MODE", "backend" if NEXT else "group") == "group"
RUN_BY_NAME = 68 if WHOLE_GROUP else 67  # with three ranks

# What no backend from outside PyTorch can pass under these names, and why.
LOGGED = {"test_ddp_logging_data_cpu": "DDP logs another name than the test expects"}
IMPOSSIBLE = dict(LOGGED)
if not NEXT:
    IMPOSSIBLE |= dict.fromkeys(
        ("test_monitored_barrier_gloo", "test_monitored_barrier_gloo_subgroup"),
        "monitored_barrier refuses all names but gloo",
    )

Outcomes = dict[str, tuple[str, str, float]]


def run(ranks: int, *options: str, impossible: Collection[str] = IMPOSSIBLE) -> Outcomes:
    """What came of PyTorch's tests: "passed", "skipped", "failed", and why."""
    done = subprocess.run(
        [sys.executable, RUNNER, str(ranks), *options],
        stdout=subprocess.PIPE,
        text=True,
        timeout=TIMEOUT,
    )
    outcomes: Outcomes = json.loads(done.stdout)
    failed = {
        method: text
        for method, (outcome, text, _) in outcomes.items()
        if outcome == "failed" and method not in impossible
    }
    assert not failed, "\n".join(f"{method}: {text}" for method, text in failed.items())
    return outcomes


def named(outcomes: Outcomes, wanted: str) -> list[str]:
    return [method for method, (outcome, *_) in outcomes.items() if outcome == wanted]


def needs(method: str) -> int:
    """Ranks: the group of PyTorch's tests of groups is of ranks 1 and 2."""
    return 3 if "_group" in method and "_full_group" not in method else 2


@pytest.mark.parametrize("ranks", [4, 3, 2])
def test_as_for_others(ranks: int) -> None:
    of_gloo = run(ranks, "--gates", "gloo")
    rest = [method for method in named(of_gloo, "skipped") if needs(method) <= ranks]
    of_mpi = run(ranks, "--gates", "mpi", *rest)
    assert (len(named(of_gloo, "passed")), len(named(of_mpi, "passed"))) == RUN[ranks]


def test_by_name() -> None:
    outcomes = run(3, impossible=() if WHOLE_GROUP else LOGGED)
    assert len(named(outcomes, "passed")) == RUN_BY_NAME


@pytest.mark.skipif(not NEXT, reason="PyTorch before 2.14 has the name gloo built in")
def test_in_place_of_gloo() -> None:
    outcomes = run(3, "--name", "gloo")
    assert len(named(outcomes, "passed")) == RUN[3][0]
