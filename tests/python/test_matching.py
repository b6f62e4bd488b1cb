# SPDX-License-Identifier: BSD-3-Clause
"""`stretto bench matching`: what is played, compared and written.  No test looks at a time."""

from __future__ import annotations

import json
import math

import pytest
from stretto import ArgumentError, _core
from stretto.cli.matching import matching as command
from stretto.cli.matching import parse_names, parse_peers
from stretto.cli.matching_cases import SCHEMES, measure, steady
from stretto.cli.matching_plot import COLOURS
from stretto.cli.matching_thresholds import ATTEMPTS, CALLS, over_fastest, summarize

ROW = {
    "pattern", "peers", "depth", "scheme", "operations", "matches", "most_posted",
    "most_unexpected", "ns", "p99_ns", "relative_time", "looks", "bytes", "relative_bytes",
    "conversions", "posted_scheme", "unexpected_scheme", "wrong", "ns_of_repetitions",
}  # fmt: skip


# ---- what is played


@pytest.mark.parametrize("pattern", _core.matching_patterns())
@pytest.mark.parametrize("peers", [1, 7, 100])
def test_all_schemes_match_as_mpi_demands(pattern, peers):
    bench = _core.MatchingBench(pattern, peers, 1, 200)
    assert bench.matches >= 200 and bench.rounds >= 2
    assert bench.operations >= 2 * bench.matches
    for options in SCHEMES.values():
        given = options(peers + 1)
        assert bench.check(**given)["wrong"] == 0
        parts, wrong = bench.time(**given)
        assert len(parts) == 64 and sum(parts) > 0 and wrong == 0
        median_ns, p99_ns, wrong = bench.time_each(**given)
        assert 0 <= median_ns <= p99_ns and wrong == 0


def test_looks_of_a_list():
    for pattern, looks in (("in-order", 1), ("reverse", 13)):
        bench = _core.MatchingBench(pattern, 25, 1, 1)
        assert (bench.matches, bench.rounds, bench.most_posted) == (50, 2, 25)
        assert bench.check("list")["looks"] == looks * 50


def test_the_most_peers():
    bench = _core.MatchingBench("flood", 4096, 1, 1)
    assert (bench.most_posted, bench.most_unexpected) == (0, 4096)
    for options in SCHEMES.values():
        assert bench.check(**options(4097))["wrong"] == 0


@pytest.mark.parametrize(
    ("shape", "why"),
    [
        (("rand", 4, 1, 1), "no pattern 'rand'"),
        (("random", 0, 1, 1), "peers: 0 is not from 1 to 4096"),
        (("random", 4097, 1, 1), "peers: 4097"),
        (("random", 4, 65, 1), "depth: 65"),
    ],
)
def test_shapes_that_do_not_exist(shape, why):
    with pytest.raises(ArgumentError, match=why):
        _core.MatchingBench(*shape)


def test_a_scheme_that_does_not_exist():
    with pytest.raises(ArgumentError, match="no matching scheme 'tree'"):
        _core.MatchingBench("random", 4, 1, 1).check("tree")


# ---- what is compared


class Bench:
    """Plays in 100 ns a match as a list, in 50 as others; `broken` is wrong when it is checked."""

    operations, matches, most_posted, most_unexpected = 8, 4, 2, 1

    def __init__(self, broken: str = ""):
        self.broken = broken
        self.timed: list[str] = []

    def check(self, scheme="adaptive", **_):
        return {
            "wrong": int(scheme == self.broken), "bytes": 20 if scheme == "list" else 30,
            "looks": 6, "conversions": 0, "posted_scheme": "list", "unexpected_scheme": "list",
        }  # fmt: skip

    def time(self, scheme="adaptive", **_):
        self.timed.append(scheme)
        return ([300.0, 100.0] if scheme == "list" else [50.0, 150.0]), 0

    def time_each(self, scheme="adaptive", **_):
        return 5.0, 9.0, 0


def test_schemes_take_turns_and_are_compared_with_the_list():
    bench = Bench()
    rows = measure(bench, {"list": {"scheme": "list"}, "adaptive": {}}, 3)
    assert bench.timed == ["list", "adaptive", "adaptive", "list", "list", "adaptive"]
    both = [(row["scheme"], row["ns"], row["relative_time"], row["relative_bytes"]) for row in rows]
    assert both == [("list", 100, 1, 1), ("adaptive", 50, 0.5, 1.5)]
    assert [(row["looks"], row["p99_ns"], row["wrong"]) for row in rows] == [(1.5, 9, 0)] * 2


def test_what_is_wrong_is_not_timed():
    bench = Bench("hash")
    rows = measure(bench, {"list": {"scheme": "list"}, "hash": {"scheme": "hash"}}, 2)
    assert bench.timed == ["list", "list"]
    assert [row["wrong"] for row in rows] == [0, 1]
    assert rows[1]["ns"] is rows[1]["p99_ns"] is rows[1]["relative_time"] is None
    assert measure(Bench("list"), {"list": {"scheme": "list"}}, 2)[0]["wrong"] == 1


def test_of_each_part_the_median_counts():
    assert steady([[1, 20, 3], [50, 2, 3], [1, 2, 90]]) == 1 + 2 + 3


