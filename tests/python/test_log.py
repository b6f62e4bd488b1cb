# SPDX-License-Identifier: BSD-3-Clause
"""`STRETTO_LOG`: what is said on standard error, by whom, and how often."""

from __future__ import annotations

import sys

CALLS = """
import numpy as np, stretto
comm = stretto.init()
for _ in range(3):
    for count in (2, 2000):
        comm.allreduce(np.ones(count, np.float32))
        comm.allreduce(np.ones(count, np.int32), op="max")
comm.broadcast(np.ones(2), root=1)
comm.barrier()
"""


def lines(stretto, code: str = CALLS, ranks: int = 3, **settings: str) -> list[str]:
    """What is logged, without what comes before it."""
    done = stretto("run", "-n", ranks, "--no-prefix", sys.executable, "-c", code, **settings)
    assert done.returncode == 0, done.stderr
    found = [line for line in done.stderr.splitlines() if "choice" in line]
    assert all(line.startswith("stretto: choice: ") for line in found)
    return [line.removeprefix("stretto: choice: ") for line in found]


def test_one_line_for_each_kind_of_call(stretto):
    small, large, broadcast, barrier = lines(stretto, STRETTO_LOG="choice")
    assert small.startswith("allreduce of 8 bytes (elements of 4) by 3 ranks on 1 host (")
    assert "): one_shot; measured rule: " in small
    assert large.startswith("allreduce of 8000 bytes (elements of 4) by 3 ranks on 1 host (")
    assert broadcast.startswith("broadcast of 16 bytes (elements of 8), root 1, by 3 ranks on ")
    assert barrier.startswith("barrier by 3 ranks on 1 host (")


def test_nothing_is_said_unless_it_is_wanted(stretto):
    assert lines(stretto) == []
    assert lines(stretto, STRETTO_LOG="off") == []
    done = stretto("run", "-n", 1, sys.executable, "-c", CALLS, STRETTO_LOG="all")
    assert done.returncode != 0
    assert "STRETTO_LOG is 'all'; it takes off or choice" in done.stderr


def test_the_rule_that_decided(stretto):
    small, large, *_ = lines(
        stretto, STRETTO_LOG="choice", STRETTO_ALGORITHM="allreduce:1K-=chain(segments=2)"
    )
    assert "one_shot; measured rule" in small
    assert large.endswith(
        "): chain(segments=2); forced by STRETTO_ALGORITHM: allreduce:1K-=chain(segments=2)"
    )


def test_what_the_program_forces_and_communicators_made_of_others(stretto):
    code = """
import numpy as np, stretto
comm = stretto.init()
comm.force_algorithm("allreduce=ring")
comm.dup().allreduce(np.ones(2))
comm.split(color=0, key=-comm.rank).allreduce(np.ones(2))
"""
    found = [line for line in lines(stretto, code, STRETTO_LOG="choice") if "allreduce" in line]
    dup, split = found  # by its own rank 0, which is another's
    assert " (dup " in dup and dup.endswith("ring; forced by the program: allreduce=ring")
    assert " (split " in split and "one_shot; measured rule" in split


def test_a_plan_that_was_forgotten_is_not_told_again(stretto):
    code = """
import numpy as np, stretto
comm = stretto.init()
for _ in range(4):
    for count in range(1, 20):
        comm.allreduce(np.ones(count))
"""
    found = lines(stretto, code, STRETTO_LOG="choice", STRETTO_PLAN_BYTES="4K")
    assert len(found) == len(set(found)) == 19


def test_hosts_are_counted(stretto):
    found = lines(
        stretto,
        STRETTO_LOG="choice",
        STRETTO_ADDR="127.0.0.1:29397",
        STRETTO_FAKE_HOSTS="a,b",
        STRETTO_SECRET="of-tests-only-0123456789abcdef-0123",
    )
    assert any("allreduce of 8000 bytes (elements of 4) by 3 ranks on 2 hosts" in line
               for line in found)  # fmt: skip
