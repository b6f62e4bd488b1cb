# SPDX-License-Identifier: BSD-3-Clause
"""`lab/cluster run`: what it starts, says, and returns."""

from __future__ import annotations

import json
import signal
import sys

import processes
import pytest
import state
from conftest import Lab

SAY = "import json, os, socket; print(json.dumps({'host': socket.gethostname(), **os.environ}))"


@pytest.fixture(scope="module")
def three(make_lab) -> Lab:
    return make_lab(3)


def environments(lab: Lab, *options: object) -> list[dict[str, str]]:
    said = lab("run", *options, sys.executable, "-c", SAY).stdout
    return [json.loads(line.partition("] ")[2]) for line in said.splitlines()]


def in_hosts(lab: Lab) -> list[int]:
    return [pid for init in state.load(lab.name).hosts for pid in processes.of_host(init.pid)]


def test_ranks_are_dealt_to_hosts(three):
    said = environments(three, "--hosts", "2-3", "--ranks-per-host", 2)
    places = {each["STRETTO_RANK"]: (each["host"], each["STRETTO_LOCAL_RANK"]) for each in said}
    assert places == {"0": ("h2", "0"), "1": ("h2", "1"), "2": ("h3", "0"), "3": ("h3", "1")}
    dealt = environments(three, "--hosts", "1-2,1-2")
    places = {each["STRETTO_RANK"]: (each["host"], each["STRETTO_LOCAL_RANK"]) for each in dealt}
    assert places == {"0": ("h1", "0"), "1": ("h2", "0"), "2": ("h1", "1"), "3": ("h2", "1")}


def test_what_stretto_run_sets(three):
    said = environments(three, "--hosts", "2,3", "--env", "A=B=C")
    shared = ("STRETTO_JOB", "STRETTO_ADDR", "STRETTO_SECRET", "STRETTO_SIZE", "A")
    assert len({tuple(each[name] for name in shared) for each in said}) == 1
    assert said[0]["STRETTO_SIZE"] == "2"
    assert said[0]["STRETTO_LOCAL_SIZE"] == "1"
    assert said[0]["STRETTO_ADDR"].startswith("10.83.0.2:")
    assert len(bytes.fromhex(said[0]["STRETTO_SECRET"])) == 32
    assert said[0]["A"] == "B=C"
    again = environments(three, "--hosts", "2")
    assert again[0]["STRETTO_SECRET"] != said[0]["STRETTO_SECRET"]
    assert again[0]["STRETTO_JOB"] != said[0]["STRETTO_JOB"]


def test_addresses_are_ipv6_if_so_wanted(lab):
    lab("up", 2, "--ipv6")
    first, _ = environments(lab)
    assert first["STRETTO_ADDR"].startswith("[fd53:7472:6574:746f::1]:")
    first, _ = environments(lab, "--launcher", "torchrun")
    assert first["MASTER_ADDR"] == "fd53:7472:6574:746f::1"
    code = "import socket; print(socket.getaddrinfo('h2', 1)[0][4][0])"
    assert lab.python(1, code) == "fd53:7472:6574:746f::2\n"


def test_what_torchrun_sets(three):
    said = environments(three, "--launcher", "torchrun", "--ranks-per-host", 2)
    assert {each["RANK"] for each in said} == set("012345")
    last = next(each for each in said if each["RANK"] == "5")
    assert (last["host"], last["LOCAL_RANK"], last["GROUP_RANK"]) == ("h3", "1", "2")
    assert (last["WORLD_SIZE"], last["LOCAL_WORLD_SIZE"]) == ("6", "2")
    assert last["MASTER_ADDR"] == "10.83.0.1"
    assert len({(each["MASTER_PORT"], each["TORCHELASTIC_RUN_ID"]) for each in said}) == 1
    assert "STRETTO_RANK" not in last


def test_what_an_mpi_sets(three):
    said = environments(three, "--launcher", "mpi-like")
    assert {each["OMPI_COMM_WORLD_RANK"] for each in said} == set("012")
    assert {each["OMPI_COMM_WORLD_SIZE"] for each in said} == {"3"}
    assert {each["OMPI_COMM_WORLD_LOCAL_RANK"] for each in said} == {"0"}
    assert "STRETTO_RANK" not in said[0]


def test_lines_say_who_speaks(three):
    said = three("run", "--hosts", "1-3", "sh", "-c", "hostname; hostname >&2")
    expected = [f"[{rank} h{rank + 1}] h{rank + 1}" for rank in range(3)]
    assert sorted(said.stdout.splitlines()) == expected
    assert sorted(said.stderr.splitlines()) == expected


def test_rank_0_reads_the_input(three, tmp_path):
    (tmp_path / "input").write_text("hello")
    with open(tmp_path / "input") as file:
        said = three("run", "--hosts", "1,2", "cat", stdin=file)
    assert said.stdout == "[0 h1] hello\n"


def test_the_first_failure_ends_the_others(three):
    script = "test $STRETTO_RANK = 1 && exit 7; sleep 600"
    failed = three("run", "sh", "-c", script, status=7)
    assert failed.stderr == "lab/cluster run: rank 1 on h2 exited with status 7\n"
    assert in_hosts(three) == []


def test_others_go_on_if_told_so(three):
    script = "test $STRETTO_RANK = 1 && exit 7; echo fine"
    failed = three("run", "--keep-going", "--no-prefix", "sh", "-c", script, status=7)
    assert failed.stdout == "fine\nfine\n"


def test_what_ranks_leave_behind_is_ended(three):
    script = "setsid sh -c 'sleep 600 & sleep 600' >/dev/null 2>&1 & exit 0"
    three("run", "sh", "-c", script)
    assert in_hosts(three) == []


def test_another_job_is_left_alone(three):
    sleeper = three.serve(2, "print('ready', flush=True); import time; time.sleep(600)")
    three("run", "true")
    assert len(in_hosts(three)) == 1
    sleeper.terminate()
    sleeper.communicate(timeout=60)


def test_signals_reach_all_ranks(three):
    process = three.start("run", "--no-prefix", "sh", "-c", "echo up; sleep 600")
    assert [process.stdout.readline() for _ in range(3)] == ["up\n"] * 3
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert in_hosts(three) == []


def test_programs_that_are_not_there(three):
    failed = three("run", "no-such-program", status=127)
    assert "cannot start 'no-such-program'" in failed.stderr
    assert "which command?" in three("run", status=1).stderr