def test_the_exit_status_says_that_something_is_wrong(monkeypatch, capsys):
    monkeypatch.setattr(_core, "MatchingBench", lambda *_: Bench("hash"))
    with pytest.raises(SystemExit) as ended:
        command.main(["--peers", "4", "--patterns", "random"])
    assert ended.value.code == 1
    assert "1 wrong matches" in capsys.readouterr().out


# ---- the command


def test_table_json_and_picture(stretto, tmp_path):
    file, picture = tmp_path / "it.json", tmp_path / "it.png"
    done = stretto(
        "bench", "matching", "--peers", "5,40", "--patterns", "flood,reverse", "--matches", 100,
        "--repeat", 2, "--depth", 2, "--json", file, "--plot", picture,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "2 messages of each peer at the same time" in done.stdout
    assert "all results right" in done.stdout
    result = json.loads(file.read_text())
    assert result["meta"].keys() >= {"depth", "matches", "repeat", "processor", "when"}
    rows = result["rows"]
    assert [(row["peers"], row["pattern"], row["scheme"]) for row in rows] == [
        (peers, pattern, scheme)
        for peers in (5, 40) for pattern in ("reverse", "flood") for scheme in SCHEMES
    ]  # fmt: skip
    for row in rows:
        assert row.keys() == ROW
        assert row["wrong"] == 0 and row["ns"] > 0 and row["bytes"] > 0
        assert len(row["ns_of_repetitions"]) == 2
        assert max(row["most_posted"], row["most_unexpected"]) == 2 * row["peers"]
        if row["scheme"] == "list":
            assert row["relative_time"] == row["relative_bytes"] == 1
            assert row["conversions"] == 0
        if (row["scheme"], row["pattern"]) == ("list", "reverse"):
            assert row["looks"] == (2 * row["peers"] + 1) / 2
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_list_is_always_there_and_json_may_be_all(stretto):
    done = stretto(
        "bench", "matching", "--peers", 3, "--patterns", "hpcg", "--schemes", "adaptive,hash",
        "--matches", 10, "--repeat", 1, "--calls", 8, "--attempts", 0, "--json", "-",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert [row["scheme"] for row in result["rows"]] == ["list", "hash", "adaptive"]
    assert result["meta"]["thresholds"] == {"calls": 8, "attempts": 0}


def test_help_says_what_patterns_are(stretto):
    page = stretto("bench", "matching", "--help").stdout
    for name, meaning in _core.matching_patterns().items():
        assert f"{name} " in page and meaning in page
    assert COLOURS.keys() == SCHEMES.keys()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--peers", 0), "peers are 1 to 4096"),
        (("--peers", "8,5000"), "peers are 1 to 4096"),
        (("--peers", "many"), "peers are 1 to 4096"),
        (("--patterns", "random,rand"), "'rand' does not exist; in-order, reverse, random"),
        (("--schemes", "tree"), "'tree' does not exist; list, bins-quarter"),
        (("--depth", 0), "--depth"),
        (("--tune", "--plot", "it.png"), "--tune tries all schemes and thresholds"),
    ],
)
def test_refused_with_what_to_do(stretto, options, why):
    done = stretto("bench", "matching", *options)
    assert done.returncode == 2
    assert why in " ".join(done.stderr.split()) and "Traceback" not in done.stderr


def test_lists():
    assert parse_peers("8:4096*8") == [8, 64, 512, 4096]
    assert parse_peers("100,7,7") == [7, 100]
    assert parse_names(["a", "b", "c"])("c, a") == ["a", "c"]


# ---- thresholds


def test_tune(stretto, tmp_path):
    file = tmp_path / "it.json"
    done = stretto(
        "bench", "matching", "--tune", "--peers", "4,30", "--patterns", "random", "--matches", 50,
        "--repeat", 1, "--json", file,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(file.read_text())
    pairs = [(calls, attempts) for calls in CALLS for attempts in ATTEMPTS]
    assert [(row["calls"], row["attempts"]) for row in result["rows"]] == pairs
    best = result["best"]
    assert best["mean"] == min(row["mean"] for row in result["rows"])
    assert f"STRETTO_MATCHING_CALLS={best['calls']} " in done.stdout
    assert f"STRETTO_MATCHING_ATTEMPTS={best['attempts']}\n" in done.stdout
    assert "all results right" in done.stdout and result["wrong"] == 0


def test_thresholds_are_compared_by_the_geometric_mean():
    first, second = summarize({"a": {(1, 2): 4.0, (3, 4): 2.0}, "b": {(1, 2): 1.0, (3, 4): 3.0}})
    assert (first["calls"], first["attempts"], first["worst"], first["where"]) == (1, 2, 4, "a")
    assert first["mean"] == pytest.approx(2)
    assert (second["worst"], second["where"]) == (3, "b")
    assert second["mean"] == pytest.approx(math.sqrt(6))


def test_thresholds_of_what_is_wrong():
    assert over_fastest(Bench("hash"), 9, 1) == ({}, 1)
    assert summarize({}) == []
    ratios, wrong = over_fastest(Bench(), 9, 2)
    assert wrong == 0 and set(ratios.values()) == {1}
