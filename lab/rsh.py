# SPDX-License-Identifier: BSD-3-Clause
"""How a program in one host starts a program in another: what `ssh` is on a real cluster.

A process of the cluster, the agent, listens on a socket that every host has as /run/lab/rsh.
`lab/rsh HOST COMMAND` gives it its own standard streams, so nothing passes through the agent; it
answers with the exit status.  For `mpirun`, whose launchers take such a command's name.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import sys
from collections.abc import Sequence
from typing import NoReturn

import kernel
import names
import processes
from state import Cluster

INSIDE = "/run/lab/rsh"
LONGEST = 1 << 22  # of a request: command and environment
STATUS = struct.Struct("i")


def start(cluster: Cluster, inits: list[int]) -> None:
    """Starts the agent, a child of the keeper."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(cluster.folder / "inside/rsh"))
    listener.listen(128)
    if os.fork() == 0:
        kernel.name_process("lab-agent")
        _serve(listener, cluster.size, inits)
    listener.close()


def _serve(listener: socket.socket, size: int, inits: list[int]) -> NoReturn:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no process waits for the threads that answer
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                listener.close()
                connection.send(STATUS.pack(_answer(connection, size, inits)))
            finally:
                os._exit(0)
        connection.close()


def _answer(connection: socket.socket, size: int, inits: list[int]) -> int:
    length, streams = _receive_streams(connection)
    data = b""
    while len(data) < length:
        part = connection.recv(length - len(data))
        if not part:
            return 255
        data += part
    request = json.loads(data)
    host = _host(request["host"], size)
    if host is None:
        os.write(streams[2], f"lab/rsh: there is no host {request['host']}\n".encode())
        return 255
    process = processes.spawn(
        inits[host - 1],
        request["command"],
        request["folder"],
        request["environment"],
        stdin=streams[0],
        stdout=streams[1],
        stderr=streams[2],
        start_new_session=True,
    )
    for stream in streams:
        os.close(stream)
    ended = os.pidfd_open(process.pid)
    readable, _, _ = select.select([ended, connection], [], [])
    if ended not in readable:  # the asking process has ended
        os.killpg(process.pid, signal.SIGHUP)
    status = process.wait()
    return 128 - status if status < 0 else status


def _receive_streams(connection: socket.socket) -> tuple[int, list[int]]:
    data, streams, _, _ = socket.recv_fds(connection, STATUS.size, 3)
    length = STATUS.unpack(data)[0]
    if not 0 < length <= LONGEST or len(streams) != 3:
        raise OSError("no request of ours")
    return length, streams


def _host(text: str, size: int) -> int | None:
    for host in range(1, size + 1):
        if text in (names.hostname(host), names.ipv4(host), names.ipv6(host)):
            return host
    return None


def call(host: str, command: Sequence[str]) -> int:
    """Runs the command in another host, from a host; its exit status."""
    request = {
        "host": host,
        "command": list(command),
        "folder": os.getcwd(),
        "environment": dict(os.environ),
    }
    data = json.dumps(request).encode()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(INSIDE)
        except (FileNotFoundError, ConnectionRefusedError):
            print("lab/rsh: works inside of a host: lab/cluster exec h1 ...", file=sys.stderr)
            return 255
        socket.send_fds(connection, [STATUS.pack(len(data))], [0, 1, 2])
        connection.sendall(data)
        answer = connection.recv(STATUS.size, socket.MSG_WAITALL)
    return STATUS.unpack(answer)[0] if len(answer) == STATUS.size else 255
