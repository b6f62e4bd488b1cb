# SPDX-License-Identifier: BSD-3-Clause
"""Links that are slow, cut or lossy, hosts that stop and end.

Where a link is as slow as it was told to be, a transfer takes at least so long.  That it takes
little longer is for `lab/cluster probe` to show, on a quiet machine.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import processes
import pytest
import state
from conftest import Lab

RATE = 16_000_000  # bits per second
BURST = 8 * 1024
SENT = 600_000  # bytes: 0.3 s of the link

SINK = """
import hashlib, socket, time
s = socket.create_server(("", 7002))
print("ready", flush=True)
c, _ = s.accept()
data, start = b"", time.monotonic()
while part := c.recv(1 << 20): data += part
print(time.monotonic() - start, hashlib.sha256(data).hexdigest())
"""
SEND = """
import socket, sys
c = socket.create_connection((sys.argv[1], 7002), 60)
c.sendall(bytes(i * i % 251 for i in range(int(sys.argv[2]))))
"""
ECHO = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 7003))
print("ready", flush=True)
while True:
    data, peer = s.recvfrom(64)
    s.sendto(data, peer)
"""
ASK = """
import socket, sys, time
found = []
for host in sys.argv[2:]:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect((host, 7003))
    s.settimeout(float(sys.argv[1]))
    s.send(b"?")
    try: s.recv(64); found.append(host)
    except TimeoutError: pass
print(*found)
"""


@pytest.fixture(scope="module")
def three(make_lab) -> Lab:
    """Each host answers, except to hosts that cannot reach it."""
    lab = make_lab(3, "--rate", f"{RATE}bit")
    servers = [lab.serve(host, ECHO) for host in (1, 2, 3)]
    yield lab
    for server in servers:
        server.terminate()
        server.communicate(timeout=60)


def reached(lab: Lab, host: int, patience: float = 0.2) -> str:
    """The others that answer; patience is what silence costs, and answers come at once."""
    hosts = [f"h{other}" for other in (1, 2, 3) if other != host]
    return lab.python(host, ASK, patience, *hosts).strip()


def transfer(lab: Lab, sender: int, receiver: int, count: int = SENT) -> float:
    """Seconds that this took; the bytes are right."""
    sink = lab.serve(receiver, SINK)
    lab.python(sender, SEND, f"h{receiver}", count)
    seconds, digest = sink.communicate(timeout=120)[0].split()
    expected = bytes(i * i % 251 for i in range(count))
    assert digest == hashlib.sha256(expected).hexdigest()
    return float(seconds)


def least_seconds(rate: int, count: int = SENT) -> float:
    """What may have passed before the clock started: a burst, and a burst in the other bucket."""
    return (count - 4 * BURST) * 8 / rate


@pytest.mark.parametrize(("sender", "receiver"), [(1, 2), (2, 1)])
def test_a_link_carries_its_rate(three, sender, receiver):
    assert transfer(three, sender, receiver) >= least_seconds(RATE)


