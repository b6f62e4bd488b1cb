# SPDX-License-Identifier: BSD-3-Clause
"""Groups that lose workers and take in new ones."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

import pytest
import stretto
import torch.distributed as dist
from programs import Worker, outputs, start_workers

MEMBERS = Path(__file__).with_name("members.py")

needs_abort = pytest.mark.skipif(
    not hasattr(stretto.Communicator, "abort"), reason="the library has no abort"
)


def seen(printed: str, start: str) -> list[str]:
    return [line[len(start) + 1 :] for line in printed.splitlines() if line.startswith(start)]


@pytest.mark.parametrize("size", [3, 4])
def test_survivors_go_on(size: int) -> None:
    printed = outputs(start_workers(size, MEMBERS, "shrink"), killed=[0, size - 1])
    for rank in range(1, size - 1):
        assert seen(printed[rank], "world") == [
            " ".join(map(str, range(1, size))),
            " ".join(map(str, range(1, size - 1))),
        ]
        assert float(seen(printed[rank], "shrunk in")[0]) < 5  # 2 s, where ranks have cores


def test_one_more_dies_meanwhile() -> None:
    printed = outputs(start_workers(4, MEMBERS, "shrink_while_shrinking"), killed=[0, 1])
    assert seen(printed[2], "world") == seen(printed[3], "world") == ["2 3"]


@needs_abort
def test_a_rank_has_not_noticed() -> None:
    printed = outputs(start_workers(3, MEMBERS, "unnoticed"), killed=[0])
    assert seen(printed[2], "world") == ["1 2"]


@needs_abort
def test_a_rank_shrinks_before_others_have_noticed() -> None:
    printed = outputs(start_workers(3, MEMBERS, "unnoticed_by_all"), killed=[0])
    assert seen(printed[1], "world") == seen(printed[2], "world") == ["1 2"]


@needs_abort
def test_a_rank_that_lives_does_not_shrink() -> None:
    printed = outputs(start_workers(3, MEMBERS, "absent"))
    assert seen(printed[0], "world") == seen(printed[1], "world") == ["0 1"]
    assert "excluded" in printed[2]


def test_what_the_program_aborts_is_not_lost() -> None:
    printed = outputs(start_workers(2, MEMBERS, "aborted"))
    assert all("aborted" in each for each in printed)


@pytest.mark.parametrize("case", ["exclude", "exclude_lost"])
def test_shrink_group(case: str) -> None:
    printed = outputs(start_workers(3, MEMBERS, case), killed=[1] * (case == "exclude_lost"))
    assert seen(printed[0], "world") == seen(printed[2], "world") == ["0 2"]


@needs_abort
def test_shrink_group_ends_calls() -> None:
    printed = outputs(start_workers(3, MEMBERS, "abort"))
    assert seen(printed[0], "world") == seen(printed[2], "world") == ["0 2"]


def test_shrink_group_of_another_group() -> None:
    outputs(start_workers(3, MEMBERS, "exclude_of_group"))


def test_newcomers() -> None:
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    members = start_workers(2, MEMBERS, "grow", store.port)
    while "ready" not in members[0].printed():
        assert members[0].status is None, members[0].printed()
        time.sleep(0.05)
    # One that asked to join, and died.
    store.add("tickets", 1)
    new = Worker(MEMBERS, "grow", store.port)
    printed = outputs([*members, new], killed=[0])
    assert seen(printed[1], "world") == seen(printed[2], "world") == ["0 1 new", "1 new"]
    store.set_timeout(timedelta(seconds=1))
    assert store.get("message/1") == b"void"
