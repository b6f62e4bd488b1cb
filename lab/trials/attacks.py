# SPDX-License-Identifier: BSD-3-Clause
"""Attacks of strangers on a port of a job.  None of them knows its secret."""

from __future__ import annotations

import random
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

import kernel

from . import protocol
from .capture import Recording

PATIENCE = 20.0  # seconds for an answer: ranks accept only while they make communicators
CROWD = 1000
SOME = 20


@dataclass(frozen=True)
class Target:
    """A port of a rank."""

    rank: int
    address: str
    port: int
    kind: int  # of the connections that it accepts
    ranks: int


@dataclass
class Tally:
    """How connections ended."""

    made: int = 0
    refused: int = 0  # closed by the rank
    unanswered: int = 0  # still open when the job ended
    accepted: int = 0
    held: list[socket.socket] = field(default_factory=list)


class Stranger:
    """A host without a rank of the job, and its knowledge."""

    def __init__(self, init: int, chance: random.Random):
        self._init = init
        self.chance = chance
        self.recorded: list[Recording] = []

    def connect(self, target: Target) -> socket.socket:
        with kernel.inside_network(self._init):
            connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        connection.settimeout(PATIENCE)
        connection.connect((target.address, target.port))
        return connection


Attempt = Callable[[Stranger, Target, socket.socket], bool]  # whether it was accepted
Attack = Callable[[Stranger, Target, Tally], None]


def _repeated(attempt: Attempt) -> Attack:
    def attack(stranger: Stranger, target: Target, tally: Tally) -> None:
        for _ in range(SOME):
            with stranger.connect(target) as connection:
                tally.made += 1
                try:
                    accepted = attempt(stranger, target, connection)
                except socket.timeout:
                    tally.unanswered += 1
                except (BrokenPipeError, ConnectionResetError):
                    tally.refused += 1
                else:
                    tally.accepted += accepted
                    tally.refused += not accepted

    return attack


def _welcome(verdict: bytes) -> bool:
    """A peer without the secret learns only that it is refused, or nothing."""
    return bool(verdict) and verdict[0] != protocol.SECRET


def _says(text: Callable[[Stranger, Target], bytes]) -> Attack:
    """Sends this at once, and waits for the answer: at most a challenge and a verdict."""

    def attempt(stranger: Stranger, target: Target, connection: socket.socket) -> bool:
        connection.sendall(text(stranger, target))
        most = protocol.CHALLENGE.size + protocol.VERDICT.size
        answer = protocol.receive(connection, most + 1)
        return _welcome(answer[protocol.CHALLENGE.size :]) or len(answer) > most

    return _repeated(attempt)


def _garbage(stranger: Stranger, _: Target) -> bytes:
    return stranger.chance.randbytes(stranger.chance.randint(64, 4096))


def _another_service(stranger: Stranger, _: Target) -> bytes:
    return stranger.chance.choice(
        [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"SSH-2.0-OpenSSH_9.2\r\n"]
    )


def _greeting(stranger: Stranger, target: Target) -> bytes:
    sender = stranger.chance.randrange(target.ranks)
    return protocol.greeting(target.kind, sender, target.rank)


def _oversized(stranger: Stranger, target: Target) -> bytes:
    """Lengths beyond all bounds, before a greeting or in place of a proof."""
    length = struct.pack("<IIQQQ", 1, 0, stranger.chance.choice([2**63, 2**64 - 1, 2**40]), 0, 0)
    begin = stranger.chance.choice([b"", _greeting(stranger, target)])
    return begin + length + bytes(1 << 16)


def _wrong_secret(stranger: Stranger, target: Target, connection: socket.socket) -> bool:
    key = stranger.chance.randbytes(32)
    verdict = protocol.open_connection(connection, key, _greeting(stranger, target))
    return verdict not in (None, protocol.SECRET)


def _proves(
    stranger: Stranger,
    target: Target,
    connection: socket.socket,
    hello: bytes,
    proof: Callable[[bytes], bytes],
) -> bool:
    connection.sendall(hello)
    challenge = protocol.receive(connection, protocol.CHALLENGE.size)
    connection.sendall(proof(challenge))
    return _welcome(protocol.receive(connection, protocol.VERDICT.size))


def _replay(stranger: Stranger, target: Target, tally: Tally) -> None:
    """Sends again the bytes that ranks of this job have sent to this port."""
    said = [each.sent for each in stranger.recorded if each.port == target.port]
    opening = protocol.GREETING.size + protocol.PROOF
    openings = [each for each in said if len(each) >= opening]

    def attempt(stranger: Stranger, target: Target, connection: socket.socket) -> bool:
        words = stranger.chance.choice(openings)
        hello, rest = words[: protocol.GREETING.size], words[protocol.GREETING.size :]
        return _proves(stranger, target, connection, hello, lambda _: rest)

    if openings:
        _repeated(attempt)(stranger, target, tally)


def _reflection(stranger: Stranger, target: Target, connection: socket.socket) -> bool:
    """Sends the listener's own challenge back as a proof."""
    hello = _greeting(stranger, target)
    return _proves(
        stranger, target, connection, hello, lambda challenge: challenge[-protocol.PROOF :]
    )


def _half_open(stranger: Stranger, target: Target, tally: Tally) -> None:
    """Connections that begin a handshake and then send nothing."""
    for _ in range(SOME):
        connection = stranger.connect(target)
        tally.made += 1
        connection.sendall(_greeting(stranger, target)[: stranger.chance.randint(1, 63)])
        tally.held.append(connection)


def _crowd(stranger: Stranger, target: Target, tally: Tally) -> None:
    for _ in range(CROWD):
        tally.made += 1
        tally.held.append(stranger.connect(target))


ATTACKS: dict[str, Attack] = {
    "garbage": _says(_garbage),
    "another service's words": _says(_another_service),
    "oversized lengths": _says(_oversized),
    "a wrong secret": _repeated(_wrong_secret),
    "a recorded handshake again": _replay,
    "its own words back": _repeated(_reflection),
    "half-open connections": _half_open,
    "a thousand held open": _crowd,
}


def let_go(tally: Tally) -> None:
    """The state of connections that were held open: none of them has received anything."""
    for connection in tally.held:
        connection.setblocking(False)
        try:
            answer = connection.recv(1)
            tally.accepted += answer != b""
            tally.refused += answer == b""
        except BlockingIOError:
            tally.unanswered += 1
        except ConnectionResetError:
            tally.refused += 1
        connection.close()
    tally.held.clear()
