# SPDX-License-Identifier: BSD-3-Clause
"""What comes with a cluster goes with it, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import check
import pytest
import state
from arguments import parser
from commands import WORK
from conftest import Lab
from errors import LabError
from kernel import started_at


def seen_outside() -> dict[str, object]:
    """What of a cluster somebody might notice who does not use it."""
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True)
    routes = subprocess.run(["ip", "route"], capture_output=True, text=True, check=True)
    return {
        "links": sorted(line.split(":")[1] for line in links.stdout.splitlines()),
        "routes": routes.stdout,
        "mounts": sorted(line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()),
        "named": sorted(os.listdir("/run/netns")) if os.path.isdir("/run/netns") else [],
        "shm": sorted(os.listdir("/dev/shm")),
        "hostname": os.uname().nodename,
    }


def of_cluster(keeper: int) -> set[int]:
    """The keeper and all below it."""
    children: dict[int, list[int]] = {}
    for each in filter(str.isdigit, os.listdir("/proc")):
        try:
            text = Path(f"/proc/{each}/stat").read_text()
        except OSError:
            continue
        children.setdefault(int(text.rpartition(")")[2].split()[1]), []).append(int(each))
    found, new = set(), [keeper]
    while new:
        found.add(pid := new.pop())
        new += children.get(pid, [])
    return found


def assert_gone(lab: Lab, processes: set[int]) -> None:
    assert not [pid for pid in processes if started_at(pid) is not None]
    assert lab.name not in state.names()


def test_up_and_down_leave_nothing(lab):
    before = seen_outside()
    lab("up", 3, "--rate", "1gbit")
    assert seen_outside() == before  # nor is anything of it seen while it is there
    processes = of_cluster(state.load(lab.name).keeper.pid)
    assert len(processes) >= 4
    running = lab.start("run", "--no-prefix", "sh", "-c", "echo up; sleep 600")
    assert [running.stdout.readline() for _ in range(3)] == ["up\n"] * 3
    lab("down")
    assert_gone(lab, processes)
    running.communicate(timeout=60)
    assert running.returncode == 128 + signal.SIGKILL
    assert seen_outside() == before


@pytest.mark.parametrize("victim", ["keeper", "host"])
def test_what_was_killed_by_hand_is_cleared_away(lab, victim):
    before = seen_outside()
    lab("up", 2)
    cluster = state.load(lab.name)
    processes = of_cluster(cluster.keeper.pid)
    os.kill((cluster.keeper if victim == "keeper" else cluster.hosts[1]).pid, signal.SIGKILL)
    deadline = time.monotonic() + 30
    while cluster.hosts[1].alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    failed = lab("run", "true", status=1)
    assert "lab/cluster down" in failed.stderr
    lab("down")
    assert_gone(lab, processes)
    assert seen_outside() == before


def test_an_up_that_fails_leaves_nothing(lab):
    before = seen_outside()
    failed = lab("up", 3, "--congestion", "no-such", status=1)
    assert "--congestion no-such: " in failed.stderr
    assert "hosts may have what the machine allows, which is " in failed.stderr
    assert lab.name not in state.names()
    assert seen_outside() == before


def test_an_up_that_was_killed_is_cleared_away(lab):
    before = seen_outside()
    process = lab.start("up", 8)
    while not (state.root() / lab.name / "state.json").exists() and process.poll() is None:
        time.sleep(0.001)
    process.kill()
    process.communicate(timeout=60)
    cluster = state.load(lab.name)
    processes = of_cluster(cluster.keeper.pid) if cluster.keeper.alive() else set()
    lab("down")
    assert_gone(lab, processes)
    assert seen_outside() == before


def test_a_name_is_taken_once(lab):
    lab("up", 1)
    failed = lab("up", 1, status=1)
    assert f"there is a cluster '{lab.name}' already" in failed.stderr
    assert lab.facts()["running"]


def test_two_clusters_know_nothing_of_each_other(lab):
    other = Lab()
    try:
        lab("up", 2)
        other("up", 2)
        server = lab.serve(
            2,
            "import socket\ns = socket.create_server(('', 7000))\nprint('ready', flush=True)\n"
            "while True: s.accept()",
        )
        ask = (
            "import socket\ntry: socket.create_connection(('h2', 7000), 20); print('there')\n"
            "except ConnectionRefusedError: print('nobody')"
        )
        assert lab.python(1, ask) == "there\n"
        assert other.python(1, ask) == "nobody\n"
        other("down")
        assert lab.python(1, ask) == "there\n"
        server.terminate()
        server.communicate(timeout=60)
    finally:
        other.down()


def test_without_root_it_says_so(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr("sys.argv", ["lab/cluster", "up", "4"])
    with pytest.raises(LabError, match="need root; run `sudo lab/cluster up 4`"):
        check.need("links")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["up", 0], "1 to 250 hosts"),
        (["up", 2, "--rate", "fast"], "'fast' is no rate; write a rate as 1gbit"),
        (["up", 2, "--delay", "30"], "'30' is no time"),
        (["up", 2, "--jitter", "30"], "'30' is no time"),
        (["up", 2, "--mtu", "900"], "--mtu 900: links carry packets of 1280 to 9216 bytes"),
        (["up", 2, "--dilate", "0.5"], "--dilate 0.5"),
        (["link", "h1", "slow"], "takes a rate"),
        (["link", "h1", "cut", "5"], "takes no '5'"),
        (["exec", "h1", "true"], "there is no cluster"),
        (["down"], "there is no cluster"),
    ],
)
def test_mistakes_are_explained(lab, arguments, said):
    failed = lab(*arguments, status=1)
    assert said in failed.stderr
    assert "Traceback" not in failed.stderr


def test_every_command_has_an_example(capsys):
    def shown(*arguments: str) -> str:
        with pytest.raises(SystemExit):
            parser().parse_args([*arguments, "--help"])
        return capsys.readouterr().out

    everything = shown()
    for name in WORK:
        assert f"\n    {name} " in everything
        assert f"\n  lab/cluster {name}" in shown(name)
