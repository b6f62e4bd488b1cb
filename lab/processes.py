# SPDX-License-Identifier: BSD-3-Clause
"""Processes in hosts: starting them, and stopping or ending all of a host at once."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import kernel
from errors import LabError

WITHOUT_FOLDER = 126
PATIENCE = 10.0  # seconds until a killed process must have ended


def spawn(
    init: int,
    command: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    prepare: Callable[[], None] | None = None,
    **options: object,
) -> subprocess.Popen[bytes]:
    """Starts a command in the host whose process 1 is `init`; a child of ours all the same."""

    def enter() -> None:
        kernel.enter(init, "net", "uts", "ipc", "mnt")
        try:
            os.chdir(folder)
        except OSError as error:
            said = f"lab/cluster: the host has no folder {folder}: {error.strerror}; a host's"
            os.write(2, f"{said} /run, /dev/shm and /proc are its own\n".encode())
            os._exit(WITHOUT_FOLDER)
        if prepare is not None:
            prepare()

    with kernel.children_in(init):
        return subprocess.Popen(
            list(command),
            env=dict(environment),
            preexec_fn=enter,
            **options,  # type: ignore[call-overload]
        )


def signal_all(init: int, number: int) -> None:
    """To every process of the host but its process 1, in one step of the kernel: none escapes by
    forking, and none runs on while others have stopped."""
    with kernel.children_in(init):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                with contextlib.suppress(ProcessLookupError):  # there is none
                    os.kill(-1, number)
                status = 0
            finally:
                os._exit(status)
    _, status = os.waitpid(child, 0)
    if status:
        raise OSError(f"cannot signal the processes of the host (status {status})")


def of_host(init: int) -> list[int]:
    """Its processes, as they are called out here; not its process 1."""
    namespace = os.readlink(f"/proc/{init}/ns/pid")
    return [pid for pid in _all() if pid != init and _namespace(pid) == namespace]


def end_marked(inits: Sequence[int], variable: str, value: str) -> None:
    """Ends the processes of these hosts that have the variable in their environment."""
    mark = f"{variable}={value}".encode()
    namespaces = {_namespace(init) for init in inits} - {None}
    deadline = time.monotonic() + PATIENCE
    while True:
        # Processes that were forked meanwhile are found the next time.
        found = [
            pid for pid in _all() if _namespace(pid) in namespaces and mark in _environment(pid)
        ]
        if not found:
            return
        if time.monotonic() > deadline:
            raise LabError(f"processes {found} do not end although they were killed")
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _all() -> Iterator[int]:
    return (int(each) for each in os.listdir("/proc") if each.isdigit())


def _namespace(pid: int) -> str | None:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:  # it has ended, or is about to
        return None


def _environment(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []
