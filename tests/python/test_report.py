# SPDX-License-Identifier: BSD-3-Clause
"""`stretto report`: who came late in whole jobs, and in jobs that went wrong."""

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

CALLS = 20
LATE = 50  # milliseconds


def run(*arguments: object):
    return CliRunner().invoke(cli, ["report", *map(str, arguments)])


def reported(
    stretto, folder: Path, ranks: int, *arguments: object, hosts: str = "",
    calls: int = CALLS, late: float = LATE,
) -> None:  # fmt: skip
    settings = {"STRETTO_REPORT": str(folder)}
    if hosts:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        settings |= {
            "STRETTO_ADDR": f"127.0.0.1:{port}", "STRETTO_FAKE_HOSTS": hosts,
            "STRETTO_SECRET": "of-tests-only-0123456789abcdef-0123",
        }  # fmt: skip
    done = stretto(
        "run", "-n", ranks, sys.executable, JOBS / "late.py", calls, late, *arguments, **settings
    )
    dead = "dies" in arguments
    assert dead or done.returncode == 0, done.stderr
    assert done.stdout.count("ended well") == ranks - dead, done.stdout + done.stderr


def found(folder: Path) -> dict:
    done = run(folder, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def site_of(report: dict, collective: str) -> dict:
    (site,) = [each for each in report["sites"] if each["collective"] == collective]
    return site


@pytest.fixture(scope="module")
def three(stretto, tmp_path_factory) -> Path:
    """The report of three ranks on one host."""
    folder = tmp_path_factory.mktemp("reports") / "three"
    reported(stretto, folder, 3)
    return folder


@pytest.mark.parametrize("ranks, hosts", [(2, ""), (3, ""), (5, ""), (3, "a,b"), (4, "a,b,c,d")])
def test_who_sleeps_before_a_call_comes_last_to_it(stretto, tmp_path, ranks, hosts):
    folder = tmp_path / "reports"
    reported(stretto, folder, ranks, hosts=hosts)
    report = found(folder)
    assert (report["ranks"], report["missing"], report["left_out"]) == (ranks, [], 0)
    site = report["sites"][0]  # where most could be gained
    assert (site["collective"], site["count"], site["dtype"], site["op"]) == (
        "allreduce", 1000, "float32", "sum",
    )  # fmt: skip
    assert (site["bytes"], site["calls"], site["looked_at"], site["size"]) == (
        4000, CALLS, CALLS, ranks,
    )  # fmt: skip
    assert site["of_job"] and site["clocks_known"] and site["missing"] == []
    assert [each["rank"] for each in site["ranks"]] == list(range(ranks))
    assert sum(each["last"] for each in site["ranks"]) == CALLS
    *others, late = site["ranks"]
    assert late["last"] >= 15
    assert late["late_p50_seconds"] > LATE * 0.5e-3
    assert late["held_up_seconds_per_call"] > LATE * 0.25e-3
    for each in others:
        # They wait for it, and it does not for them.
        assert each["waiting_seconds_per_call"] > LATE * 0.5e-3
        assert each["waiting_seconds_per_call"] > late["waiting_seconds_per_call"]
        assert each["between_seconds"] < late["between_seconds"]
    for each in site["ranks"]:
        assert (each["calls"], each["unfinished"]) == (CALLS, 0)
        assert each["late_p50_seconds"] <= each["late_p90_seconds"] <= each["late_p99_seconds"]
        in_calls = each["waiting_seconds_per_call"] + each["working_seconds_per_call"]
        assert in_calls * CALLS == pytest.approx(each["seconds"])
    assert site_of(report, "barrier")["calls"] == CALLS


def test_who_is_alone_is_not_late(stretto, tmp_path):
    folder = tmp_path / "reports"
    reported(stretto, folder, 1, late=0)
    assert found(folder)["sites"] == []
    assert "no blocking calls of two and more ranks" in run(folder).output


def test_many_calls_are_told_by_a_sample(stretto, tmp_path):
    folder = tmp_path / "reports"
    reported(stretto, folder, 2, calls=5000, late=0)
    site = site_of(found(folder), "allreduce")
    assert (site["calls"], site["looked_at"]) == (5000, 625)  # every eighth
    assert all(each["calls"] == 5000 for each in site["ranks"])
    assert "625 calls of 5000 looked at" in run(folder).output


def test_long_queues_of_messages_are_named_with_what_fills_them(stretto, tmp_path):
    folder = tmp_path / "reports"
    done = stretto(
        "run", "-n", 3, sys.executable, JOBS / "flood.py", 600, STRETTO_REPORT=str(folder)
    )
    assert done.returncode == 0, done.stderr
    zero, one, two = found(folder)["queues"]
    assert (zero["rank"], one["rank"], two["rank"]) == (0, 1, 2)
    queue = zero["unexpected"]
    assert queue["deepest"] == 600
    assert queue["conversions"] >= 1
    assert (queue["source"], queue["source_share"]) == (1, 1.0)
    assert queue["tag_share"] < 0.01
    assert one["unexpected"]["deepest"] < 64
    output = run(folder).stdout
    assert "rank 0: up to 600 messages waited for a receive" in output
    assert "100% had source 1;" in output
    assert "rank 1: up to" not in output


def test_the_report_is_a_table(three):
    done = run(three)
    assert done.exit_code == 0, done.output
    assert "allreduce, 1000 x float32 sum (3.906 KiB): 20 calls" in done.output
    assert "barrier: 20 calls" in done.output
    assert "holds up" in done.output
    less = run(three, "--top", 1)
    assert "barrier" not in less.output
    assert "more call sites: 1; --top 2 shows all" in less.output


@pytest.mark.parametrize("ending, magic", [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_pictures(three, tmp_path, ending, magic):
    file = tmp_path / f"picture.{ending}"
    done = run(three, "--plot", file)
    assert done.exit_code == 0, done.output
    assert done.output.endswith(f"{file}\n")
    assert file.read_bytes().startswith(magic)
    if ending == "svg":
        text = file.read_text()
        assert "rank 2" in text and "waiting" in text and "barrier" in text


def test_a_dead_rank_has_left_its_report(stretto, tmp_path):
    folder = tmp_path / "reports"
    (ended := tmp_path / "ended").mkdir()
    reported(stretto, folder, 3, "dies", 1, ended)
    report = found(folder)
    assert report["missing"] == []
    site = site_of(report, "allreduce")
    assert (site["calls"], site["looked_at"]) == (CALLS, CALLS)
    # A rank that comes when the failure is known already does not begin a call.
    unfinished = [each["unfinished"] for each in site["ranks"]]
    assert unfinished in ([1, 0, 1], [1, 0, 0], [0, 0, 1])
    assert site["ranks"][2]["last"] >= 15


def test_what_is_missing_or_cannot_be_read(three, tmp_path, stretto):
    def refused(*arguments: object) -> str:
        done = run(*arguments)
        assert done.exit_code in (1, 2), done.output
        assert isinstance(done.exception, SystemExit)
        return done.output

    empty = tmp_path / "empty"
    assert "cannot look into" in refused(empty)
    empty.mkdir()
    said = refused(empty)
    assert f"there are no reports in {empty}" in said and "STRETTO_REPORT=" in said
    assert ".svg, .png" in refused(three, "--plot", "x.gif")

    broken = tmp_path / "broken"
    files = sorted(Path(shutil.copytree(three, broken)).iterdir())
    assert [file.suffix for file in files] == 3 * [".calls"]
    files[1].unlink()
    done = run(broken)
    assert done.exit_code == 0
    assert "no report of rank 1: not compared" in done.output
    site = site_of(found(broken), "allreduce")
    assert site["missing"] == [1]
    assert [each["rank"] for each in site["ranks"]] == [0, 2]
    assert site["ranks"][1]["last"] >= 15
    files[2].write_bytes(files[2].read_bytes()[:5000])
    assert f"{files[2]} is cut off" in refused(broken)
    files[2].write_bytes(files[0].read_bytes())
    assert "is not what its name says" in refused(broken)

    mixed = tmp_path / "mixed"
    shutil.copytree(three, mixed)
    reported(stretto, mixed, 2, late=0)
    assert "has reports of 2 jobs" in refused(mixed)
    job = files[0].name.split("-")[1]
    assert run(mixed, "--job", job).exit_code == 0


def test_run_shows_the_report_at_the_end(stretto, tmp_path):
    command = (sys.executable, JOBS / "late.py", CALLS, 5)
    done = stretto("run", "-n", 2, "--report", *command)
    assert done.returncode == 0, done.stderr
    assert "ended well" in done.stdout
    assert "allreduce, 1000 x float32 sum" in done.stdout
    kept = stretto("run", "-n", 2, "--report", *command, STRETTO_REPORT=str(tmp_path / "kept"))
    assert "holds up" not in kept.stdout
    assert len(list((tmp_path / "kept").iterdir())) == 2
    nothing = stretto("run", "-n", 2, "--report", "true")
    assert nothing.returncode == 0
    assert "nothing to report" in nothing.stderr
    # A job that fails has a report, and its exit status.
    fails = "import stretto; comm = stretto.init(); comm.barrier(); raise SystemExit(3)"
    failed = stretto("run", "-n", 2, "--report", sys.executable, "-c", fails)
    assert failed.returncode == 3
    assert "barrier" in failed.stdout


def test_without_the_setting_there_is_no_report(stretto, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert stretto.job(2, "late", 2, 0).returncode == 0
    assert list(tmp_path.iterdir()) == []
