# SPDX-License-Identifier: BSD-3-Clause
"""`stretto bench pairs`: who sends to whom, what is checked, and what is written.  No test looks at
a time."""

from __future__ import annotations

import json
import re
import sys
from itertools import pairwise

import numpy as np
import pytest
from stretto import ArgumentError, _core
from stretto.cli.pairs import choose, counts_of, with_concurrency
from stretto.cli.streams import Place, Streams, pattern, places, usual_counts
from stretto.cli.tune import merged

ROW = {"bytes", "where", "pairs", "MBps", "relative", "window", "windows", "wrong"}


# ---- who sends to whom


@pytest.mark.parametrize(
    ("host_of", "inside", "between"),
    [
        ([0], None, None),
        ([0, 0], [(0, 1)], None),
        ([0, 0, 0], [(0, 1)], None),  # the last one of an odd number has nothing to do
        ([0, 0, 0, 0, 0], [(0, 2), (1, 3)], None),
        ([0, 1, 2], None, [(0, 1)]),
        ([0, 0, 1, 1], [(0, 1)], [(0, 2), (1, 3)]),
        ([0, 1, 0, 1], [(0, 2)], [(0, 1), (2, 3)]),
        # 1, 4 and 3 ranks: the hosts with the most.
        ([0, 1, 1, 1, 1, 2, 2, 2], [(1, 3), (2, 4)], [(1, 5), (2, 6), (3, 7)]),
    ],
)
def test_pairs_of_a_placement(host_of, inside, between):
    found = places(host_of)
    assert found.get("inside", Place("", (), ())).pairs == tuple(inside or ())
    assert found.get("between", Place("", (), ())).pairs == tuple(between or ())
    for place in found.values():
        for sender, receiver in place.pairs:
            same = host_of[sender] == host_of[receiver]
            assert same == (place.where == "inside")


def test_how_many_pairs():
    assert [usual_counts(most) for most in (1, 2, 3, 4, 12)] == [
        [1], [1, 2], [1, 2, 3], [1, 2, 4], [1, 2, 4, 8, 12],
    ]  # fmt: skip
    place = Place("inside", (0,), ((0, 3), (1, 4), (2, 5)))
    assert counts_of(place, None) == [1, 2, 3]
    assert counts_of(place, [3, 2]) == [1, 2, 3]
    assert (place.named(), place.named(2)) == ("0→3, 1→4, 2→5", "0→3, 1→4, ...")
    assert place.title == "inside host 0"
    assert Place("between", (2, 0), ()).title == "from host 2 to host 0"


@pytest.mark.parametrize(
    ("host_of", "wanted", "counts", "sizes", "why"),
    [
        ([0], (), None, [4], "start two ranks or more"),
        ([0, 1], ("inside",), None, [4], "start two or more on a host"),
        ([0, 0], ("between",), None, [4], "STRETTO_FAKE_HOSTS"),
        ([0] * 5, (), [1, 3], [4], "there are 2 pairs inside host 0; start 6 ranks on it"),
        ([0, 1, 0, 1], ("between",), [8], [4], "there are 2 pairs from host 0 to host 1"),
        ([0, 0], (), None, [0, 4], "at least one byte"),
    ],
)
def test_what_cannot_be_measured_is_refused(host_of, wanted, counts, sizes, why):
    with pytest.raises(ValueError, match=re.escape(why)):
        choose(host_of, wanted, counts, sizes)


# ---- what is checked


class Wire:
    """A communicator of two ranks as the receiver sees it: `spoil` changes what arrives."""

    rank, size = 1, 2

    def __init__(self, spoil=lambda data, turn: None):
        self._core = self
        self._spoil = spoil
        self.turn = 0

    def stream(self, data, peer, sends, size, window, windows):
        assert (peer, sends, len(data)) == (0, False, size * window * windows)
        assert not data.any()  # what was there before is gone
        self.turn += 1
        words = np.arange(-(-len(data) // 4), dtype=np.uint32) * np.uint32(2654435761)
        data[:] = pattern(words, peer, self.turn).view(np.uint8)[: len(data)]
        self._spoil(data, self.turn)
        return 0.0

    def allreduce(self, array, op="sum"):
        return array


def streams(wire: Wire, size: int = 5, window: int = 3) -> Streams:
    made = Streams(wire, Place("inside", (0,), ((0, 1),)), size, window)
    made.rehearse()
    return made


@pytest.mark.parametrize("size", [1, 5, 4096])
def test_right_data_are_right(size):
    made = streams(Wire(), size)
    made.seconds(1)
    assert made.wrong == 0
    assert made.bytes == size * 3 * made.windows


def test_wrong_data_are_found():
    def one_byte(data, turn):
        data[turn] ^= 1

    wire = Wire(one_byte)
    made = streams(wire)
    assert made.wrong == wire.turn > 0

    def next_message(data, turn):
        data[:5] = data[5:10].copy()

    assert streams(Wire(next_message)).wrong >= 4  # a byte may be the same by chance

    kept = []

    def of_the_turn_before(data, turn):
        kept.append(data.copy())
        if turn > 1:
            data[: len(kept[-2])] = kept[-2][: len(data)]

    assert streams(Wire(of_the_turn_before)).wrong > 0


def test_data_depend_on_the_sender_the_turn_and_the_index():
    words = np.arange(1000, dtype=np.uint32) * np.uint32(2654435761)
    made = [pattern(words, sender, turn) for sender in range(8) for turn in range(1, 9)]
    assert len({each.tobytes() for each in made}) == 64
    assert all(len(np.unique(each)) == 1000 for each in made)


def test_windows_that_do_not_fit_are_refused(stretto):
    code = (
        "import stretto, numpy as np; c = stretto.init()\n"
        "try: c._core.stream(np.zeros(7, np.uint8), 1 - c.rank, c.rank == 0, 4, 2, 1)\n"
        "except stretto.ArgumentError as error: print(error)"
    )
    done = stretto("run", "--no-prefix", "-n", 2, sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("7 bytes for 1 windows of 2 messages of 4 bytes") == 2


# ---- the command


def check(rows: list[dict], place: dict, sizes: list[int], counts: list[int]) -> None:
    mine = [row for row in rows if row["where"] == place["where"]]
    assert [(row["bytes"], row["pairs"]) for row in mine] == [
        (size, pairs) for size in sizes for pairs in counts
    ]
    for row in mine:
        assert row.keys() >= ROW
        assert row["wrong"] == 0
        assert row["MBps"] > 0 and row["relative"] > 0
        assert row["pairs"] > 1 or row["relative"] == 1
        assert row["MBps"] == pytest.approx(row["messages_per_second"] * row["bytes"] / 1e6)


def test_one_host(stretto, tmp_path):
    file, picture, profile = (tmp_path / name for name in ("it.json", "it.png", "profile.json"))
    done = stretto(
        "bench", "pairs", "-n", 5, "--sizes", "1,300K", "--repeat", 2, "--window", 8, "--json",
        file, "--plot", picture, "--tuning-file", profile,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "inside host 0, pairs of ranks 0→2, 1→3" in done.stdout
    assert "all results right" in done.stdout
    assert f"export STRETTO_TUNING_FILE={profile}" in done.stdout
    result = json.loads(file.read_text())
    assert result["meta"]["places"] == [
        {"where": "inside", "hosts": [0], "pairs": [[0, 2], [1, 3]]},
    ]  # fmt: skip
    check(result["rows"], result["meta"]["places"][0], [1, 307200], [1, 2])
    assert {row["window"] for row in result["rows"]} == {8}
    assert picture.read_bytes().startswith(b"\x89PNG")
    # The profile is as the library writes it, and a job takes it.
    text = profile.read_text()
    assert _core.checked_profile(text) == text
    written = json.loads(text)
    assert written["format"] == 2 and "links" not in written
    table = written["concurrency"]["inside"]
    assert "between" not in written["concurrency"]
    assert table["pairs"] == [1, 2] and "0→2, 1→3" in table["how"]
    assert [row["bytes"] for row in table["rows"]] == [1, 307200]
    code = (
        "import stretto, json; c = stretto.init(); "
        "c.rank or print(json.dumps(c.network_profile()['concurrency']))"
    )
    job = stretto("run", "--no-prefix", "-n", 2, sys.executable, "-c", code,
                  STRETTO_TUNING_FILE=str(profile))  # fmt: skip
    assert json.loads(job.stdout) == written["concurrency"], job.stderr


def test_two_hosts(stretto, tmp_path):
    profile = tmp_path / "profile.json"
    done = stretto(
        "bench", "pairs", "-n", 5, "--sizes", "4,64K", "--repeat", 2, "--json", "-",
        "--tuning-file", profile, STRETTO_FAKE_HOSTS="a,b,a,b,a",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    inside, between = result["meta"]["places"]
    assert inside["pairs"] == [[0, 2]]
    assert (between["hosts"], between["pairs"]) == ([0, 1], [[0, 1], [2, 3]])
    check(result["rows"], inside, [4, 65536], [1])
    check(result["rows"], between, [4, 65536], [1, 2])
    before = json.loads(profile.read_text())
    assert before["concurrency"]["between"]["pairs"] == [1, 2]
    # A later run replaces what it measured, and leaves the rest; so does a job that measures links.
    done = stretto(
        "bench", "pairs", "-n", 4, "--sizes", 8, "--repeat", 1, "--where", "between", "--pairs", 2,
        "--tuning-file", profile, STRETTO_FAKE_HOSTS="a,b", STRETTO_TUNING_FILE=str(profile),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    now = json.loads(profile.read_text())
    assert now["concurrency"]["inside"] == before["concurrency"]["inside"]
    assert [row["bytes"] for row in now["concurrency"]["between"]["rows"]] == [8]
    code = (
        "import stretto, json; c = stretto.init(); c.rank or print(json.dumps(c.network_profile()))"
    )
    job = stretto("run", "--no-prefix", "-n", 2, sys.executable, "-c", code,
                  STRETTO_FAKE_HOSTS="a,b", STRETTO_TUNING_FILE=str(profile))  # fmt: skip
    known = json.loads(job.stdout)
    assert known["concurrency"] == now["concurrency"]
    assert known["links"]["between"]["how"] != "assumed"


def test_inside_a_job(stretto):
    done = stretto(
        "run", "--no-prefix", "-n", 2, sys.executable, "-m", "stretto", "bench", "pairs", "--sizes",
        4, "--repeat", 1,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("pairs of ranks 0→1") == 1


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("-n", 1), "a job of one rank has no pairs"),
        (("-n", 2, "--where", "between"), "all ranks are on one host"),
        (("-n", 3, "--pairs", "1,2"), "there are 1 pairs inside host 0"),
        (("-n", 2, "--sizes", 0), "at least one byte"),
    ],
)
def test_refused_once_with_what_to_do(stretto, options, why):
    done = stretto("bench", "pairs", *options)
    assert done.returncode == 2
    assert done.stderr.count(why) == 1 and "Traceback" not in done.stderr


@pytest.mark.parametrize("option", [("--pairs", "x"), ("--pairs", "0"), ("--window", 0)])
def test_wrong_options(stretto, option):
    done = stretto("bench", "pairs", *option)
    assert done.returncode == 2
    if option[0] == "--pairs":
        assert "is no list of numbers of pairs" in done.stderr


def test_a_file_that_is_no_profile_is_left_alone(stretto, tmp_path):
    path = tmp_path / "notes.json"
    path.write_text('{"mine": 1}')
    done = stretto("bench", "pairs", "-n", 2, "--sizes", 4, "--tuning-file", path)
    assert done.returncode == 2
    assert f"{path} cannot be the profile" in done.stderr and "--tuning-file" in done.stderr
    assert path.read_text() == '{"mine": 1}'


# ---- what is written


def rows_of(where: str) -> list[dict]:
    return [
        {"where": where, "bytes": size, "pairs": pairs, "MBps": 1.23456 * size * pairs,
         "relative": float(pairs)}
        for size in (4, 64) for pairs in (1, 2)
    ]  # fmt: skip


def test_what_becomes_of_a_profile():
    place = Place("between", (0, 1), ((0, 2), (1, 3)))
    meta = {"window": 64, "repeat": 7, "when": "2026-03-01T12:00:00+00:00"}
    new = with_concurrency({}, [place], rows_of("between"), meta)
    assert new["host"] and new["date"] == meta["when"]
    table = new["concurrency"]["between"]
    assert table["rows"] == [
        {"bytes": 4, "throughput": 4.938e6, "relative": [1.0, 2.0]},
        {"bytes": 64, "throughput": 7.901e7, "relative": [1.0, 2.0]},
    ]
    text = _core.checked_profile(json.dumps(new))
    assert json.loads(text)["concurrency"] == new["concurrency"]
    # What a profile says besides stays.
    other = {"inside": {"pairs": [1], "rows": [{"bytes": 1, "throughput": 1, "relative": [1]}]}}
    before = {"host": "a", "date": "b", "calls": ["these"], "format": 1, "concurrency": other}
    both = with_concurrency(before, [place], rows_of("between"), meta)
    assert (both["host"], both["date"], both["calls"]) == ("a", "b", ["these"])
    assert both["concurrency"] == {**other, "between": table}
    assert list(before["concurrency"]) == ["inside"]
    # And `stretto tune`, which measures the network, leaves it.
    row = type("Row", (), {"call": {"hosts": 2, "collective": "allreduce", "ranks": 2}})()
    row.entries = list
    tuned = merged({**both, "calls": []}, {"links": "measured", "format": 1}, [row])
    assert (tuned["concurrency"], tuned["format"]) == (both["concurrency"], 2)


def test_a_table_out_of_order_is_refused():
    place = Place("between", (0, 1), ((0, 2), (1, 3)))
    meta = {"window": 64, "repeat": 7, "when": "now"}
    profile = with_concurrency({}, [place], rows_of("between")[2:] + rows_of("between")[:2], meta)
    sizes = [row["bytes"] for row in profile["concurrency"]["between"]["rows"]]
    assert any(a >= b for a, b in pairwise(sizes))
    with pytest.raises(ArgumentError, match=r"concurrency\.between\.rows\[1\]\.bytes"):
        _core.checked_profile(json.dumps(profile))
