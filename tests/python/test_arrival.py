# SPDX-License-Identifier: BSD-3-Clause
"""`stretto bench arrival`: what it makes of arrivals and finishes, its tables and fields; bounds.
No test looks at a time."""

from __future__ import annotations

import json
import socket

import numpy as np
import pytest
from stretto.cli import arrival_plot, arrival_tables
from stretto.cli.arrival import row
from stretto.cli.bounds import (
    Link,
    buffered_bound,
    elapsed_bound,
    imbalance_factor,
    last_bound,
    link_of,
)
from stretto.cli.skew import Late, Skew, evaluate, paired_ratio, student

MILLI = 1e-3
# A message of m bytes takes 1 ms + m ms.
UNIT = Link(MILLI, MILLI)


# ---- what is made of times


def test_evaluation_by_hand():
    # Three ranks, three calls, milliseconds.
    arrival = MILLI * np.array([[0.0, 1, 0], [10, 10, 10], [0, 0, 2]])
    finish = MILLI * np.array([[14.0, 15, 14], [13, 14, 15], [14, 16, 16]])
    found = evaluate(arrival, finish)
    # Elapsed: 14 14 14, 3 4 5, 14 16 14; by call 31/3, 34/3, 33/3.
    assert found["elapsed_us"] == pytest.approx(98e3 / 9)
    assert found["sigma_us"] == pytest.approx(1e3 * np.sqrt(7 / 27))
    assert found["call_elapsed_us"] == pytest.approx([31e3 / 3, 34e3 / 3, 33e3 / 3])
    # Since the last came: 4, 6 and 6.
    assert found["last_us"] == pytest.approx(6e3)
    assert found["rank_elapsed_us"] == pytest.approx([14e3, 4e3, 44e3 / 3])
    assert found["rank_last_us"] == pytest.approx([4e3, 4e3, 6e3])
    assert found["rank_arrival_us"] == pytest.approx([1e3 / 3, 1e4, 2e3 / 3])
    assert found["rank_finish_us"] == pytest.approx([43e3 / 3, 14e3, 46e3 / 3])


def test_one_call_has_no_deviation():
    assert evaluate(np.zeros((2, 1)), np.ones((2, 1)))["sigma_us"] == 0


def test_a_row_has_the_bounds_of_its_own_arrivals():
    arrival = MILLI * np.array([[0.0, 0], [8, 20]])
    late = Late(arrival, arrival + MILLI * 30, 3, "ring")
    made = row("ring", Skew("rand-late", 0.02), 4, late, UNIT)
    assert (made["delay_us"], made["calls"], made["wrong"]) == (2e4, 2, 3)
    # Two ranks, a vector of 4: mean wait + 4 + (1 + 1) / 2, of waits 4 and 10.
    assert made["elapsed_bound_us"] == pytest.approx(1e3 * (9 + 15) / 2)
    # Buffered, one of the two has nothing to receive: mean wait + (4 + 1) / 2.
    assert made["buffered_bound_us"] == pytest.approx(1e3 * (6.5 + 12.5) / 2)
    assert made["last_bound_us"] == pytest.approx(5e3)
    assert made["imbalance_factor"] == pytest.approx((8 / 5 + 20 / 5) / 2)
    bare = row("ring", Skew("rand-late", 0.02), 4, late, None)
    for name in ("elapsed_bound_us", "buffered_bound_us", "last_bound_us", "imbalance_factor"):
        assert bare[name] is None


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_who_is_late_moves_after_every_eight_calls(ranks):
    late = Skew("moving-late", 0.02).delays(ranks, 20)
    assert late.sum() == pytest.approx(20 * 0.02)
    assert late.argmax(axis=0).tolist() == [
        who % ranks for who, calls in ((1, 8), (2, 8), (3, 4)) for _ in range(calls)
    ]


