# SPDX-License-Identifier: BSD-3-Clause
"""Hosts on the command line: one spelling for verify, show, simulate, draw and explain."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from stretto import _core
from stretto.cli import cli
from stretto.cli.hosts import partitions, shapes


def run(*arguments):
    return CliRunner().invoke(cli, list(map(str, arguments)))


def rows(*arguments):
    done = run("verify", *arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.output)


def test_every_shape_once():
    assert list(partitions(4, 4)) == [[4], [3, 1], [2, 2], [2, 1, 1], [1, 1, 1, 1]]
    assert [str(each) for each in shapes(4)] == [
        "1x4", "3,1", "cyclic:3,1", "2x2", "cyclic:2x2", "2,1,1", "cyclic:2,1,1", "4x1",
    ]  # fmt: skip


def test_verify_proves_a_composition_on_its_hosts():
    text = "hierarchical(intra=direct, inter=ring, leaders=2)"
    (row,) = rows(text, "--hosts", "3,1,2", "--collective", "allreduce")
    assert row["ok"] and row["ranks"] == 6 and row["hosts"] == "3,1,2"
    assert row["steps"] == 1 + 2 * 2 + 1
    shown = run("verify", text, "--hosts", "3,1,2").output
    assert "3,1,2" in shown and "3 of 3 schedules proved" in shown
    # Where it names what one collective alone has between hosts, it is of that one.
    found = rows(text.replace("ring", "recursive_doubling"), "--hosts", "3,1,2")
    assert [row["collective"] for row in found] == ["allreduce"]


def test_verify_proves_all_shapes():
    text = "hierarchical(intra=ring, inter=circulant)"
    found = rows(text, "--collective", "allreduce", "--ranks", "1:7", "--hosts", "all")
    assert len(found) == sum(len(list(shapes(ranks))) for ranks in range(1, 8))
    assert all(row["ok"] for row in found)
    # The properties are those of the hosts: in order where one host has all of two ranks.
    assert {row["order_preserving"] for row in found} == {True, False}


def test_ranks_are_those_of_the_hosts():
    assert {row["ranks"] for row in rows("hierarchical", "--hosts", "cyclic:3x2")} == {6}
    composed = ("hierarchical", "--collective", "allreduce")
    assert [row["ranks"] for row in rows(*composed, "--hosts", "3", "--ranks", "5,9")] == [5, 9]
    assert "position 5" in run("show", "hierarchical", "--hosts", "2x3").output
    assert "12 ranks on 3 hosts" in run("simulate", "ring", "--hosts", "cyclic:3x4").output
    assert "6 ranks on 3 hosts" in run("explain", "--hosts", "3,1,2", "--bytes", "64K").output
    drawn = json.loads(run("draw", "ring", "--hosts", "map:0,1,1", "--json").output)
    assert drawn[0]["ranks"] == 3 and drawn[0]["hosts"] == [0, 1, 1]


def test_a_file_keeps_its_hosts(tmp_path):
    path = tmp_path / "placed.json"
    path.write_text(run("show", "hierarchical", "--hosts", "cyclic:2,1/1", "--json").output)
    schedule = _core.schedule_from_json(path.read_text())
    assert str(schedule.topology) == "cyclic:2,1/1" or schedule.topology.host_of == [0, 1, 0]
    assert schedule.topology.cache_of == [0, 1, 2]
    assert "3 ranks on 2 hosts" in run("simulate", path).output
    assert "3 ranks on 3 hosts" in run("simulate", path, "--hosts", "3").output


def test_hosts_are_visible_in_pictures(tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "hosts.svg"
    assert run("draw", "hierarchical", "--hosts", "2x2", "-o", path).exit_code == 0
    from stretto.cli.drawing import GROUND

    picture = path.read_text()
    assert picture.count(GROUND) == 2  # the ranks of the second host
    assert "on 2 hosts" in picture or "<!-- host 1 -->" in picture
    plain = tmp_path / "plain.svg"
    assert run("draw", "hierarchical", "--ranks", 4, "-o", plain).exit_code == 0
    assert GROUND not in plain.read_text()


def test_a_composition_is_priced_and_chosen():
    done = run("explain", "--hosts", "4x2", "--bytes", "1M", "--json")
    found = json.loads(done.output)
    composed = [each for each in found["candidates"] if "hierarchical" in each["algorithm"]]
    assert len(composed) == 10  # five between hosts, with one leader of each and with both
    assert all(each["predicted_seconds"] > 0 for each in composed)
    ragged = json.loads(run("explain", "--hosts", "3,1,4", "--bytes", "4M", "--json").output)
    assert ragged["chosen"].startswith(("hierarchical", "salar"))
    # Chunks of 128 KiB and more.
    chunked = [each["algorithm"] for each in ragged["candidates"] if "salar" in each["algorithm"]]
    assert sorted(chunked, key=len) == [f"salar(chunks={n})" for n in (1, 4, 16)]
    assert found["placement"] == "4x2" and found["hosts"] == 4
    # Ranks that are dealt out cost a flat ring four times as much, and a composition nothing.
    dealt = json.loads(run("explain", "--hosts", "cyclic:4x2", "--bytes", "1M", "--json").output)

    def price(of, name):
        return next(
            each["predicted_seconds"] for each in of["candidates"] if each["algorithm"] == name
        )

    name = "hierarchical(inter=circulant)"
    assert price(dealt, name) == pytest.approx(price(found, name), rel=0.05)


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["show", "ring", "--hosts", "4y2"], "hosts are written as 4, 8x4"),
        (["show", "ring", "--hosts", "2x3", "--ranks", 5], "have 6 ranks, not 5"),
        (["verify", "ring", "--hosts", "9", "--ranks", 4], "4 ranks cannot be on 9 hosts"),
        (["simulate", "ring", "--hosts", "4x2", "--placement", "round-robin"], "cyclic:4x2"),
        (["explain", "--hosts", "4"], "--ranks is missing"),
        (["explain", "--hosts", "2000x2"], "at most 1024"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, said):
    done = run(*arguments)
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())
