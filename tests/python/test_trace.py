# SPDX-License-Identifier: BSD-3-Clause
"""`stretto trace`: the traces of jobs, and of jobs that went wrong."""

from __future__ import annotations

import json
import shutil
import socket
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import JOBS
from stretto.cli import cli

CALLS = 4
BYTES = 100_000


def run(*arguments: object):
    return CliRunner().invoke(cli, ["trace", *map(str, arguments)])


def traced(
    stretto, folder: Path, ranks: int, *arguments: object, hosts: str = "", calls: int = CALLS
) -> None:
    settings = {"STRETTO_TRACE": str(folder)}
    if hosts:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        settings |= {
            "STRETTO_ADDR": f"127.0.0.1:{port}", "STRETTO_FAKE_HOSTS": hosts,
            "STRETTO_SECRET": "of-tests-only-0123456789abcdef-0123",
        }  # fmt: skip
    done = stretto(
        "run", "-n", ranks, sys.executable, JOBS / "traced.py", calls, *arguments, **settings
    )
    dead = "dies" in arguments
    assert dead or done.returncode == 0, done.stderr
    assert done.stdout.count("ended well") == ranks - dead, done.stdout + done.stderr


@pytest.fixture(scope="module")
def three(stretto, tmp_path_factory) -> Path:
    """The traces of three ranks on one host."""
    folder = tmp_path_factory.mktemp("traces") / "three"
    traced(stretto, folder, 3)
    return folder


def copied(folder: Path, to: Path) -> list[Path]:
    return sorted(Path(shutil.copytree(folder, to)).iterdir())


def merged(folder: Path, tmp_path: Path) -> tuple[dict, str]:
    out = tmp_path / "all.json"
    done = run("merge", folder, "-o", out)
    assert done.exit_code == 0, done.output
    return json.loads(out.read_text()), done.output


@pytest.mark.parametrize(
    "ranks, hosts", [(1, ""), (2, ""), (3, ""), (5, ""), (3, "a,b"), (4, "a,b,c,d")]
)
def test_every_rank_and_call_is_in_the_merged_trace(stretto, tmp_path, ranks, hosts):
    folder = tmp_path / "traces"
    traced(stretto, folder, ranks, hosts=hosts)
    found, said = merged(folder, tmp_path)
    assert f"{ranks} rank" in said
    about = found["otherData"]
    assert (about["ranks"], about["missing"], about["dropped"]) == (ranks, [], 0)
    assert [each["how"] for each in about["clocks"]] == ranks * ["same clock"]
    events = found["traceEvents"]
    for rank in range(ranks):
        calls = [e for e in events if e.get("cat") == "call" and e["pid"] == rank]
        assert [e["name"] for e in calls] == CALLS * ["allreduce"] + ["barrier"]
        assert all(e["args"]["bytes"] == BYTES for e in calls[:CALLS])
        assert all(e["ts"] >= 0 and e["dur"] >= 0 for e in calls)
    # The last rank comes 300 ms late to call 1, for which the others wait.
    late = ranks - 1
    for rank in range(late):
        waits = [
            e for e in events
            if e.get("cat") == "wait" and e["pid"] == rank and e["args"]["call"] == 1
        ]  # fmt: skip
        assert sum(e["dur"] for e in waits) > 50_000
    (shown,) = [json.loads(run("show", folder, "--json").stdout)]
    assert [row["calls"] for row in shown] == ranks * [CALLS + 1]
    assert all(row["waiting_seconds"] <= row["seconds"] for row in shown)
    # What goes over links arrives.
    assert sum(row["bytes_sent"] for row in shown) == sum(row["bytes_received"] for row in shown)
    assert (sum(row["bytes_sent"] for row in shown) > 0) == bool(hosts)


def test_show_is_a_table(three):
    done = run("show", three)
    assert done.exit_code == 0, done.output
    assert "mostly for" in done.output


def test_a_dead_rank_has_left_its_trace(stretto, tmp_path):
    folder = tmp_path / "traces"
    traced(stretto, folder, 3, "dies", 1)
    assert [path.suffix for path in sorted(folder.iterdir())] == [".json", ".raw", ".json"]
    found, said = merged(folder, tmp_path)
    assert "rank 1 has not ended its trace" in said
    events = found["traceEvents"]
    calls = [e for e in events if e.get("cat") == "call" and e["pid"] == 1]
    assert len(calls) == CALLS + 1
    failures = [e["args"]["message"] for e in events if e["name"] == "failure"]
    assert len(failures) == 2
    assert all("rank 1" in each and "died" in each for each in failures)
    unfinished = [e for e in events if e.get("args", {}).get("unfinished") and e["cat"] == "call"]
    # Who comes when the failure is known already does not begin a call.
    assert {e["pid"] for e in unfinished} <= {0, 2} and unfinished


