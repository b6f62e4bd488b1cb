# SPDX-License-Identifier: BSD-3-Clause
"""Runs PyTorch's own tests of distributed backends; prints as JSON what came of each.

    python tests/pytorch/pytorch_tests.py RANKS [--name NAME] [--gates NAME] [--theirs] [METHOD...]

The tests are the methods of `DistributedTest._DistTestBase`, which PyTorch's wheels contain.
PyTorch starts new processes for each, which import torch for seconds; here the ranks of each test
are forked from this process.  See README.md for the options.
"""

from __future__ import annotations

import argparse
import functools
import json
import logging
import multiprocessing
import os
import sys
import time
import unittest
from collections.abc import Callable
from typing import Any

TEST_SECONDS = 120  # then a test hangs

parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("ranks", type=int)
parser.add_argument("methods", nargs="*", metavar="METHOD")
parser.add_argument("--name", default="stretto", help="of the backend: stretto or gloo")
parser.add_argument("--gates", help="the name by which tests choose whether they run")
parser.add_argument("--theirs", action="store_true", help="not Stretto has the name")
chosen = parser.parse_intermixed_args()

# PyTorch's tests print to the output as well.
output = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

# Modules of PyTorch read these while they are imported.
os.environ.update(
    BACKEND=chosen.gates or chosen.name,
    WORLD_SIZE=str(chosen.ranks),
    OMP_NUM_THREADS="1",
    OPENBLAS_NUM_THREADS="1",
    DISTRIBUTED_TESTS_DEFAULT_TIMEOUT=str(TEST_SECONDS),
)

import torch.distributed as dist  # noqa: E402
from stretto.torch import registration  # noqa: E402
from torch.testing._internal import common_distributed  # noqa: E402

if not chosen.theirs:
    registration.register()
    if chosen.name == "gloo":
        registration.replace_gloo()
# What a backend can do, PyTorch's tests know by its name.
for feature in "ddp", "subgroup", "cuda", "gpu", "plugin":
    common_distributed.DistTestCases.backend_feature[feature].add(chosen.name)

from torch.testing._internal.distributed import distributed_test  # noqa: E402

if not chosen.theirs:
    # Events of our calls are those of the calling thread, and have our name.
    distributed_test.PROFILING_SUPPORTED_BACKENDS.clear()
    distributed_test.SEND_RECV_PROFILING_SUPPORTED_BACKENDS.clear()


def named(make: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a group of the backend, though the test asks for the one that it is gated by."""

    @functools.wraps(make)
    def call(*arguments: Any, backend: str | None = None, **others: Any) -> Any:
        name = chosen.name if backend == chosen.gates else backend
        return make(*arguments, backend=name, **others)

    return call


def gate(backend_of: Callable[..., str]) -> Callable[..., str]:
    """Says the name that the test expects."""
    return lambda group=None: chosen.gates if (name := backend_of(group)) == chosen.name else name


if chosen.gates:
    dist.init_process_group = named(dist.init_process_group)
    dist.new_group = named(dist.new_group)
    dist.get_backend = gate(dist.get_backend)

forked = multiprocessing.get_context("fork")


class ForkedRanks(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
    def setUp(self) -> None:
        super().setUp()
        type(self).together = forked.Barrier(chosen.ranks)
        self._start_processes(forked.Process)

    def _barrier(self, wait_for: int | None = None, timeout: float = 10) -> None:
        """In place of PyTorch's own, whose ranks look at each other's files every 0.1 s."""
        self.together.wait(timeout)


class Outcomes(unittest.TestResult):
    """By method: "passed", "skipped" or "failed", the reason or the error, and the seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.methods: dict[str, tuple[str, str, float]] = {}

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self._start = time.monotonic()

    def _note(self, test: unittest.TestCase, outcome: str, text: str = "") -> None:
        name = test.id().rpartition(".")[2]
        seconds = round(time.monotonic() - self._start, 2)
        self.methods[name] = outcome, text, seconds
        if outcome != "skipped":
            print(f"{name}: {outcome}, {seconds} s", file=sys.stderr, flush=True)

    def addSuccess(self, test: unittest.TestCase) -> None:
        self._note(test, "passed")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self._note(test, "skipped", reason)

    def addFailure(self, test: unittest.TestCase, err) -> None:
        self._note(test, "failed", self._exc_info_to_string(err, test))

    addError = addFailure


if __name__ == "__main__":
    logging.getLogger(common_distributed.__name__).setLevel(logging.ERROR)
    methods = chosen.methods or unittest.defaultTestLoader.getTestCaseNames(ForkedRanks)
    outcomes = Outcomes()
    unittest.TestSuite(map(ForkedRanks, methods)).run(outcomes)
    json.dump(outcomes.methods, output, indent=1)
    output.flush()
