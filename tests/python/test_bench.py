# SPDX-License-Identifier: BSD-3-Clause
"""`stretto bench`: its fields and its check of results.  No test looks at a time."""

from __future__ import annotations

import functools
import json
import math
import operator
import sys

import numpy as np
import pytest
from stretto import _core
from stretto.cli.bench import split_names
from stretto.cli.catalog import DTYPES
from stretto.cli.measure import Case, expected
from stretto.cli.skew import Skew, evaluate
from stretto.cli.values import EXACT, FOLDS, contribution, reduction
from stretto.data import dtype_named

FIELDS = {
    "algorithm", "ranks", "bytes", "t_min_us", "t_p50_us", "t_p99_us", "algbw_GBps", "busbw_GBps",
    "wrong",
}  # fmt: skip


def test_names_are_split_outside_parentheses():
    assert split_names("auto, ring,chain(segments=4,other=2)") == [
        "auto", "ring", "chain(segments=4,other=2)",
    ]  # fmt: skip


def test_results_have_their_fields(stretto, tmp_path):
    file, picture = tmp_path / "two.json", tmp_path / "two.png"
    done = stretto(
        "bench", "-n", 2, "--sizes", "4:4K*32", "--algorithms", "auto,ring", "--iters", 5,
        "--json", file, "--plot", picture,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "all results right" in done.stdout
    result = json.loads(file.read_text())
    assert result["meta"]["ranks"] == 2
    assert [(row["algorithm"], row["bytes"]) for row in result["rows"]] == [
        (name, size) for size in (4, 128, 4096) for name in ("auto", "ring")
    ]
    for row in result["rows"]:
        assert row.keys() >= FIELDS
        assert row["wrong"] == 0
        assert 0 < row["t_min_us"] <= row["t_p50_us"] <= row["t_p99_us"]
        assert row["algbw_GBps"] == pytest.approx(row["bytes"] / row["t_p50_us"] / 1e3)
        assert row["busbw_GBps"] == pytest.approx(row["algbw_GBps"])  # 2 (P - 1) / P at 2 ranks
        assert len(row["rank_mean_us"]) == 2
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "collective",
    ["reduce", "broadcast", "reduce_scatter", "allgather", "gather", "scatter", "alltoall"],
)
@pytest.mark.parametrize("options", [["--inplace"], ["--buffers", "shared", "--op", "max"]])
def test_every_collective_is_checked(stretto, collective, options):
    done = stretto(
        "bench", "-n", 3, "--sizes", "12,100K", "--iters", 2, "--collective", collective,
        "--dtype", "int64", *options,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "all results right" in done.stdout


@pytest.mark.parametrize("skew", ["one-late:2ms", "rand-late:2ms"])
@pytest.mark.parametrize("collective", ["allreduce", "allgather"])
def test_skew(stretto, skew, collective):
    done = stretto(
        "bench", "-n", 3, "--sizes", "64,64K", "--iters", 4, "--skew", skew, "--json", "-",
        "--collective", collective, "--algorithms", "auto,ring",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["meta"]["skew"] == skew
    assert len(result["rows"]) == 4
    for row in result["rows"]:
        assert (row["wrong"], row["calls"], row["delay_us"]) == (0, 4, 2000)
        assert len(row["rank_elapsed_us"]) == len(row["rank_last_us"]) == 3
        assert row["elapsed_us"] == pytest.approx(np.mean(row["rank_elapsed_us"]))
        if skew.startswith("one-late"):  # nobody comes before its time
            assert row["rank_arrival_us"][1] >= 2000


def test_skew_is_printed_and_checked(stretto):
    done = stretto("bench", "-n", 2, "--sizes", 4, "--iters", 2, "--skew", "one-late:1ms")
    assert done.returncode == 0, done.stderr
    assert "one-late:1ms" in done.stdout and "elapsed of each rank" in done.stdout
    for wrong in ("late:1ms", "one-late"):
        assert (
            "one-late:50ms, rand-late:50ms, moving-late:50ms and any-late:50ms"
            in stretto("bench", "--skew", wrong).stderr
        )
    assert "'soon' is no time" in stretto("bench", "--skew", "one-late:soon").stderr


def test_who_is_late():
    one = Skew("one-late", 0.05)
    assert one.delays(3, 2).tolist() == [[0, 0], [0.05, 0.05], [0, 0]]
    assert one.delays(1, 1).tolist() == [[0.05]]
    some = Skew("rand-late", 0.05).delays(4, 100)
    assert 0 <= some.min() < some.max() < 0.05
    assert len(np.unique(some)) == 400
    assert str(one) == "one-late:50ms"


def test_what_skew_is_judged_by():
    # Two ranks, two calls; rank 1 comes 2 ms later in the first, at the same time in the second.
    arrival = np.array([[0.0, 1e-3], [2e-3, 1e-3]])
    finish = np.array([[2.5e-3, 1.2e-3], [2.4e-3, 1.4e-3]])
    found = evaluate(arrival, finish)
    assert found["elapsed_us"] == pytest.approx((2500 + 200 + 400 + 400) / 4)
    assert found["last_us"] == pytest.approx((500 + 400) / 2)
    assert found["rank_elapsed_us"] == pytest.approx([1350, 400])
    assert found["rank_last_us"] == pytest.approx([350, 400])
    assert found["rank_arrival_us"] == pytest.approx([500, 1500])


def test_inside_a_job_it_measures_with_the_ranks_there_are(stretto):
    done = stretto(
        "run", "-n", 3, sys.executable, "-m", "stretto", "bench", "--sizes", "64", "--iters", 2,
        "--collective", "barrier",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "3 ranks" in done.stdout


def test_an_unknown_algorithm_is_an_error(stretto):
    done = stretto("bench", "-n", 2, "--sizes", "64", "--algorithms", "rink")
    assert done.returncode == 1
    assert "rink" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("ranks", [1, 3])
def test_every_type_and_operation(stretto, ranks):
    pytest.importorskip("ml_dtypes")
    done = stretto.job(ranks, "measured")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("fine") == ranks


def test_the_types_are_those_of_the_library():
    assert set(DTYPES) == set(_core.supported())
    for name, size in DTYPES.items():
        assert dtype_named(name).itemsize == size
    assert {op for ops in _core.supported().values() for op in ops} == {*FOLDS, "premul_sum"}


def test_types_and_operations_by_name(stretto):
    pytest.importorskip("ml_dtypes")
    done = stretto(
        "bench", "-n", 3, "--sizes", "48,5K", "--iters", 2, "--dtype", "bfloat16", "--op", "avg"
    )
    assert done.returncode == 0, done.stderr
    assert "bfloat16, avg" in done.stdout
    assert "all results right" in done.stdout


def test_what_a_type_lacks_is_refused(stretto):
    done = stretto("bench", "--dtype", "float32", "--op", "band")
    assert done.returncode == 2
    assert "float32 has no band; it has sum, prod, min, max, avg" in done.stderr
    assert "bool has no sum" in stretto("bench", "--dtype", "bool").stderr
    assert stretto("bench", "--op", "premul_sum").returncode == 2
    assert stretto("bench", "--dtype", "bool", "--sizes", 64, "--iters", 2,
                   "--collective", "alltoall").returncode == 0  # nothing is reduced  # fmt: skip


PAIRS = [
    (dtype, op) for dtype, ops in _core.supported().items() for op in ops if op in FOLDS
]  # fmt: skip


def exact(values: np.ndarray) -> np.ndarray:
    """As Python's own numbers, which do not round."""
    if values.dtype.kind == "c":
        parts = [complex(int(each.real), int(each.imag)) for each in values.ravel()]
        return np.array(parts, object).reshape(values.shape)
    return np.array([int(each) for each in values.ravel()], object).reshape(values.shape)


@pytest.mark.parametrize("ranks", [1, 2, 3, 8, 16])
@pytest.mark.parametrize(("dtype", "op"), PAIRS)
def test_contributions_are_exact(dtype, op, ranks):
    """Folded in the type they give what whole numbers of any size give; and not always the same."""
    kind, count = dtype_named(dtype), 150
    own = np.stack([contribution(kind, op, rank, ranks, 0, count) for rank in range(ranks)])
    assert own.dtype == kind
    assert len({each.tobytes() for each in own}) == ranks
    wide = exact(own)
    folds = {
        "sum": sum, "avg": sum, "prod": math.prod, "min": min, "max": max,
        "band": lambda column: functools.reduce(operator.and_, column),
        "bor": lambda column: functools.reduce(operator.or_, column),
        "bxor": lambda column: functools.reduce(operator.xor, column),
        "land": all, "lor": any, "lxor": lambda column: sum(map(bool, column)) % 2,
    }  # fmt: skip
    right = [folds[op](list(column)) for column in wide.T]
    if op == "avg":
        right = [each / ranks for each in right]
    if kind.kind in "iu":
        right = np.array([each % (1 << 8 * kind.itemsize) for each in right], np.uint64)
        right = right.astype(kind)
    result = reduction(kind, op, ranks, 0, count)
    assert result.dtype == kind
    np.testing.assert_array_equal(result, np.array(right).astype(kind))
    assert len(set(result.tolist())) > 1
    np.testing.assert_array_equal(reduction(kind, op, ranks, 20, 30), result[20:50])


@pytest.mark.parametrize(("dtype", "op"), [("bfloat16", "sum"), ("bfloat16", "avg"),
                                           ("float16", "sum"), ("float32", "avg")])  # fmt: skip
@pytest.mark.parametrize("ranks", [2, 7, 16, 64, 128])
def test_no_sum_of_ranks_needs_rounding(dtype, op, ranks):
    kind = dtype_named(dtype)
    own = exact(np.stack([contribution(kind, op, rank, ranks, 0, 200) for rank in range(ranks)]))
    most = max(np.where(own > 0, own, 0).sum(0).max(), -np.where(own < 0, own, 0).sum(0).min())
    assert most <= EXACT[dtype]
    assert (own != 0).any(axis=1).all()  # of every rank something is seen


@pytest.mark.parametrize("op", ["sum", "prod", "min", "max"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
def test_expected_answers(op, ranks):
    """Of every collective, from all contributions at once."""
    part, kind = 7, np.dtype(np.int64)
    whole = part * ranks
    own = np.stack([contribution(kind, op, rank, ranks, 0, whole) for rank in range(ranks)])
    reduced = FOLDS[op].reduce(own)

    def of(collective: str, rank: int, first: int, count: int) -> np.ndarray:
        case = Case(collective, "auto", 0, kind, op, False, False)
        return expected(case, rank, ranks, first, count, part)

    np.testing.assert_array_equal(of("allreduce", 0, 2, whole - 3), reduced[2:-1])
    np.testing.assert_array_equal(of("broadcast", 0, 1, 4), own[0][1:5])
    gathered = np.concatenate([own[rank][:part] for rank in range(ranks)])
    np.testing.assert_array_equal(of("allgather", 0, 3, whole - 3), gathered[3:])
    for rank in range(ranks):
        mine = reduced[rank * part : (rank + 1) * part]
        np.testing.assert_array_equal(of("reduce_scatter", rank, 2, part - 2), mine[2:])
        dealt = own[0][rank * part : (rank + 1) * part]
        np.testing.assert_array_equal(of("scatter", rank, 2, part - 2), dealt[2:])
        sent = np.concatenate([each[rank * part : (rank + 1) * part] for each in own])
        np.testing.assert_array_equal(of("alltoall", rank, 3, whole - 3), sent[3:])
