# SPDX-License-Identifier: BSD-3-Clause
"""What the times of calls say of each rank, for numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from stretto.reports.calls import sites
from stretto.reports.lateness import LEAST_FOR_TREND, late_by, needs, of_ranks

MS = 1_000_000


def times(rows: list[list[float]]) -> np.ndarray:
    """Of milliseconds."""
    return np.array([[round(each * MS) for each in row] for row in rows], np.int64)


def test_who_is_late_waits_and_works():
    came = times([[0, 4, 1], [10, 12, 11], [20, 21, 25]])
    left = times([[6, 5, 7], [13, 13, 14], [26, 26, 27]])
    assert (late_by(came) == times([[0, 4, 1], [0, 2, 1], [0, 1, 5]])).all()
    first, second, third = of_ranks(came, left, needs("allreduce", 3, None))
    assert (first.last, second.last, third.last) == (0, 2, 1)
    assert first.late_p99 == 0
    assert second.late_p50 == pytest.approx(2e-3)
    assert third.late_p50 == pytest.approx(1e-3)
    assert third.late_p90 == pytest.approx(4.2e-3)  # 1 + 0.8 * (5 - 1), between the two largest
    assert first.waiting == pytest.approx((4 + 2 + 5) * 1e-3 / 3)
    assert first.working == pytest.approx((2 + 1 + 1) * 1e-3 / 3)
    assert second.waiting == pytest.approx((0 + 0 + 4) * 1e-3 / 3)
    assert second.working == pytest.approx((1 + 1 + 1) * 1e-3 / 3)
    assert third.waiting == pytest.approx((3 + 1 + 0) * 1e-3 / 3)
    # Rank 1 is last by 3 ms, then by 1 ms; rank 2 by 4.
    assert first.held_up == 0
    assert second.held_up == pytest.approx((3 + 1) * 1e-3 / 3)
    assert third.held_up == pytest.approx(4e-3 / 3)
    assert first.trend is None


def test_who_leaves_before_the_last_has_come_waits_no_longer():
    first, second = of_ranks(times([[0, 100]]), times([[2, 101]]), needs("gatherv", 2, None))
    assert (first.waiting, first.working) == (pytest.approx(2e-3), 0)
    assert (second.waiting, second.working) == (0, pytest.approx(1e-3))


def test_from_a_root_others_wait_for_it_alone():
    came, left = times([[2, 0, 9], [9, 0, 2]]), times([[4, 5, 10], [12, 10, 11]])
    root, second, third = of_ranks(came, left, needs("broadcast", 3, 0))
    assert (root.waiting, root.working) == (0, pytest.approx((2 + 3) * 1e-3 / 2))
    assert (second.waiting, second.working) == (
        pytest.approx((2 + 9) * 1e-3 / 2), pytest.approx((3 + 1) * 1e-3 / 2),
    )  # fmt: skip
    assert third.waiting == pytest.approx((0 + 7) * 1e-3 / 2)
    # Both are last once; for rank 2 nobody waits.
    assert (root.last, third.last) == (1, 1)
    assert (root.held_up, third.held_up) == (pytest.approx(7e-3 / 2), 0)


def test_to_a_root_it_waits_for_the_others():
    came, left = times([[2, 0, 9], [9, 0, 2]]), times([[10, 5, 10], [12, 10, 11]])
    root, second, third = of_ranks(came, left, needs("reduce", 3, 0))
    assert (root.waiting, second.waiting, third.waiting) == (pytest.approx(7e-3 / 2), 0, 0)
    assert (root.held_up, third.held_up) == (0, pytest.approx(7e-3 / 2))
    # A root of which there is no report: nobody is known to wait.
    assert [each.waiting for each in of_ranks(came, left, needs("reduce", 3, None))] == [0, 0, 0]


def test_a_trend_is_the_last_quarter_less_the_first():
    rows = [[0, late] for late in (1, 2, 3, 50, 60, 70, 80, 8, 10, 12)]
    assert len(rows) >= LEAST_FOR_TREND
    came = times(rows)
    first, second = of_ranks(came, came, needs("allreduce", 2, None))
    assert first.trend == 0
    assert second.trend == pytest.approx((11 - 1.5) * 1e-3)  # of 10 calls a quarter is two
    few = came[: LEAST_FOR_TREND - 1]
    assert of_ranks(few, few, needs("allreduce", 2, None))[1].trend is None


@pytest.mark.parametrize("ranks", [2, 3, 5, 7, 8, 13, 16])
def test_one_of_many_is_late(ranks):
    came = np.zeros((20, ranks), np.int64)
    came[:, ranks // 2] = 5 * MS
    found = of_ranks(came, came + 6 * MS, needs("alltoall", ranks, None))
    for rank, each in enumerate(found):
        late = rank == ranks // 2
        assert each.last == (20 if late else 0)
        assert each.held_up == pytest.approx(5e-3 if late else 0)
        assert each.waiting == pytest.approx(0 if late else 5e-3)


def noted(
    rank: int, calls: list[tuple], clock: str = "one", size: int = 2, count: int = 3
) -> dict[str, Any]:
    """By a rank, as _core.read_calls has it."""
    kind = {
        "communicator": 5, "communicator_name": "job", "rank": rank, "size": size,
        "collective": "allreduce", "count": count, "dtype": "float32", "op": "sum", "root": -1,
        "bytes": 4 * count, "begun": len(calls), "complete": sum(bool(each[2]) for each in calls),
        "inside_ns": 0, "outside_ns": 0, "stride": 1, "kept": calls,
    }  # fmt: skip
    return {
        "id": 5, "job": "job", "rank": rank, "ranks": size, "clock": clock, "host": "h",
        "left_out": 0, "kinds": [kind],
    }  # fmt: skip


def test_only_calls_that_all_ranks_have_ended_are_compared():
    (found,) = sites([
        noted(0, [(0, 10, 20, None), (1, 30, 40, None), (2, 50, 60, None), (4, 70, 80, None)]),
        noted(1, [(0, 12, 20, None), (2, 49, 60, None), (4, 75, 0, None)]),
    ])  # fmt: skip
    assert found.numbers == [0, 2]
    assert (found.came == [[10, 12], [50, 49]]).all()
    assert (found.left == [[20, 20], [60, 60]]).all()
    assert found.calls == 2
    assert [each.last for each in found.lateness()] == [1, 1]


def test_ranks_that_have_noted_nothing_are_missing():
    (found,) = sites([noted(0, [(0, 1, 2, None)], size=3), noted(2, [(0, 1, 2, None)], size=3)])
    assert found.missing == [1]
    (alone,) = sites([noted(0, [(0, 1, 2, None)], size=3)])
    assert alone.missing == [1, 2]
    assert alone.lateness() is None


def test_clocks_of_hosts_are_brought_to_that_of_the_job():
    """Rank 2 is on another host, whose clock is 1000 behind, then 1010; rank 1 shares rank 0's, so
    that what these two have measured of themselves does not matter between them."""
    ranks = [
        noted(0, [(0, 10, 20, None), (1, 30, 40, 0), (2, 50, 60, 0)], "a", 3),
        noted(1, [(0, 11, 20, 3), (1, 31, 40, 3), (2, 51, 60, 3)], "a", 3),
        noted(2, [(0, -987, -980, None), (1, -967, -960, 1000), (2, -957, -950, 1010)], "b", 3),
    ]
    (found,) = sites(ranks)
    assert found.clocks_known
    assert (found.came == [[10, 11, 13], [30, 31, 33], [50, 51, 53]]).all()
    assert (found.left[:, 2] == [20, 40, 60]).all()
    # What is known of one site serves another that was over before.
    early = noted(2, [(0, -987, -980, None)], "b", 3, count=9)
    ranks[2]["kinds"] += early["kinds"]
    for rank in (0, 1):
        ranks[rank]["kinds"] += noted(rank, [(0, 9, 20, None)], "a", 3, count=9)["kinds"]
    (short,) = [each for each in sites(ranks) if each["count"] == 9]
    assert (short.came == [[9, 9, 13]]).all()


def test_without_knowing_the_clocks_nobody_is_late():
    (found,) = sites([noted(0, [(0, 10, 20, 0)], "a"), noted(1, [(0, 99, 100, None)], "b")])
    assert not found.clocks_known
    assert found.lateness() is None


def test_sites_at_which_most_could_be_gained_come_first():
    ranks = [noted(rank, [(0, 0, 9, None)], count=1) for rank in (0, 1)]
    for rank in (0, 1):
        ranks[rank]["kinds"] += noted(rank, [(0, 5 * rank, 9, None)], count=2)["kinds"]
    assert [each["count"] for each in sites(ranks)] == [2, 1]
