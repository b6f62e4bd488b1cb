# SPDX-License-Identifier: BSD-3-Clause
"""System calls that Python has no name for before 3.12."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import subprocess
from collections.abc import Iterator

from errors import LabError

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_BIND = 1 << 12
MS_MOVE = 1 << 13
MS_REC = 1 << 14
MS_PRIVATE = 1 << 18

PR_SET_NAME = 15

_libc = ctypes.CDLL(None, use_errno=True)


def _call(what: str, result: int) -> None:
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    _call("unshare", _libc.unshare(flags))


def setns(descriptor: int, kind: int) -> None:
    _call("setns", _libc.setns(descriptor, kind))


def mount(source: str, target: str, kind: str | None, flags: int = 0, options: str = "") -> None:
    result = _libc.mount(
        source.encode(),
        target.encode(),
        kind.encode() if kind else None,
        ctypes.c_ulong(flags),
        options.encode() if options else None,
    )
    _call(f"mounting {kind or source} at {target}", result)


def name_process(name: str) -> None:
    """What ps and top show; the kernel keeps 15 characters."""
    _call("prctl", _libc.prctl(PR_SET_NAME, name.encode()[:15]))


def started_at(pid: int) -> int | None:
    """When the process was started, in ticks since boot: with its id, this names it for good."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def enter(pid: int, *kinds: str) -> None:
    """Enters namespaces of a process: 'net', 'uts', 'ipc', 'mnt', or 'pid' for children to come."""
    descriptors = [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in kinds]
    for descriptor in descriptors:
        setns(descriptor, 0)
        os.close(descriptor)


@contextlib.contextmanager
def children_in(pid_namespace_of: int) -> Iterator[None]:
    """Processes forked within are born in the process-id namespace of that process."""
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        enter(pid_namespace_of, "pid")
        yield
    finally:
        setns(own, CLONE_NEWPID)
        os.close(own)


@contextlib.contextmanager
def inside_network(of: int) -> Iterator[None]:
    """Sockets made within are in the network of that process, and stay there."""
    own = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        enter(of, "net")
        yield
    finally:
        setns(own, CLONE_NEWNET)
        os.close(own)


def tool(arguments: list[str], lines: list[str] | None = None, inside: int | None = None) -> str:
    """Runs `ip` or `tc`, in the network of the process `inside`, with lines for its -batch."""
    done = subprocess.run(
        [*arguments, "-batch", "-"] if lines is not None else arguments,
        input=None if lines is None else "\n".join(lines) + "\n",
        stdin=subprocess.DEVNULL if lines is None else None,
        capture_output=True,
        text=True,
        preexec_fn=None if inside is None else lambda: enter(inside, "net"),
        check=False,
    )
    if done.returncode != 0:
        said = done.stderr.strip() or f"exit status {done.returncode}"
        line = re.search(r"-:(\d+)", said)  # of the batch, as ip and tc name it
        failed = [*arguments, lines[int(line[1]) - 1]] if line and lines else arguments
        raise LabError(f"`{' '.join(failed)}` failed: {said.splitlines()[0]}")
    return done.stdout
