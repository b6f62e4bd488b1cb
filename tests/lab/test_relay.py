# SPDX-License-Identifier: BSD-3-Clause
"""Latency for programs that know nothing of it."""

from __future__ import annotations

import hashlib
import json
import sys

import pytest
from conftest import Lab

DELAY_MS = 20

ECHO = """
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.bind(("::", 7005))
print("ready", flush=True)
while True:
    data, peer = s.recvfrom(2048)
    s.sendto(data, peer)
"""
ROUND_TRIP = """
import socket, sys, time
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
s = socket.socket(family, socket.SOCK_DGRAM)
s.connect((sys.argv[1], 7005))
s.settimeout(20)
for _ in range(5):
    start = time.monotonic()
    s.send(b"?")
    s.recv(64)
    print(1e3 * (time.monotonic() - start))
"""


@pytest.fixture(scope="module")
def pair(make_lab) -> Lab:
    lab = make_lab(2, "--rate", "400mbit", "--delay", f"{DELAY_MS / 10:g}ms", "--dilate", 10)
    echo = lab.serve(2, ECHO)
    yield lab
    echo.terminate()
    echo.communicate(timeout=60)


def test_rate_and_delay_are_dilated_together(pair):
    facts = pair.facts()
    assert (facts["rate"], facts["delay_ns"]) == (40_000_000, DELAY_MS * 1_000_000)


@pytest.mark.parametrize("address", ["10.83.0.2", "fd53:7472:6574:746f::2"])
def test_nothing_arrives_before_its_time(pair, address):
    trips = [float(each) for each in pair.python(1, ROUND_TRIP, address).split()]
    assert len(trips) == 5
    assert min(trips) >= 2 * DELAY_MS
    assert min(trips) < 4 * DELAY_MS  # each way once, not more


def test_order_is_kept(pair):
    code = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("h2", 7005))
s.settimeout(20)
for i in range(60): s.send(bytes(i % 97) + i.to_bytes(4, "big"))
got = [s.recv(2048) for _ in range(60)]
print(got == [bytes(i % 97) + i.to_bytes(4, "big") for i in range(60)])
"""
    assert pair.python(1, code) == "True\n"


def test_long_segments_arrive_whole(pair):
    """Through the offload headers of both devices, whose checksums others compute."""
    count = 2_000_000
    sink = pair.serve(
        2,
        "import hashlib, socket\ns = socket.create_server(('', 7006))\nprint('ready', flush=True)\n"
        "c, _ = s.accept(); print(hashlib.sha256(c.makefile('rb').read()).hexdigest())",
    )
    pair.python(
        1,
        "import socket, sys\nc = socket.create_connection(('h2', 7006), 60)\n"
        "c.sendall(bytes(i * i % 251 for i in range(int(sys.argv[1]))))",
        count,
    )
    expected = hashlib.sha256(bytes(i * i % 251 for i in range(count))).hexdigest()
    assert sink.communicate(timeout=60)[0].strip() == expected
    relays = [host["relay"] for host in pair.facts()["hosts"]]
    assert relays[0]["bytes"] > count > relays[1]["bytes"]
    assert relays[0]["dropped"] == 0


def test_links_can_be_cut_behind_the_relay(pair):
    pair("link", "h2", "cut")
    code = ROUND_TRIP.replace("settimeout(20)", "settimeout(0.3)")
    failed = pair("exec", "h1", sys.executable, "-c", code, "10.83.0.2", status=1)
    assert "TimeoutError" in failed.stderr
    pair("link", "h2", "restore")
    assert len(pair.python(1, ROUND_TRIP, "10.83.0.2").split()) == 5


def test_what_is_over_the_bound_is_dropped(make_lab):
    lab = make_lab(2, "--rate", "2mbit", "--delay", "1s")
    # More than the relay's bound, sent as fast as the kernel takes it past a link that is opened.
    lab("link", "h1", "slow", "1gbit")
    code = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(3000): s.sendto(bytes(1400), ("h2", 7005))
"""
    lab.python(1, code)
    relay = lab.facts()["hosts"][0]["relay"]
    assert relay["dropped"] > 0


LISTEN = """
import json, socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 7007))
s.settimeout(60)
print("ready", flush=True)
print(json.dumps([json.loads(s.recv(64)) for _ in range(int(sys.argv[1]))]))
"""
SPEAK = """
import json, socket, sys
flows, messages = int(sys.argv[1]), int(sys.argv[2])
sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(flows)]
for message in range(messages):
    for flow, s in enumerate(sockets):
        s.sendto(json.dumps([flow, message]).encode(), ("h2", 7007))
"""


@pytest.fixture(scope="module")
def jittered(make_lab) -> Lab:
    return make_lab(2, "--rate", "1gbit", "--jitter", "20ms", "--seed", 7, "--mtu", 9000)


def test_flows_overtake_one_another_and_keep_their_own_order(jittered):
    flows, messages = 16, 12
    listener = jittered.serve(2, LISTEN, flows * messages)
    jittered.python(1, SPEAK, flows, messages)
    got = json.loads(listener.communicate(timeout=60)[0])
    assert got != sorted(got, key=lambda each: each[1])  # as they were sent
    for flow in range(flows):
        assert [message for of, message in got if of == flow] == list(range(messages))


def test_a_stream_through_jitter_is_whole_and_nothing_is_dropped(jittered):
    sink = jittered.serve(
        2,
        "import hashlib, socket\ns = socket.create_server(('', 7006))\n"
        "print('ready', flush=True)\n"
        "c, _ = s.accept(); print(hashlib.sha256(c.makefile('rb').read()).hexdigest())",
    )
    text = "bytes(i * i % 251 for i in range(700_000))"
    jittered.python(
        1,
        f"import socket\nc = socket.create_connection(('h2', 7006), 60)\nc.sendall({text})",
    )
    expected = hashlib.sha256(bytes(i * i % 251 for i in range(700_000))).hexdigest()
    assert sink.communicate(timeout=60)[0].strip() == expected
    assert [host["relay"]["dropped"] for host in jittered.facts()["hosts"]] == [0, 0]


def test_links_carry_long_packets_whole(jittered):
    """The longest that fits, not to be split, and one byte more, which nothing carries."""
    code = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER: IP_PMTUDISC_DO
s.connect(("h2", 7007))
s.send(bytes(9000 - 28))
try:
    s.send(bytes(9001 - 28))
except OSError as error:
    print(error.strerror)
"""
    listener = jittered.serve(2, LISTEN.replace("json.loads(s.recv(64))", "len(s.recv(9999))"), 1)
    assert jittered.python(1, code) == "Message too long\n"
    assert json.loads(listener.communicate(timeout=60)[0]) == [8972]
