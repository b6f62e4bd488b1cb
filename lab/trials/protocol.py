# SPDX-License-Identifier: BSD-3-Clause
"""The opening of a connection, as src/net/handshake.hpp describes it, written once more.

That a stranger with a wrong secret is refused means little unless the same code is let in with the
right one.
"""

from __future__ import annotations

import hashlib
import os
import socket
import struct

GREETING = struct.Struct("<8sHBxHxxIIQ32s")
CHALLENGE = struct.Struct("<8s32s")
VERDICT = struct.Struct("<BxHIQ32s")
PROOF = 32
HEAD = VERDICT.size - PROOF
VERSION = 1
RENDEZVOUS, DATA, CONTROL = 1, 2, 3
WELCOME, SECRET, OTHER_VERSION, RANK = 1, 2, 3, 4


def job_key(secret: str, address: str, instance: int = 0) -> bytes:
    root = _hash(b"", b"stretto secret", secret.encode())
    return _hash(root, b"stretto job", address.encode(), struct.pack("<Q", instance))


def greeting(kind: int, sender: int, receiver: int, epoch: int = 0) -> bytes:
    return GREETING.pack(b"stretto1", VERSION, kind, 0, sender, receiver, epoch, os.urandom(32))


def open_connection(connection: socket.socket, key: bytes, hello: bytes) -> int | None:
    """The listener's verdict, if it proves that it has this key, or is that our key is wrong; None
    if it closed the connection, or does not have the key."""
    connection.sendall(hello)
    challenge = receive(connection, CHALLENGE.size)
    connection.sendall(_hash(key, b"stretto initiator proves", hello, challenge, b""))
    answer = receive(connection, VERDICT.size)
    if len(answer) < VERDICT.size:
        return None
    proof = _hash(key, b"stretto responder proves", hello, challenge, answer[:HEAD])
    return answer[0] if answer[0] == SECRET or answer[HEAD:] == proof else None


def receive(connection: socket.socket, count: int) -> bytes:
    """This many bytes, or fewer if the stream ends before."""
    data = b""
    while len(data) < count:
        try:
            part = connection.recv(count - len(data))
        except ConnectionResetError:
            part = b""
        if not part:
            break
        data += part
    return data


def _hash(key: bytes, *parts: bytes) -> bytes:
    hashed = hashlib.blake2b(digest_size=32, key=key)
    for part in parts:  # with their lengths, so that no two lists look the same
        hashed.update(struct.pack("<Q", len(part)) + part)
    return hashed.digest()
