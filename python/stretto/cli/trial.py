# SPDX-License-Identifier: BSD-3-Clause
"""Whether jobs can run here: a job of two ranks, which are threads of this process, tries it."""

from __future__ import annotations

import ctypes
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

import stretto

PATIENCE = "10"  # seconds within which the two ranks must join
FAR = 10.0  # nanoseconds a line, from which on two cores share no cache (docs/performance.md)
COUNT = 100_000


class Check(NamedTuple):
    name: str
    ok: bool
    needed: bool
    """Without it no job runs; else it is only slower."""
    found: str
    """What there is, or why it does not work."""
    remedy: str | None


def checks(cores: list[int]) -> list[Check]:
    """In the order in which a job needs them; it ends at the first without which there is none."""
    trial = _Trial(cores)
    steps = (
        ("join", trial.join, "a sandbox or container must allow this: Unix sockets, memfd_create"),
        ("collective", trial.collective, "please report it with the output of `stretto info`"),
        ("shared buffers", trial.shared, "allow more address space (ulimit -v)"),
        ("memory probe", trial.probe, None),
    )
    done: list[Check] = []
    with _patience():
        try:
            for name, step, remedy in steps:
                try:
                    done.append(Check(name, True, True, step(), None))
                except stretto.Error as error:
                    done.append(Check(name, False, True, str(error), _remedy(error, remedy)))
                    break
        finally:
            trial.end()
    return [*done, _barrier(), _attach()]


def _remedy(error: stretto.Error, otherwise: str | None) -> str | None:
    """An error that says what to do does so behind a semicolon."""
    return str(error).partition("; ")[2] or otherwise


def _barrier() -> Check:
    if stretto.examine().asymmetric_barrier:
        return Check(
            "membarrier", True, False, "the kernel has it: publishing costs no fence", None
        )
    return Check(
        "membarrier", False, False, "not to be had: every message costs a fence",
        "Linux 4.16, and a sandbox that allows membarrier(2)",
    )  # fmt: skip


def ucx() -> Check:
    """What ranks on this host say of UCX when they agree on a transport."""
    why, _, remedy = stretto.examine().ucx.partition("; ")
    if not why:
        return Check("devices", True, False, "used if the ranks of all hosts can", None)
    return Check("devices", False, False, why, remedy or None)


# Run by another process: reads the bytes at an address of a process; prints them, or the error.
READER = """
import ctypes, os, sys
process, address, size = map(int, sys.argv[1:])
class Part(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t)]
into = ctypes.create_string_buffer(size)
here, there = Part(ctypes.addressof(into), size), Part(address, size)
read = ctypes.CDLL(None, use_errno=True).process_vm_readv
read.restype = ctypes.c_ssize_t
done = read(process, ctypes.byref(here), ctypes.c_ulong(1), ctypes.byref(there), ctypes.c_ulong(1),
            ctypes.c_ulong(0))
print(into.raw.hex() if done == size else os.strerror(ctypes.get_errno()))
"""


def _attach() -> Check:
    """Security modules may let a process read its children, but not the other way round."""
    word = ctypes.create_string_buffer(secrets.token_bytes(16), 16)
    arguments = [os.getpid(), ctypes.addressof(word), len(word)]
    done = subprocess.run(
        [sys.executable, "-c", READER, *map(str, arguments)], capture_output=True, text=True
    )
    found = done.stdout.strip() or done.stderr.strip()
    if found == word.raw.hex():
        return Check(
            "attach", True, False,
            "a process can read the memory of another (process_vm_readv)", None,
        )  # fmt: skip
    return Check(
        "attach", False, False, f"long vectors are copied twice: {found}",
        "kernel.yama.ptrace_scope=0; in a container, the capability SYS_PTRACE",
    )  # fmt: skip


@contextmanager
def _patience() -> Iterator[None]:
    """Both ranks are here, so no rank needs to wait long.  Malformed settings stay as they are."""
    ours = ("STRETTO_INIT_TIMEOUT", "STRETTO_TIMEOUT")
    good = [each.name for each in stretto.settings() if each.name in ours and not each.error]
    before = {name: os.environ.get(name) for name in good}
    os.environ.update(dict.fromkeys(good, PATIENCE))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class _Trial:
    """Each step returns its finding, or raises an error of Stretto."""

    def __init__(self, cores: list[int]):
        self._cores = cores
        self._threads = [ThreadPoolExecutor(1) for _ in range(2)]  # each rank its own
        self._comms: list[stretto.Communicator] = []

    def _both(self, step: Callable[[int], Any]) -> list[Any]:
        waiting = [each.submit(step, rank) for rank, each in enumerate(self._threads)]
        errors = [error for each in waiting if (error := each.exception())]
        # Rank 0's own error first: rank 1's may only say that rank 0 failed.
        if errors:
            raise errors[0]
        return [each.result() for each in waiting]

    def join(self) -> str:
        job = f"info-{secrets.token_hex(8)}"
        self._comms = self._both(lambda rank: stretto.init(rank, 2, job))
        for comm in self._comms:
            comm.force_algorithm(None)  # one that was asked for may not run on two ranks
        ring = next(s.value for s in self._comms[0].settings() if s.name == "STRETTO_RING_BYTES")
        return f"two ranks met over a socket and mapped a segment with rings of {ring}"

    def collective(self) -> str:
        def step(rank: int) -> bool:
            mine = np.arange(rank, rank + COUNT)
            return bool((self._comms[rank].allreduce(mine) == 2 * np.arange(COUNT) + 1).all())

        if not all(self._both(step)):
            raise stretto.InternalError(f"an allreduce of {COUNT} numbers gave wrong ones")
        return f"an allreduce of {COUNT:,} numbers was right"

    def shared(self) -> str:
        self._both(lambda rank: self._comms[rank].alloc(COUNT, np.int64).fill(rank))
        return "memory that ranks read in place can be had"

    def probe(self) -> str:
        if len(self._cores) < 2:
            return "not measured: it takes two cores"
        pairs = dict.fromkeys([(self._cores[0], self._cores[1]), (self._cores[0], self._cores[-1])])
        return "; ".join(self._line_of(pair) for pair in pairs)

    def _line_of(self, pair: tuple[int, int]) -> str:
        def step(rank: int) -> float:
            before = os.sched_getaffinity(0)
            os.sched_setaffinity(0, {pair[rank]})  # this thread's
            try:
                return self._comms[rank].probe_memory()
            finally:
                os.sched_setaffinity(0, before)

        line = self._both(step)[0]
        state = "near" if line < FAR else "far"
        return f"cores {pair[0]} and {pair[1]} are {state}: {line:.1f} ns a line"

    def end(self) -> None:
        if self._comms:
            self._both(lambda rank: self._comms[rank].finalize())
        for each in self._threads:
            each.shutdown()
