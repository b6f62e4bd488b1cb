# SPDX-License-Identifier: BSD-3-Clause
"""`stretto draw`: the events are those of the schedule, and they become a picture."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result
from stretto import _core
from stretto.cli import cli, overview
from stretto.cli.drawing import COLOURS, plain_colour
from stretto.cli.network import PRESETS

ALPHA, BYTE = 1e-5, 1e-8


def run(*arguments: object) -> Result:
    """The command, in this process: Matplotlib takes long to start."""
    return CliRunner().invoke(cli, [str(each) for each in arguments])


def events(*arguments: object) -> list[dict]:
    done = run("draw", *arguments, "--alpha", "10us", "--beta", "10ns", "--gamma", "1ns", "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.output)


@pytest.mark.parametrize("mode", ["posted", "ordered"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
def test_events_of_a_ring(ranks, mode):
    part = 1000 * 4  # bytes of a block
    (ring,) = events("ring", "--ranks", ranks, "--bytes", part * ranks, "--mode", mode)
    messages = [each for each in ring["events"] if each["kind"] == "message"]
    assert len(messages) == 2 * ranks * (ranks - 1)
    assert ring["blocks"] == max(1, ranks) if ranks > 1 else True
    for each in messages:
        assert each["to"] == (each["from"] + 1) % ranks
        assert each["bytes"] == part
        assert each["end"] - each["start"] == pytest.approx(ALPHA + BYTE * part)
        assert len(each["blocks"]) == 1
    # Each block is reduced P - 1 times on its way around, and handed on as often.
    for block in range(ranks):
        mine = [each for each in messages if each["blocks"] == [block]]
        assert sum(each["reduces"] for each in mine) == (ranks - 1 if ranks > 1 else 0)
        mine.sort(key=lambda each: each["start"])
        for one, next_one in zip(mine, mine[1:], strict=False):
            assert next_one["from"] == one["to"]
            assert next_one["start"] >= one["end"]
    work = [each for each in ring["events"] if each["kind"] == "reduce"]
    assert len(work) == ranks * (ranks - 1)
    for each in work:
        assert each["from"] == each["to"]
        assert each["end"] - each["start"] == pytest.approx(1e-9 * part)


def test_events_name_the_ops_of_the_programs():
    (shown,) = events("rabenseifner", "--ranks", 7)
    programs = json.loads(run("show", "rabenseifner", "--ranks", 7, "--json").output)
    for each in shown["events"]:
        if each["kind"] == "message":
            send = programs["programs"][each["from"]]["ops"][each["send_op"]]
            recv = programs["programs"][each["to"]]["ops"][each["recv_op"]]
            assert send["op"] == "send" and send["peer"] == each["to"]
            assert recv["op"].startswith("recv") and recv["peer"] == each["from"]


def test_a_late_rank_receives_nothing_before_it_comes():
    (shown,) = events("direct", "--ranks", 5, "--late", "2:30ms", "--mode", "ordered")
    assert shown["arrivals"][2] == pytest.approx(0.03)
    for each in shown["events"]:
        if 2 in (each["from"], each["to"]):
            assert each["start"] >= 0.03
    assert any(each["end"] < 0.03 for each in shown["events"])


def test_events_are_of_ranks_when_they_are_sorted():
    (shown,) = events("chain", "--ranks", 5, "--late", "1:30ms", "--sorted")
    # Rank 1 comes last, so it ends the chain 0, 2, 3, 4, 1 and begins the way back.
    ways = {(each["from"], each["to"]) for each in shown["events"] if each["kind"] == "message"}
    assert ways == {(0, 2), (2, 3), (3, 4), (4, 1), (1, 0)}
    for each in shown["events"]:
        if 1 in (each["from"], each["to"]):
            assert each["start"] >= 0.03


def test_a_kind_of_network_sets_the_costs_and_options_change_them():
    done = run("draw", "ring", "--network", "infiniband", "--beta", "5ns", "--json")
    (shown,) = json.loads(done.output)
    alpha, _, gamma = PRESETS["infiniband"]
    assert (shown["alpha"], shown["beta"], shown["gamma"]) == (alpha, 5e-9, gamma)


@pytest.mark.parametrize(
    "arguments",
    [
        ["ring", "--ranks", 1],
        ["ring", "direct", "--ranks", 5, "--late", "0:4ms", "--block", 2],
        ["rabenseifner", "--ranks", 7, "--block", 3],
        ["segmented_ring(segments=3)", "--ranks", 6, "--bytes", 40],  # more blocks than colours
        ["one_shot", "--bytes", 0],
        ["binomial", "--collective", "broadcast", "--ranks", 9, "--root", 4],
        ["recursive_doubling", "--collective", "barrier"],
        ["ring", "recursive_doubling", "--ranks", 65, "--late", "3:5ms"],
        ["generalized", "--ranks", 400, "--pattern", "rand-late:1ms"],  # ranks share rows
        ["recursive_doubling", "--collective", "barrier", "--ranks", 70],
        ["direct", "--ranks", 64, "--bytes", 0, "chain(segments=200)"],  # too many messages
    ],
)
@pytest.mark.parametrize("ending, magic", [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_pictures(tmp_path, arguments, ending, magic):
    file = tmp_path / f"picture.{ending}"
    done = run("draw", *arguments, "-o", file)
    assert done.exit_code == 0, done.output
    assert done.output == f"{file}\n"
    assert file.read_bytes().startswith(magic)


def test_the_same_picture_twice(tmp_path):
    files = [tmp_path / name for name in ("a.svg", "b.svg")]
    for file in files:
        run("draw", "ring", "--ranks", 3, "-o", file)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_schedule_from_a_file(tmp_path):
    file = tmp_path / "mine.json"
    file.write_text(run("show", "ring", "--ranks", 3, "--json").output)
    (mine,), (ring,) = events(file), events("ring", "--ranks", 3)
    assert mine["events"] == ring["events"]
    done = run("simulate", file, "--json")
    assert json.loads(done.output)["ranks"] == 3


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["ring", "--block", 4], "blocks 0 to 3"),
        (["ring", "-o", "ring.gif"], ".svg, .png"),
        (["rink"], "there is no algorithm 'rink'"),
        (["missing.json"], "missing.json"),
        (["ring", "--late", "9:1ms"], "no rank 9"),
        (["one_shot", "--ranks", 64, "--late", "1"], "1"),
        (["ring", "--ranks", 65, "--block", 2], "up to 64 ranks"),
        (["ring", "--ranks", 65, "--block", 65], "blocks 0 to 64"),
    ],
)
def test_what_cannot_be_drawn(arguments, said):
    done = run("draw", *arguments)
    assert done.exit_code in (1, 2)
    assert said in done.output
    assert isinstance(done.exception, SystemExit)


def test_blocks_have_colours_of_their_own():
    for blocks in (1, 2, len(COLOURS), len(COLOURS) + 1, 64):
        assert len({plain_colour(block, blocks) for block in range(blocks)}) == blocks


def test_the_timeline_of_the_binding():
    ring = _core.schedule("allreduce", "ring", 3, 0)
    assert "events" not in ring.simulate(9, 4, [], ALPHA, BYTE, 0.0, "posted")
    assert (ring.blocks, ring.collective) == (3, "allreduce")


@pytest.mark.parametrize("ranks", [65, 500])
def test_of_many_ranks_the_json_says_how_busy_they_are(ranks):
    (shown,) = events(
        "ring", "--ranks", ranks, "--bytes", 4000 * ranks, "--late", f"{ranks - 1}:2ms"
    )
    assert "events" not in shown
    busy = shown["occupancy"]
    assert set(busy) == {"received_to_reduce", "received_as_it_is", "reducing"}
    for grid in busy.values():
        assert len(grid) == min(ranks, 360)
        for row in grid:
            assert len(row) == 100
            assert all(-1e-6 <= share <= 1.0001 for share in row)
    rows = len(busy["reducing"])
    sharing = [sum(rank * rows // ranks == row for rank in range(ranks)) for row in range(rows)]

    def seconds(kind: str) -> float:
        cell = shown["makespan"] / 100
        return sum(sum(row) * n for row, n in zip(busy[kind], sharing, strict=True)) * cell

    messages = ranks * (ranks - 1)  # of each kind, of 4000 bytes
    assert seconds("received_to_reduce") == pytest.approx(messages * 5e-5, rel=1e-3)
    assert seconds("received_as_it_is") == pytest.approx(messages * 5e-5, rel=1e-3)
    assert seconds("reducing") == pytest.approx(messages * 4e-6, rel=1e-3)
    # Nothing comes from or to the late rank before it has come, and it is in the last row.
    before = int(0.002 / shown["makespan"] * 100)
    assert before > 0
    late = [busy[kind][-1] for kind in ("received_to_reduce", "received_as_it_is")]
    assert ranks > 360 or not any(sum(row[:before]) for row in late)


def test_of_up_to_64_ranks_the_json_has_all_events():
    (shown,) = events("chain(segments=200)", "--ranks", 64)
    messages = [each for each in shown["events"] if each["kind"] == "message"]
    assert len(messages) == 2 * 63 * 200  # more than a picture shows one by one


def test_rows_of_the_picture_are_ranks_or_as_many_as_share_one():
    for ranks in (65, 360, 361, 719, 720, 4096):
        rows, _ = overview.grid(ranks, False)
        firsts = overview.first_ranks(ranks, rows)
        assert [first * rows // ranks for first in firsts] == list(range(rows))
        assert all((first - 1) * rows // ranks == row - 1 for row, first in enumerate(firsts))


def test_a_picture_where_it_cannot_lie(tmp_path):
    (tmp_path / "folder.svg").mkdir()
    for path, why in (
        (tmp_path / "none" / "ring.svg", f"there is no folder '{tmp_path / 'none'}'"),
        (tmp_path / "folder.svg", "is a folder; name a file in it"),
    ):
        done = run("draw", "ring", "-o", path)
        assert done.exit_code == 2
        assert why in done.output.replace("\n", " ")
