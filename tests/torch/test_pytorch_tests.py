# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's own tests of distributed backends, with Stretto.

Each test of PyTorch's decides by a backend's name whether it runs.  Those that it has for Gloo run,
and those that it has for MPI alone: all to all, groups of a few ranks.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

RUNNER = Path(__file__).with_name("pytorch_tests.py")
TIMEOUT = 1800  # seconds for all tests at some number of ranks
NEXT = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 14)

# By number of ranks: how many run as for Gloo, and how many more as for MPI.  Fewer: a gate has
# changed.
RUN = {2: (86, 0), 3: (86, 0), 4: (89, 0)}

# What no backend from outside PyTorch can pass, and why.
IMPOSSIBLE = (
    {"test_ddp_logging_data_cpu": "DDP logs the name of every backend in Python as custom"}
    if NEXT
    else dict.fromkeys(
        (
            "test_monitored_barrier_gloo",
            "test_monitored_barrier_gloo_subgroup",
            "test_monitored_barrier_failure_order",
            "test_monitored_barrier_wait_all_ranks",
        ),
        "monitored_barrier refuses all names but gloo",
    )
)

Outcomes = dict[str, tuple[str, str, float]]


def run(ranks: int, name: str, gates: str, methods: list[str]) -> Outcomes:
    """What came of PyTorch's tests: "passed", "skipped", "failed", and why."""
    done = subprocess.run(
        [sys.executable, RUNNER, str(ranks), "--name", name, "--gates", gates, *methods],
        stdout=subprocess.PIPE,
        text=True,
        timeout=TIMEOUT,
    )
    outcomes: Outcomes = json.loads(done.stdout)
    failed = {
        method: text
        for method, (outcome, text, _) in outcomes.items()
        if outcome == "failed" and method not in IMPOSSIBLE
    }
    assert not failed, "\n".join(f"{method}: {text}" for method, text in failed.items())
    return outcomes


def named(outcomes: Outcomes, wanted: str) -> list[str]:
    return [method for method, (outcome, *_) in outcomes.items() if outcome == wanted]


@pytest.mark.parametrize("ranks", [4, 3, 2])
def test_as_stretto(ranks: int) -> None:
    of_gloo = run(ranks, "stretto", "gloo", [])
    of_mpi = run(ranks, "stretto", "mpi", named(of_gloo, "skipped"))
    assert (len(named(of_gloo, "passed")), len(named(of_mpi, "passed"))) == RUN[ranks]


@pytest.mark.skipif(not NEXT, reason="PyTorch before 2.14 has the name gloo built in")
@pytest.mark.parametrize("ranks", [3, 2])
def test_in_place_of_gloo(ranks: int) -> None:
    assert len(named(run(ranks, "gloo", "gloo", []), "passed")) == RUN[ranks][0]
