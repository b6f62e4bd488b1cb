# SPDX-License-Identifier: BSD-3-Clause
"""`lab/cluster probe`: measures the links of a cluster.

Latency is the round trip of a small UDP message between two hosts.  Payload rate is what TCP
carries: every host sends to the next at the same time, so each link is full both ways.  The
programs that run in the hosts are in this file as well.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import names
import processes
from errors import LabError
from state import Cluster

PORT = 9000
WARM = 5  # round trips that do not count
LOST = 3.0  # seconds after which an answer is missing
CHUNK = 1 << 20
SETTLE = 0.5  # seconds after the start that do not count: TCP still finds its rate
TIMEOUT = 30.0


def measure(cluster: Cluster, seconds: float) -> dict[str, object]:
    hosts = list(range(1, cluster.size + 1))
    if len(hosts) < 2:
        raise LabError("a cluster of one host has nothing to measure")
    sent, round_trips = _round_trips(cluster, hosts[0], hosts[1], seconds)
    if not round_trips:
        raise LabError(f"none of {sent} messages from h1 to h2 was answered; is a link cut?")
    rates = _rates(cluster, hosts, seconds)
    return {
        "round_trips": len(round_trips),
        "sent": sent,
        "round_trip_us": {
            "least": min(round_trips),
            "median": statistics.median(round_trips),
            "p99": sorted(round_trips)[int(len(round_trips) * 0.99)],
            "most": max(round_trips),
        },
        "payload_bits_per_second": rates,
        "total_bits_per_second": sum(rates),
    }


def _round_trips(cluster: Cluster, one: int, other: int, seconds: float) -> tuple[int, list[float]]:
    """How many messages were sent, and the round trips in microseconds."""
    with _program(cluster, other, "echo", other) as echo:
        _line(echo)
        with _program(cluster, one, "ping", other, seconds) as ping:
            sent, found = json.loads(_line(ping))
            return sent, found


def _rates(cluster: Cluster, hosts: list[int], seconds: float) -> list[float]:
    with contextlib.ExitStack() as stack:
        sinks = [stack.enter_context(_program(cluster, host, "sink", host)) for host in hosts]
        for sink in sinks:
            _line(sink)
        for host, following in zip(hosts, hosts[1:] + hosts[:1]):
            stack.enter_context(_program(cluster, host, "flood", following, seconds + SETTLE))
        return [json.loads(_line(sink)) for sink in sinks]


@contextlib.contextmanager
def _program(cluster: Cluster, host: int, name: str, target: int, *arguments: object):
    address = names.ipv6(target) if cluster.ipv6 else names.ipv4(target)
    process = processes.spawn(
        cluster.host(host),
        [sys.executable, str(Path(__file__).resolve()), name, address, *map(str, arguments)],
        "/",
        os.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _line(process: subprocess.Popen[bytes]) -> bytes:
    line = process.stdout.readline()
    if not line:
        raise LabError("a program of the probe ended before it had an answer (see above)")
    return line


# ---- in the hosts


def _socket(address: str, kind: int) -> socket.socket:
    made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind)
    made.settimeout(TIMEOUT)
    return made


def echo(address: str) -> None:
    with _socket(address, socket.SOCK_DGRAM) as here:
        here.settimeout(None)
        here.bind((address, PORT))
        print("ready", flush=True)
        while True:
            data, sender = here.recvfrom(64)
            here.sendto(data, sender)


def ping(address: str, seconds: str) -> None:
    sent, found = 0, []
    with _socket(address, socket.SOCK_DGRAM) as here:
        here.settimeout(LOST)
        here.connect((address, PORT))
        end = time.monotonic() + float(seconds)
        while time.monotonic() < end or sent <= WARM:
            question = sent.to_bytes(8, "big")
            start = time.perf_counter()
            here.send(question)
            sent += 1
            with contextlib.suppress(socket.timeout):
                while here.recv(64) != question:
                    pass  # the answer to one that we gave up
                found.append((time.perf_counter() - start) * 1e6)
    print(json.dumps([sent, found[WARM:] or found]), flush=True)


def sink(address: str) -> None:
    buffer = bytearray(CHUNK)
    with _socket(address, socket.SOCK_STREAM) as listener:
        listener.bind((address, PORT))
        listener.listen()
        print("ready", flush=True)
        connection, _ = listener.accept()
        with connection:
            start = time.monotonic()
            counted, since, last = 0, None, start
            while True:
                got = connection.recv_into(buffer)
                now = time.monotonic()
                if not got:
                    break
                if since is not None:
                    counted += got
                    last = now
                elif now - start >= SETTLE:
                    since = now
    elapsed = last - since if since is not None else 0.0
    print(counted * 8 / elapsed if elapsed > 0 else 0.0, flush=True)


def flood(address: str, seconds: str) -> None:
    data = bytes(CHUNK)
    with _socket(address, socket.SOCK_STREAM) as here:
        here.connect((address, PORT))
        timer = threading.Timer(float(seconds), lambda: here.shutdown(socket.SHUT_WR))
        timer.start()
        with contextlib.suppress(BrokenPipeError):
            while True:
                here.sendall(data)


if __name__ == "__main__":
    try:
        {"echo": echo, "ping": ping, "sink": sink, "flood": flood}[sys.argv[1]](*sys.argv[2:])
    except OSError as error:
        sys.exit(f"{socket.gethostname()} {' '.join(sys.argv[1:3])}: {error}; is a link cut?")
