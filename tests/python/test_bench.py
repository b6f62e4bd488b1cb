# SPDX-License-Identifier: BSD-3-Clause
"""`stretto bench`: its fields and its check of results.  No test looks at a time."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from stretto.cli.bench import split_names
from stretto.cli.measure import Case, contribution, expected

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


@pytest.mark.parametrize("collective", ["reduce", "broadcast", "reduce_scatter", "allgather"])
@pytest.mark.parametrize("options", [["--inplace"], ["--buffers", "shared", "--op", "max"]])
def test_every_collective_is_checked(stretto, collective, options):
    done = stretto(
        "bench", "-n", 3, "--sizes", "12,100K", "--iters", 2, "--collective", collective,
        "--dtype", "int64", *options,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "all results right" in done.stdout


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


@pytest.mark.parametrize("op", ["sum", "prod", "min", "max"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
def test_expected_answers(op, ranks):
    """Against NumPy's own reductions, piece by piece."""
    part = 7
    whole = part * ranks
    own = np.stack([contribution(rank, ranks, 0, whole, op) for rank in range(ranks)])
    assert ranks == 1 or len(np.unique(own, axis=0)) == ranks
    fold = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}[op]
    reduced = fold.reduce(own)
    assert np.abs(reduced).max() < 2**24  # exact in float32

    def of(collective: str, rank: int, first: int, count: int) -> np.ndarray:
        case = Case(collective, "auto", 0, np.dtype(np.int64), op, False, False)
        return expected(case, rank, ranks, first, count, part)

    np.testing.assert_array_equal(of("allreduce", 0, 2, whole - 3), reduced[2:-1])
    np.testing.assert_array_equal(of("broadcast", 0, 1, 4), own[0][1:5])
    gathered = np.concatenate([own[rank][:part] for rank in range(ranks)])
    np.testing.assert_array_equal(of("allgather", 0, 3, whole - 3), gathered[3:])
    for rank in range(ranks):
        mine = reduced[rank * part : (rank + 1) * part]
        np.testing.assert_array_equal(of("reduce_scatter", rank, 2, part - 2), mine[2:])