def test_clocks_of_other_hosts_are_aligned_by_calls(three, tmp_path):
    """As if rank 1 were on a host whose clock is three seconds ahead."""
    ahead = 3_000_000.0  # microseconds
    files = copied(three, tmp_path / "copy")
    expected, _ = merged(three, tmp_path)
    trace = json.loads(files[1].read_text())
    trace["otherData"]["clock"] = "another"
    for event in trace["traceEvents"]:
        if "ts" in event:
            event["ts"] += ahead
    files[1].write_text(json.dumps(trace))
    found, said = merged(tmp_path / "copy", tmp_path)
    clock = found["otherData"]["clocks"][1]
    assert (clock["how"], clock["rank"]) == ("calls", 1)
    assert abs(clock["offset_ns"] + ahead * 1000) <= clock["error_ns"]
    assert "aligned by calls, give or take" in said
    # What the ranks have measured counts, as far as the calls allow it.
    trace["otherData"]["clock_offset_ns"] = round(-ahead * 1000)
    files[1].write_text(json.dumps(trace))
    other = json.loads(files[0].read_text())
    other["otherData"]["clock_offset_ns"] = 0
    files[0].write_text(json.dumps(other))
    found, _ = merged(tmp_path / "copy", tmp_path)
    clock = found["otherData"]["clocks"][1]
    assert (clock["how"], clock["offset_ns"]) == ("measured", -ahead * 1000)
    assert len(found["traceEvents"]) == len(expected["traceEvents"])
    # Without either nobody knows.
    del trace["otherData"]["clock_offset_ns"]
    trace["traceEvents"] = [e for e in trace["traceEvents"] if e.get("cat") != "call"]
    files[1].write_text(json.dumps(trace))
    found, said = merged(tmp_path / "copy", tmp_path)
    assert found["otherData"]["clocks"][1]["how"] == "unknown"
    assert "its clock offset from the others is not known" in said


@pytest.mark.parametrize("ending, magic", [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_pictures(three, tmp_path, ending, magic):
    file = tmp_path / f"picture.{ending}"
    done = run("draw", three, "-o", file)
    assert done.exit_code == 0, done.output
    assert done.output == f"{file}\n"
    assert file.read_bytes().startswith(magic)
    if ending == "svg":
        run("draw", three, "-o", file, "--call", 1)
        assert "call 1: allreduce" in file.read_text()
    assert run("draw", three, "-o", file, "--call", CALLS).exit_code == 0  # the barrier


def test_what_cannot_be_read(three, tmp_path, stretto):
    def refused(*arguments: object) -> str:
        done = run(*arguments)
        assert done.exit_code in (1, 2), done.output
        assert isinstance(done.exception, SystemExit)
        return done.output

    empty = tmp_path / "empty"
    assert "cannot look into" in refused("show", empty)
    empty.mkdir()
    assert f"there are no traces in {empty}" in refused("merge", empty)
    assert "no rank has traced a blocking call 99" in refused("draw", three, "--call", 99)
    assert ".svg, .png" in refused("draw", three, "-o", "x.gif")
    assert "cannot write" in refused("merge", three, "-o", tmp_path / "not" / "there.json")

    mixed = tmp_path / "mixed"
    files = copied(three, mixed)
    traced(stretto, mixed, 2)
    said = refused("merge", mixed)
    assert (
        "has traces of 2 jobs" in said and "(3 ranks)" in said and "choose one with --job" in said
    )
    job = files[0].name.split("-")[1]
    assert run("merge", mixed, "--job", job, "-o", tmp_path / "x.json").exit_code == 0
    assert "no traces of a job 00000000" in refused("merge", mixed, "--job", "00000000")

    broken = tmp_path / "broken"
    files = copied(three, broken)
    whole = files[2].read_text()
    files[2].write_text(whole[: len(whole) // 2])
    assert f"{files[2]} is cut off" in refused("show", broken)
    files[2].write_text("{}")
    assert f"{files[2]} is no trace of Stretto" in refused("show", broken)
    files[2].write_text(files[1].read_text())
    assert "are of the same rank" in refused("show", broken)
    other = json.loads(whole)
    other["otherData"]["id"] = 16 * "0"
    files[2].write_text(json.dumps(other))
    assert "are of different jobs" in refused("show", broken)
    files[2].unlink()
    assert "no trace of rank 2" in run("show", broken).output
    raw = files[1].with_suffix(".raw")
    raw.write_bytes(b"STTRACE1" + bytes(500))
    assert f"{raw} is too short for a trace" in refused("show", broken)


def test_a_small_buffer_keeps_the_end(stretto, tmp_path, monkeypatch):
    monkeypatch.setenv("STRETTO_TRACE_BYTES", "4096")
    folder = tmp_path / "traces"
    traced(stretto, folder, 2, calls=50)
    found, said = merged(folder, tmp_path)
    assert found["otherData"]["dropped"] > 0
    assert "raise STRETTO_TRACE_BYTES" in said
    assert any(e["name"] == "barrier" for e in found["traceEvents"])


def test_without_the_setting_there_is_no_trace(stretto, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert stretto.job(2, "traced", 2).returncode == 0
    assert list(tmp_path.iterdir()) == []