@pytest.mark.parametrize("ranks", [1, 2, 3, 16])
def test_any_rank_may_be_late_to_a_call(ranks):
    late = Skew("any-late", 0.02).delays(ranks, 400)
    assert (late.sum(axis=0) == 0.02).all() and ((late > 0).sum(axis=0) == 1).all()
    often = (late > 0).sum(axis=1)  # each as often as the others, about
    assert (abs(often - 400 / ranks) < 6 * (400 / ranks) ** 0.5).all()


def test_what_is_told_half_way():
    """What a rank's halves say of when it comes: the truth, or any other time."""
    skew = Skew("one-late", 0.02)
    assert (skew.announced("none", 0.1, 3, 50) == 0).all()
    assert (skew.announced("right", 0.1, 3, 50) == 0.5).all()
    wrong = skew.announced("wrong", 0.1, 3, 50)
    half = (0.1 + skew.delays(3, 50)) / 2
    ends = half / wrong
    assert (ends >= 0.1 - 1e-9).all() and (ends <= 0.12 + 1e-9).all()
    assert np.ptp(ends[1]) > 0.01
    assert (skew.announced("wrong", 0, 3, 50) <= 1).all()


def test_a_ratio_of_paired_times():
    assert paired_ratio([30, 60], [20, 40]) == (1.5, 0)
    assert paired_ratio([30], [20]) == (1.5, None)
    # By hand: 1.5 and the residuals 1, -1, 1, -1 of a mean of 20, of Student's t 3.18.
    ratio, error = paired_ratio([31, 29, 31, 29], [20, 20, 20, 20])
    assert ratio == 1.5
    assert error == pytest.approx(3.182 * np.sqrt(4 / 3) / 2 / 20, rel=0.02)


@pytest.mark.parametrize(("degrees", "expected"), [(4, 2.776), (9, 2.262), (30, 2.042)])
def test_student_as_tables_have_it(degrees, expected):
    assert student(degrees) == pytest.approx(expected, rel=0.005)


# ---- bounds


def late(ranks: int, *milliseconds: float) -> np.ndarray:
    """The last ranks come so late, the others at once."""
    arrival = np.zeros(ranks)
    arrival[ranks - len(milliseconds) :] = MILLI * np.array(milliseconds)
    return arrival


def test_one_rank_waits_for_nobody():
    assert elapsed_bound(late(1, 5), 100, UNIT) == last_bound(late(1, 5), 100, UNIT) == 0


@pytest.mark.parametrize("ranks", [2, 3, 5, 8])
def test_together_each_rank_sends_its_part_and_hears_the_others(ranks):
    # Latency apart: 2 (P - 1) / P of the vector, for the mean and so for the last.
    link = Link(0, 1e-9)
    expected = 2 * (ranks - 1) / ranks * 1e-3
    assert elapsed_bound(late(ranks), 10**6, link) == pytest.approx(expected)
    assert buffered_bound(late(ranks), 10**6, link) == pytest.approx(expected)
    assert last_bound(late(ranks), 10**6, link) == pytest.approx(expected)


def test_bounds_of_four_by_hand():
    # The last of four, 100 ms late: the others wait 75 ms in the mean, a vector of 4 takes 4, and
    # there are 1, 2, 2 messages until the others have heard, and 1 to the last itself.
    assert elapsed_bound(late(4, 100), 4, UNIT) == pytest.approx(MILLI * (75 + 4 + 6 / 4))
    assert last_bound(late(4, 100), 4, UNIT) == pytest.approx(MILLI * (4 + 2))
    assert buffered_bound(late(4, 100), 4, UNIT) == pytest.approx(MILLI * (75 + 3 / 4 * 4 + 5 / 4))
    # Two of four: after 100 ms three contributions have to meet, (3 + 2) / 4 of 40, and the mean
    # wait is 50.
    assert elapsed_bound(late(4, 100, 100), 40, UNIT) == pytest.approx(MILLI * (50 + 50))
    # Buffered, two messages and the results: (2 + 2) / 4.
    assert buffered_bound(late(4, 100, 100), 40, UNIT) == pytest.approx(MILLI * (50 + 40))
    assert imbalance_factor(late(4, 30, 100), 4, UNIT) == pytest.approx(20)


