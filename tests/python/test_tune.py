# SPDX-License-Identifier: BSD-3-Clause
"""`stretto tune`: what it writes and says.  No test looks at a time."""

from __future__ import annotations

import json
import re
import socket
import sys

import pytest
from stretto import _core
from stretto.cli.tune import merged
from stretto.cli.tuning import CALLS, MOST, Row

SECRET = {"STRETTO_SECRET": "of-tests-only-0123456789abcdef-0123"}


def hosts(names: str = "a,b,a", profile: str | None = None) -> dict[str, str]:
    """Ranks that share no memory, as if they were on so many hosts."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    more = {"STRETTO_TUNING_FILE": profile} if profile else {}
    return {"STRETTO_FAKE_HOSTS": names, "STRETTO_ADDR": address, **SECRET, **more}


def read(path) -> dict:
    """It is as the library writes it."""
    text = path.read_text()
    assert _core.checked_profile(text) == text
    return json.loads(text)


def entries(kind: dict) -> list[tuple]:
    return [(each["bytes"], each["skew"], each["calls"], each["by"]) for each in kind["times"]]


def test_one_host(stretto, tmp_path):
    path = tmp_path / "here.json"
    done = stretto("tune", "-n", 3, "--sizes", "4,4K", "--skew", 0.25, "-o", path)
    assert done.returncode == 0, done.stderr
    profile = read(path)
    assert profile["host"] and profile["date"] and profile["stretto"]
    assert "links" not in profile  # there is no network
    (kind,) = profile["calls"]
    assert {key: kind[key] for key in kind if key != "times"} == {
        "collective": "allreduce", "ranks": 3, "hosts": 1,
    }  # fmt: skip
    for size in (4, 4096):
        timed = [each["algorithm"] for each in kind["times"] if each["bytes"] == size]
        assert len(set(timed)) > 1
        assert timed == [name for name in dict.fromkeys(timed) for _ in range(2)]
    calls = CALLS * MOST  # there is time enough
    assert set(entries(kind)) == {
        (size, skew, calls, "tune") for size in (4, 4096) for skew in (0, 0.25)
    }
    assert f"export STRETTO_TUNING_FILE={path}" in done.stdout
    assert "3 ranks on 1 host" in done.stdout and "4 KiB" in done.stdout
    assert "left out" not in done.stdout
    # A job goes by it.
    code = (
        "import stretto, json; c = stretto.init(); "
        "c.rank or print(json.dumps(c.network_profile()['calls']))"
    )
    job = stretto("run", "--no-prefix", "-n", 3, sys.executable, "-c", code,
                  STRETTO_TUNING_FILE=str(path))  # fmt: skip
    assert json.loads(job.stdout) == profile["calls"]
    # And so does an explanation.
    shown = stretto("explain", "--ranks", 3, "--bytes", "4K", "--json", "--profile", path)
    for each in json.loads(shown.stdout)["candidates"]:
        assert each.get("measured", False) == (each["algorithm"] in timed)


def test_a_budget_that_is_over_at_once_keeps_what_was_measured(stretto, tmp_path):
    path = tmp_path / "here.json"
    command = ("tune", "-n", 2, "--sizes", "4,1K,1M", "--seconds", 1e-6, "-o", path)
    done = stretto(*command)
    assert done.returncode == 0, done.stderr
    (kind,) = read(path)["calls"]
    assert set(entries(kind)) == {(4, 0, CALLS, "tune"), (4, 0.5, CALLS, "tune")}
    assert "2 of 3 sizes were left out" in done.stdout
    told = json.loads(stretto(*command, "--json").stdout)
    assert told["profile"] == str(path) and told["left_out"] == 2
    (found,) = told["rows"]
    assert found["times"] == read(path)["calls"][0]["times"]
    assert found["ratio"] >= 1 and (found["bytes"], found["ranks"], found["hosts"]) == (4, 2, 1)
    assert {found["chosen"], found["fastest"]} <= {each["algorithm"] for each in found["times"]}


def test_several_hosts(stretto, tmp_path):
    path = tmp_path / "two.json"
    done = stretto(
        "tune", "-n", 3, "--sizes", "64", "--skew", 0, "--seconds", 2, "-o", path,
        **hosts(profile="assumed"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    profile = read(path)
    (kind,) = profile["calls"]
    assert (kind["ranks"], kind["hosts"], kind["host_of"]) == (3, 2, [0, 1, 0])
    assert {each["skew"] for each in kind["times"]} == {0}
    assert profile["links"]["between"]["how"] == "assumed"


def test_the_network_of_several_hosts_is_measured(stretto, tmp_path):
    path = tmp_path / "three.json"
    done = stretto(
        "tune", "-n", 3, "--sizes", "4,64", "--seconds", 1e-6, "--collective", "allgather",
        "--collective", "barrier", "-o", path, **hosts("a,b,c"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    how = read(path)["links"]["between"]["how"]
    assert re.match("median of 6 surveys with 2 ranks: a message .* us, a byte .* ns", how)
    assert how.split(";")[0] in " ".join(done.stdout.split())


def test_what_a_file_says_of_other_calls_stays(stretto, tmp_path):
    path = tmp_path / "here.json"
    for ranks in (2, 3, 2):
        done = stretto("tune", "-n", ranks, "--sizes", 4, "--seconds", 1e-6, "-o", path)
        assert done.returncode == 0, done.stderr
    assert sorted(each["ranks"] for each in read(path)["calls"]) == [2, 3]


def test_a_file_that_is_no_profile_is_left_alone(stretto, tmp_path):
    path = tmp_path / "notes.json"
    path.write_text('{"mine": 1}')
    done = stretto("tune", "-n", 2, "--sizes", 4, "-o", path)
    assert done.returncode == 1
    assert f"{path} cannot be the profile" in done.stderr and "--output" in done.stderr
    assert path.read_text() == '{"mine": 1}'
    missing = tmp_path / "nowhere" / "it.json"
    done = stretto("tune", "-n", 2, "--sizes", 4, "-o", missing)
    assert done.returncode == 1
    assert "No such file" in done.stderr


def test_one_rank_has_nothing_to_tune(stretto, tmp_path):
    path = tmp_path / "here.json"
    done = stretto("tune", "-n", 1, "-o", path)
    assert (done.returncode, done.stdout) == (0, "one rank: there is nothing to tune\n")
    assert not path.exists()


def test_inside_a_job(stretto, tmp_path):
    path = tmp_path / "here.json"
    done = stretto(
        "run", "-n", 3, sys.executable, "-m", "stretto", "tune", "--sizes", 4, "--seconds", 1e-6,
        "-o", path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert read(path)["calls"][0]["ranks"] == 3


@pytest.mark.parametrize("option", [("--seconds", 0), ("--skew", -1), ("--sizes", "x")])
def test_wrong_arguments(stretto, option):
    assert stretto("tune", *option).returncode == 2


def row(size: int = 4, **more: list[float]) -> Row:
    call = {"collective": "allreduce", "ranks": 2, "hosts": 1, "bytes": size,
            "algorithms": list(more)}  # fmt: skip
    return Row(call, 0.5, dict(more), {name: [4 * each for each in times]
                                       for name, times in more.items()})  # fmt: skip


def test_what_is_the_fastest():
    one = row(ring=[3e-6, 1e-6, 9e-6], direct=[2e-6, 2e-6, 5e-6])
    assert one.chosen == "ring" and one.fastest == "direct"
    assert one.seconds("ring") == pytest.approx(3e-6)
    assert one.late_seconds("direct") == pytest.approx(8e-6)
    assert one.cost("direct") == pytest.approx(4e-6)  # of 2 and 8
    one.late["direct"] = [1e-4] * 3
    assert one.fastest == "ring"
    one.late.clear()
    assert one.cost("direct") == pytest.approx(2e-6)
    assert [each["skew"] for each in one.entries()] == [0, 0]


def test_what_is_written():
    assert row(ring=[1e-6, 3e-6, 2e-6]).entries() == [
        {"bytes": 4, "algorithm": "ring", "seconds": pytest.approx(2e-6), "skew": 0.0, "calls": 3,
         "by": "tune"},
        {"bytes": 4, "algorithm": "ring", "seconds": pytest.approx(8e-6), "skew": 0.5, "calls": 3,
         "by": "tune"},
    ]  # fmt: skip


def test_what_becomes_of_what_was_there():
    kind = {"collective": "allreduce", "ranks": 2, "hosts": 1}
    other = {"collective": "reduce", "ranks": 2, "hosts": 1, "times": []}
    links = {"links": {"inside": {}, "between": {}}, "common": 0}
    before = {**links, "calls": [other, {**kind, "times": ["old"]}]}
    now = merged(before, {"links": "assumed"}, [row(4, ring=[1e-6]), row(64, ring=[2e-6])])
    assert now["links"] == links["links"]  # on one host nothing new is known of it
    assert now["calls"][0] == other
    assert [each["bytes"] for each in now["calls"][1]["times"]] == [4, 4, 64, 64]
    # A size with one algorithm says nothing.
    assert merged({}, {}, [Row({**kind, "bytes": 4, "algorithms": ["ring"]})])["calls"] == []
