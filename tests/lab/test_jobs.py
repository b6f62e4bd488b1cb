# SPDX-License-Identifier: BSD-3-Clause
"""Jobs of Stretto on several hosts: what they compute, and what they say when they cannot."""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path

import pytest
from conftest import Lab

pytest.importorskip("stretto", reason="the package is not installed: make install")

JOBS = Path(__file__).parent / "jobs"
SECRET = "0123456789abcdef" * 2
TIMEOUT = "STRETTO_INIT_TIMEOUT=2"


@pytest.fixture(scope="module")
def four(make_lab) -> Lab:
    return make_lab(4)


def run(lab: Lab, name: str, *arguments: object, options: str = "", status: int | None = 0):
    """Ranks that play jobs/NAME.py; a rank that ends does not take others with it."""
    script = [sys.executable, JOBS / f"{name}.py", *arguments]
    return lab("run", "--keep-going", *options.split(), *script, status=status)


def said(done) -> dict[int, str]:
    """By rank."""
    lines: dict[int, str] = {}
    for line in done.stdout.splitlines():
        rank, text = re.fullmatch(r"\[ *(\d+) +h\d+ *\] (.*)", line).groups()
        lines[int(rank)] = lines.get(int(rank), "") + text
    return lines


def assert_exact(done, ranks: int) -> None:
    assert said(done) == dict.fromkeys(range(ranks), "ended well"), done.stderr


@pytest.mark.parametrize(
    ("options", "ranks"),
    [
        ("--hosts 1-4", 4),
        ("--hosts 1-3 --ranks-per-host 2", 6),
        ("--hosts 1,2,1,2,3", 5),
        (f"--hosts 1,2 --ranks-per-host 2 --launcher torchrun --env STRETTO_SECRET={SECRET}", 4),
    ],
)
def test_every_rank_gets_exact_answers(four, options, ranks):
    assert_exact(run(four, "exact", options=options), ranks)


def test_over_ipv6(make_lab):
    lab = make_lab(2, "--ipv6")
    assert_exact(run(lab, "exact", 1, 1009, options="--ranks-per-host 2"), 4)


def test_rank_0_may_come_late(four):
    assert_exact(run(four, "exact", 1009, options="--hosts 1-3 --env RANK_0_LATE=2"), 3)


def test_the_name_of_rank_0s_host_may_be_a_loopback_address_there(lab):
    """As Debian has it in /etc/hosts."""
    lab("up", 3)
    own = "echo 127.0.1.1 h1 > $TMPDIR/hosts; mount --bind $TMPDIR/hosts /etc/hosts"
    lab("exec", "h1", "sh", "-c", own)
    assert lab("exec", "h1", "getent", "hosts", "h1").stdout.split()[0] == "127.0.1.1"
    done = run(lab, "exact", 1009, options="--ranks-per-host 2 --env STRETTO_ADDR=h1:7100")
    assert_exact(done, 6)


def test_two_jobs_without_a_name_may_share_hosts(four):
    script = f"{sys.executable} {JOBS}/exact.py 1009"
    both = "exec env -u STRETTO_JOB STRETTO_ADDR=h1:$PORT " + script
    jobs = [
        four.start("run", "--hosts", "1,1,2,2", "--env", f"PORT={port}", "sh", "-c", both)
        for port in (7101, 7102)
    ]
    for job in jobs:
        out, err = job.communicate(timeout=100)
        assert out.count("ended well") == 4, err


def test_a_rank_with_another_secret_is_refused(four):
    wrong = f"2:STRETTO_SECRET={SECRET}"
    answers = said(run(four, "join", wrong, options=f"--hosts 1-3 --env {TIMEOUT}"))
    assert re.match(r"MismatchError .*secret.*STRETTO_SECRET", answers[2])
    for rank in (0, 1):
        told = r"TimeoutError after 2 s nothing was heard of rank\(s\) 2 of job"
        assert re.match(told, answers[rank])
        assert "rank 2, but does not know this job's secret" in answers[rank]


def test_a_rank_that_never_comes_is_named(four):
    options = f"--hosts 1-3 --ranks-per-host 2 --env {TIMEOUT}"
    answers = said(run(four, "join", "3:absent", options=options))
    assert answers.pop(3) == "absent"
    for answer in answers.values():
        assert re.match(r"TimeoutError after 2 s nothing was heard of rank\(s\) 3 of job ", answer)


def test_rank_0_that_never_comes_is_named(four):
    options = f"--hosts 1-2 --ranks-per-host 2 --env {TIMEOUT}"
    answers = said(run(four, "join", "0:absent", options=options))
    assert answers.pop(0) == "absent"
    for answer in answers.values():
        assert re.match(r"TimeoutError rank \d on h\d could not open .* to rank 0 at 10.83", answer)


@pytest.mark.parametrize("odd", [1, 3])
def test_ranks_that_disagree_on_the_size_are_told(four, odd):
    """Rank 1 is on the host of rank 0, rank 3 is not.  Who comes when rank 0 has gone again finds
    nobody."""
    options = f"--hosts 1,2 --ranks-per-host 2 --env {TIMEOUT}"
    answers = said(run(four, "join", f"{odd}:STRETTO_SIZE=7", f"{odd}:late=1", options=options))
    assert sorted(answers) == [0, 1, 2, 3]
    told = r"MismatchError rank \d.* says? that job .* has [47] ranks"
    for rank, answer in answers.items():
        alone = "" if rank in (0, odd) else "|TimeoutError .* could not open a rendezvous"
        assert re.match(told + alone, answer)


def test_two_ranks_of_the_same_number_are_told(four):
    options = f"--hosts 1,2 --ranks-per-host 2 --env {TIMEOUT}"
    answers = said(run(four, "join", "3:STRETTO_RANK=2", options=options))
    for rank in (2, 3):
        assert "two processes say that they are rank 2" in answers[rank]


def test_an_interface_that_is_excluded_is_told_to_all(four):
    """Who comes when rank 0 has gone again finds nobody."""
    arguments = ["1:STRETTO_IFACE=^eth", "1:late=1"]
    answers = said(run(four, "join", *arguments, options=f"--hosts 1-3 --env {TIMEOUT}"))
    assert sorted(answers) == [0, 1, 2]
    for rank in (0, 1):
        answer = answers[rank]
        assert answer.startswith("ArgumentError rank 1 on h2 has no address for the others: ")
        assert "STRETTO_IFACE" in answer
        assert "eth0 10.83.0.2/" in answer


@pytest.mark.skipif(os.environ.get("STRETTO_TEST_FULL") != "1", reason="part of make test-full")
def test_a_host_that_is_cut_off_gives_up_by_itself(four):
    """Its ranks wait for the word of rank 0, which does not reach them, on a connection that never
    breaks."""
    script = [sys.executable, JOBS / "join.py", "1:absent"]
    options = ["--hosts", "1,1,2,2", "--env", TIMEOUT, "--env", "SAY=joining"]
    job = four.start("run", "--keep-going", *options, *script)
    try:
        for _ in range(4):
            assert re.search(r"joining|absent", job.stdout.readline())
        time.sleep(0.5)  # if they have not met by then, they fail all the same
        four("link", "h2", "cut")
        out, err = job.communicate(timeout=100)
    finally:
        four("link", "h2", "restore")
    assert job.returncode == 0, err
    for rank, says in ((0, "nothing was heard of"), (2, "rank 0"), (3, "rank 0")):
        (answer,) = re.findall(rf"\[{rank} h\d\] (TimeoutError .*)", out)
        assert says in answer


@pytest.mark.parametrize("victim", [0, 3, 4])
def test_a_rank_that_is_killed_is_named_by_all_others(four, victim):
    """The one that speaks for its host or the other; rank 4 is alone on its host."""
    options = "--hosts 1,1,2,2,3"
    done = run(four, "killed", victim, options=options, status=137)
    answers = said(done)
    assert sorted(answers) == [rank for rank in range(5) if rank != victim]
    for answer in answers.values():
        assert re.match(rf"PeerError .*rank {victim}\b", answer)
