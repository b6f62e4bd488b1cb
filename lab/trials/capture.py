# SPDX-License-Identifier: BSD-3-Clause
"""Records the packets to a host, as any machine on its network could."""

from __future__ import annotations

import socket
from dataclasses import dataclass

import kernel
import names

ETHERNET, IPV4, TCP = 14, 0x0800, 6
ALL_PROTOCOLS = 0x0003
LONGEST = 1 << 17
KEPT = 256  # bytes of each connection: more than its opening


@dataclass
class Recording:
    """The first bytes that one side of a connection has sent."""

    port: int  # of the receiver
    sent: bytes


class Capture:
    """From now on, at the network card of the host whose process 1 is `init`."""

    def __init__(self, init: int) -> None:
        with kernel.inside_network(init):
            self._socket = socket.socket(
                socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS)
            )
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self._socket.bind((names.DEVICE, 0))
        self._socket.setblocking(False)

    def __enter__(self) -> Capture:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def recordings(self, host: int) -> list[Recording]:
        """The first bytes of all connections to the host until now."""
        address = socket.inet_aton(names.ipv4(host))
        found: dict[tuple[bytes, bytes], Recording] = {}
        while True:
            try:
                frame = self._socket.recv(LONGEST)
            except BlockingIOError:
                break
            packet = frame[ETHERNET:]
            if int.from_bytes(frame[12:14], "big") != IPV4 or packet[9] != TCP:
                continue
            if packet[16:20] != address:
                continue
            segment = packet[4 * (packet[0] & 15) : int.from_bytes(packet[2:4], "big")]
            data = segment[4 * (segment[12] >> 4) :]
            port = int.from_bytes(segment[2:4], "big")
            recording = found.setdefault((packet[12:16], segment[:4]), Recording(port, b""))
            if len(recording.sent) < KEPT:
                recording.sent += data[: KEPT - len(recording.sent)]
        return [each for each in found.values() if each.sent]