# Of shared numbers for 48 processes of the paper and others: alpha, beta, P, bytes, delay, bound.
TRYTON, TEN_G = Link(3.2e-4, 4.49e-9), Link(3e-5, 1e-8)
KNOWN = [
    (TRYTON, 4, 4 << 20, 0, 28.2), (TRYTON, 4, 4 << 20, 20, 34.3), (TRYTON, 8, 4 << 20, 50, 63.3),
    (TRYTON, 16, 4 << 20, 20, 38.6), (TRYTON, 48, 4 << 20, 10, 36.9),
    (TRYTON, 48, 4 << 20, 50, 69.3), (TRYTON, 48, 4 << 20, 1000, 999.5),
    (TRYTON, 48, 32 << 20, 500, 641.7), (TRYTON, 48, 1 << 19, 10, 13.7),
    (TEN_G, 4, 4 << 20, 50, 79.5), (TEN_G, 8, 4 << 20, 100, 129.5),
    (TEN_G, 16, 32 << 20, 500, 804.4), (TEN_G, 48, 4 << 20, 50, 91.0),
]  # fmt: skip


@pytest.mark.parametrize(("link", "ranks", "size", "delay", "expected"), KNOWN)
def test_bounds_that_were_computed_elsewhere(link, ranks, size, delay, expected):
    found = elapsed_bound(late(ranks, delay), size, link)
    assert 1e3 * found == pytest.approx(expected, abs=0.051)


def test_no_order_of_ranks_counts():
    arrival = MILLI * np.array([3.0, 40, 0, 17, 17])
    for bound in (elapsed_bound, buffered_bound, last_bound, imbalance_factor):
        assert bound(arrival, 9, UNIT) == pytest.approx(bound(np.sort(arrival), 9, UNIT))


def test_a_link_is_that_between_hosts():
    between = {"latency": 1e-5, "overhead": 2e-5, "byte": 8e-9, "reduce": 1e-10}
    inside = dict.fromkeys(between, 1.0)
    found = link_of({"links": {"inside": inside, "between": between}})
    assert (found.alpha, found.beta) == pytest.approx((3e-5, 8e-9))


# ---- tables


def point(name: str, delay: float, ms: float, speedup: float | None, **more) -> dict:
    return {
        "mode": "one-late", "bytes": 4 << 20, "delay_us": delay * 1e3, "algorithm": name,
        "elapsed_us": ms * 1e3, "speedup": speedup, "elapsed_bound_us": 50e3,
        "buffered_bound_us": 45e3, "sigma_us": 1e3, "reference": "ring", **more,
    }  # fmt: skip


ROWS = [
    point("ring", 0, 60.0, 1.0), point("pre_reduced_ring", 0, 75.0, 0.8),
    point("ring", 50, 120.0, 1.0), point("pre_reduced_ring", 50, 100.0, 1.2),
]  # fmt: skip


def test_table_3():
    grid = arrival_tables.by_algorithm(ROWS, "one-late", 4 << 20)
    assert "4 MiB" in grid.title and "one rank late" in grid.title
    assert arrival_tables.markdown(grid) == [
        "| late by, ms | 0 | 50 |",
        "|:--|---:|---:|",
        "| ring | 60.0 | 120.0 |",
        "|  | 1.00 | 1.00 |",
        "| pre_reduced_ring | 75.0 | **100.0** |",
        "|  | 0.80 | **1.20** |",
        "| bound | 50.0 | 50.0 |",
        "| bound, buffered | 45.0 | 45.0 |",
    ]


def test_table_4():
    small = [{**each, "bytes": 1 << 20} for each in ROWS[:2]]
    grid = arrival_tables.against_ring([*ROWS, *small], "one-late")
    assert arrival_tables.markdown(grid) == [
        "| late by, ms | 0 | 50 |",
        "|:--|---:|---:|",
        "| 4 MiB | 15.0 | **-20.0** |",
        "|  | 0.80 | **1.20** |",
        "| 1 MiB | 15.0 | – |",
        "|  | 0.80 | – |",
    ]