@pytest.mark.parametrize(("sender", "receiver"), [(1, 2), (2, 1)])
def test_a_slowed_link_carries_less(three, sender, receiver):
    three("link", "h2", "slow", f"{RATE // 2}bit")
    assert three.facts()["hosts"][1]["rate"] == RATE // 2
    assert transfer(three, sender, receiver) >= least_seconds(RATE // 2)
    three("link", "h2", "restore")
    assert three.facts()["hosts"][1]["rate"] == RATE


def test_a_cut_link_is_silent_until_it_is_restored(three):
    assert reached(three, 1, 20) == "h2 h3"
    three("link", "h3", "cut")
    assert reached(three, 1) == "h2"
    assert reached(three, 3) == ""
    three("link", "h3", "restore")
    assert reached(three, 1, 20) == "h2 h3"


def test_a_link_is_cut_to_one_host_only(three):
    three("link", "h1", "cut", "--to", "h2")
    assert [reached(three, host) for host in (1, 2, 3)] == ["h3", "h3", "h1 h2"]
    three("link", "h1", "restore", "--to", "h2")
    assert reached(three, 1, 20) == "h2 h3"


def test_a_split_has_two_sides(three):
    three("split", "1-2", "3")
    assert [reached(three, host) for host in (1, 2, 3)] == ["h2", "h1", ""]
    assert three.facts()["hosts"][2]["loss"] == {"h1": 1.0, "h2": 1.0}
    assert "cut off" in three.status()
    three("heal")
    assert reached(three, 3, 20) == "h1 h2"
    assert "both sides" in three("split", "1-2", "2-3", status=1).stderr


def test_a_connection_outlives_a_short_cut(three):
    sink = three.serve(2, SINK)
    connected = SEND.replace("c.sendall", "print('ready', flush=True)\nc.sendall")
    sender = three.serve(1, connected, "h2", SENT)
    three("link", "h2", "cut")
    three("link", "h2", "restore")
    sender.communicate(timeout=60)
    digest = sink.communicate(timeout=60)[0].split()[1]
    assert digest == hashlib.sha256(bytes(i * i % 251 for i in range(SENT))).hexdigest()


def test_a_lossy_link_loses_about_its_share(three):
    code = """
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("h2", 7003))
s.settimeout(1)
found = 0
for _ in range(40):
    for _ in range(10): s.send(b"?")
    try:
        while True:
            s.settimeout(0.03)
            s.recv(64)
            found += 1
    except TimeoutError: pass
print(found)
"""
    three("link", "h2", "drop", 50)
    found = int(three.python(1, code))
    three("link", "h2", "restore")
    assert 40 < found < 180  # of 400, both ways: 100 are expected, with a deviation of 9


def test_what_is_lost_is_sent_again(three):
    three("link", "h2", "drop", "3")
    transfer(three, 1, 2)
    three("link", "h2", "restore")


def states(lab: Lab, host: int) -> list[str]:
    init = state.load(lab.name).hosts[host - 1].pid
    text = [Path(f"/proc/{pid}/stat").read_text() for pid in processes.of_host(init)]
    return [each.rpartition(")")[2].split()[0] for each in text]


def test_a_frozen_host_does_nothing_until_it_thaws(three):
    three("freeze", "h2")
    assert set(states(three, 2)) == {"T"}
    assert reached(three, 1) == "h3"
    assert "frozen" in three.status()
    assert "h2 is frozen; `lab/cluster thaw h2`" in three("run", "true", status=1).stderr
    three("thaw", "h2")
    assert "T" not in states(three, 2)
    assert reached(three, 1, 20) == "h2 h3"


LISTEN = """
import socket
s = socket.create_server(("", 7004))
print("ready", flush=True)
connections = []
while True: connections.append(s.accept())
"""
WAIT = """
import socket, sys
c = socket.create_connection((sys.argv[1], 7004), 20)
print("ready", flush=True)
c.settimeout(float(sys.argv[2]))
try: print("closed" if c.recv(1) == b"" else "data")
except ConnectionResetError: print("closed")
except TimeoutError: print("silent")
"""


@pytest.mark.parametrize(
    ("options", "patience", "heard"), [([], 20, "closed\n"), (["--power"], 0.3, "silent\n")]
)
def test_a_killed_host_ends_all_at_once(make_lab, options, patience, heard):
    lab = make_lab(2)
    listener = lab.serve(1, LISTEN)
    waiter = lab.serve(2, WAIT, "h1", patience)
    lab("kill", "h1", *options)
    assert listener.wait(timeout=60) == 128 + 9
    listener.communicate()
    assert states(lab, 1) == []
    assert waiter.communicate(timeout=60)[0] == heard
    lab("link", "h1", "restore")
    assert lab.python(1, "print('again')") == "again\n"  # it can be used for the next job