def test_which_tables_there_are():
    random = [{**each, "mode": "rand-late"} for each in ROWS]
    assert len(arrival_tables.tables([*ROWS, *random])) == 4
    unknown = dict.fromkeys(("speedup", "elapsed_bound_us", "buffered_bound_us"))
    without = [{**each, **unknown} for each in ROWS[1::2]]
    (only,) = arrival_tables.tables(without)
    assert arrival_tables.markdown(only)[2:] == [
        "| pre_reduced_ring | 75.0 | 100.0 |",
        "|  | – | – |",
    ]


# ---- figures


def test_panels_hold_still_what_the_paper_does():
    def result(ranks: int, *sizes: int) -> dict:
        rows = [
            point("ring", delay, 1, 1.0, bytes=size) for size in sizes for delay in (0, 40, 100)
        ]
        return {"meta": {"ranks": ranks}, "rows": rows}

    (alone,) = arrival_plot.panels([result(4, 8 << 20)], "one-late")
    assert [x for x, _ in alone.points] == [0, 40, 100]
    some = [result(4, 1 << 20, 4 << 20), result(8, 1 << 20, 4 << 20)]
    by_delay, by_size, by_ranks = arrival_plot.panels(some, "one-late")
    assert {row["bytes"] for _, row in by_delay.points} == {4 << 20}
    assert "8 ranks" in by_delay.title
    assert [(x, row["delay_us"]) for x, row in by_size.points] == [
        (1 << 20, 4e4), (4 << 20, 4e4),
    ]  # fmt: skip
    assert [(x, row["bytes"], row["delay_us"]) for x, row in by_ranks.points] == [
        (4, 4 << 20, 1e5), (8, 4 << 20, 1e5),
    ]  # fmt: skip


# ---- the command

FIELDS = {
    "mode", "bytes", "delay_us", "algorithm", "chosen", "calls", "elapsed_us", "sigma_us",
    "speedup", "speedup_error", "reference", "call_elapsed_us", "last_us", "elapsed_bound_us",
    "buffered_bound_us", "last_bound_us", "imbalance_factor", "rank_elapsed_us", "rank_last_us",
    "rank_arrival_us", "rank_finish_us", "wrong",
}  # fmt: skip
QUICK = ("--delays", "0,1ms", "--iters", 2, "--compute", "0")


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_one_host(stretto, tmp_path, ranks):
    file, picture = tmp_path / "found.json", tmp_path / "found.png"
    done = stretto(
        "bench", "arrival", "-n", ranks, *QUICK, "--floats", "1K,16K", "--mode", "one-late",
        "--mode", "rand-late", "--algorithms", "ring,auto,pre_reduced_ring",
        "--json", file, "--plot", picture,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "all results right" in done.stdout
    assert f"{ranks} ranks on one host" in done.stdout
    assert done.stdout.count("speed-up over ring") == 4  # by mode and size
    assert done.stdout.count("pre_reduced_ring: ms more than ring") == 2
    result = json.loads(file.read_text())
    assert (result["meta"]["ranks"], result["meta"]["hosts"]) == (ranks, 1)
    assert result["meta"]["clock"] == "common"
    found = result["rows"]
    assert [(row["bytes"], row["mode"], row["delay_us"], row["algorithm"]) for row in found] == [
        (size, mode, delay, name)
        for size in (4096, 65536)
        for mode in ("one-late", "rand-late")
        for delay in (0, 1000)
        for name in ("ring", "auto", "pre_reduced_ring")
    ]
    for each in found:
        assert each.keys() == FIELDS
        assert (each["wrong"], each["calls"]) == (0, 2)
        assert len(each["rank_finish_us"]) == ranks
        ring = next(
            other
            for other in found
            if other["algorithm"] == "ring"
            and all(other[name] == each[name] for name in ("bytes", "mode", "delay_us"))
        )
        assert each["speedup"] == pytest.approx(ring["elapsed_us"] / each["elapsed_us"])
        assert each["elapsed_bound_us"] is None  # there is no network
        if each["mode"] == "one-late":  # nobody comes before its time
            assert each["rank_arrival_us"][min(1, ranks - 1)] >= each["delay_us"]
    assert picture.read_bytes().startswith(b"\x89PNG")


def hosts(names: str) -> dict[str, str]:
    """Ranks that share no memory, as if they were on so many hosts."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    return {
        "STRETTO_FAKE_HOSTS": names, "STRETTO_ADDR": address, "STRETTO_TUNING_FILE": "assumed",
        "STRETTO_SECRET": "of-tests-only-0123456789abcdef-0123", "STRETTO_HEARTBEAT": "20ms",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("ranks", "names", "edge"),
    [(2, "a,b", "right"), (3, "a,b,c", "none"), (5, "a,b,c,d,e", "wrong")],
)
def test_several_hosts(stretto, ranks, names, edge):
    """Algorithms for late ranks are made for the arrivals, and bounds are of the profile."""
    done = stretto(
        "bench", "arrival", "-n", ranks, "--delays", "20ms", "--iters", 2, "--compute", "5ms",
        "--sizes", "512K", "--algorithms", "ring,chain,pre_reduced_ring,late_rooted,auto",
        "--json", "-", "--edge", edge, **hosts(names),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["meta"]["edge"] == edge
    assert (result["meta"]["hosts"], result["meta"]["clock"]) == (ranks, "common")
    link = Link(**result["meta"]["link"])
    for each in result["rows"]:
        assert each["wrong"] == 0
        assert 0 < each["buffered_bound_us"] < each["elapsed_bound_us"]
        assert each["elapsed_bound_us"] > 1e6 * link.message(1 << 19)
        assert each["last_bound_us"] >= 1e6 * link.message(1 << 19)
        assert each["imbalance_factor"] > 0
        if ranks > 2 and each["algorithm"] in ("chain", "pre_reduced_ring", "late_rooted"):
            made, _, parameters = each["chosen"].partition("(")
            assert made == each["algorithm"]
            # Of times that are told at random there may be nothing to make.
            assert parameters or (edge, made) == ("wrong", "pre_reduced_ring")


def test_without_a_ring_there_are_no_speedups(stretto):
    done = stretto(
        "bench", "arrival", "-n", 2, *QUICK, "--sizes", 64, "--algorithms", "direct", "--json", "-"
    )
    assert done.returncode == 0, done.stderr
    assert [row["speedup"] for row in json.loads(done.stdout)["rows"]] == [None, None]


def test_balanced_is_what_auto_is_before_arrivals_are_known(stretto):
    """Under the name that auto has then, and speed-ups are over it."""
    done = stretto(
        "bench", "arrival", "-n", 3, *QUICK, "--floats", "1K", "--mode", "moving-late",
        "--algorithms", "auto,balanced", "--reference", "balanced", "--json", "-",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    by_name = {}
    for each in json.loads(done.stdout)["rows"]:
        assert (each["wrong"], each["reference"]) == (0, "balanced")
        by_name.setdefault(each["algorithm"], []).append(each)
    for auto, balanced in zip(by_name["auto"], by_name["balanced"], strict=True):
        assert balanced["chosen"] == auto["chosen"] != "balanced"
        assert (balanced["speedup"], balanced["speedup_error"]) == (1, 0)
        assert auto["speedup"] == pytest.approx(balanced["elapsed_us"] / auto["elapsed_us"])


def test_what_does_not_fit_is_refused(stretto):
    both = stretto("bench", "arrival", "--sizes", 64, "--floats", 64)
    assert both.returncode == 2
    assert "give one" in both.stderr
    before = stretto("bench", "-n", 3, "arrival")
    assert before.returncode == 2
    assert "--ranks stands before arrival" in before.stderr
    assert "--json stands before" in stretto("bench", "--json", "x", "arrival").stderr
    assert "'soon' is no time" in stretto("bench", "arrival", "--delays", "0,soon").stderr
    assert stretto("bench", "departure").returncode == 2
