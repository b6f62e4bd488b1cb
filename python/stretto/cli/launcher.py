# SPDX-License-Identifier: BSD-3-Clause
"""Starts the ranks of a job on this host and sees them to their end."""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

from stretto.cli.lines import LinePrinter

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Options:
    ranks: int
    prefix: bool = True  # "[3] " before each line, and stdout and stderr through this process
    pin: bool = False  # rank r on core r mod cores
    grace: float = 5.0  # seconds between asking a rank to end and ending it


def launch(command: Sequence[str], options: Options) -> int:
    """Runs the command once for each rank; the exit status for the shell.

    That is 0 if all ranks ended with 0, else that of the rank that failed first (128 + signal if a
    signal ended it, or if one ended this job).  A rank that fails ends the job.
    """
    return _Job(command, options).run()


class _Job:
    def __init__(self, command: Sequence[str], options: Options):
        self._command = list(command)
        self._options = options
        self._processes: list[subprocess.Popen[bytes]] = []
        self._alive: set[int] = set()
        self._printer = LinePrinter(options.ranks)
        self._selector = selectors.DefaultSelector()
        self._status: int | None = None  # decided by the first failure or a signal
        self._kill_at: float | None = None

    def run(self) -> int:
        woken, waker = os.pipe()
        os.set_blocking(woken, False)
        os.set_blocking(waker, False)
        old = {number: signal.signal(number, _ignore) for number in (*FORWARDED, signal.SIGCHLD)}
        old_waker = signal.set_wakeup_fd(waker)
        self._selector.register(woken, selectors.EVENT_READ, None)
        try:
            if self._start():
                while self._alive:
                    self._step(woken)
            self._drain()
        finally:
            if self._status or self._alive:
                # Also what ranks that have ended left behind.
                for rank in range(len(self._processes)):
                    self._signal(rank, signal.SIGKILL)
            for rank in self._alive:
                self._processes[rank].wait()
            signal.set_wakeup_fd(old_waker)
            for number, handler in old.items():
                signal.signal(number, handler)
            os.close(woken)
            os.close(waker)
        return self._status or 0

    def _start(self) -> bool:
        """False if the program cannot be started."""
        job = secrets.token_hex(8)
        cores = sorted(os.sched_getaffinity(0))
        for rank in range(self._options.ranks):
            pipe = subprocess.PIPE if self._options.prefix else None
            core = cores[rank % len(cores)] if self._options.pin else None
            try:
                process = subprocess.Popen(
                    self._command,
                    stdin=None if rank == 0 else subprocess.DEVNULL,
                    stdout=pipe,
                    stderr=pipe,
                    env=_environment(rank, self._options.ranks, job),
                    # Its own session: signals reach the rank with all its children, and a Ctrl-C
                    # reaches it once, through us.
                    start_new_session=True,
                    preexec_fn=_Preparation(core),
                )
            except OSError as error:
                _say(f"cannot start '{self._command[0]}': {error.strerror}")
                self._end(127 if isinstance(error, FileNotFoundError) else 126)
                return bool(self._alive)
            self._processes.append(process)
            self._alive.add(rank)
            for stream, target in ((process.stdout, sys.stdout), (process.stderr, sys.stderr)):
                if stream is not None:
                    os.set_blocking(stream.fileno(), False)
                    self._selector.register(stream, selectors.EVENT_READ, (rank, target))
        return True

    def _step(self, woken: int) -> None:
        wait = None if self._kill_at is None else max(0.0, self._kill_at - time.monotonic())
        for key, _ in self._selector.select(wait):
            if key.data is not None:
                self._read(key.fileobj, *key.data)
        for number in _read_signals(woken):
            if number in FORWARDED:
                self._forward(number)
        self._reap()
        if self._kill_at is not None and time.monotonic() >= self._kill_at:
            self._kill_at = None
            for rank in self._alive:
                self._signal(rank, signal.SIGKILL)

    def _read(self, stream: BinaryIO, rank: int, target: object) -> bool:
        """Passes on what there is; False at the end of the stream, or when there is nothing."""
        try:
            data = os.read(stream.fileno(), 1 << 16)
        except BlockingIOError:
            return False
        if data:
            self._printer.feed(rank, target, data)
        else:
            self._printer.finish(rank, target)
            self._selector.unregister(stream)
            stream.close()
        return bool(data)

    def _reap(self) -> None:
        ended = {}
        for rank in sorted(self._alive):
            status = self._processes[rank].poll()
            if status is not None:
                ended[rank] = status
        self._alive -= ended.keys()
        # Of several that failed since we looked last, one that a signal ended is the likely cause:
        # the others fail because it is gone.
        failed = sorted((rank for rank in ended if ended[rank]), key=lambda rank: ended[rank] > 0)
        if failed and self._status is None:
            rank, status = failed[0], ended[failed[0]]
            if status < 0:
                _say(f"rank {rank} was ended by {_signal_name(-status)}")
            else:
                _say(f"rank {rank} exited with status {status}")
            self._end(128 - status if status < 0 else status)

    def _forward(self, number: int) -> None:
        again = self._status is not None
        if self._status is None:
            self._status = 128 + number
        for rank in self._alive:
            self._signal(rank, signal.SIGKILL if again else number)
        if not again:
            self._kill_at = time.monotonic() + self._options.grace

    def _end(self, status: int) -> None:
        self._status = status
        for rank in self._alive:
            self._signal(rank, signal.SIGTERM)
        self._kill_at = time.monotonic() + self._options.grace

    def _signal(self, rank: int, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has ended and will be reaped
            os.killpg(self._processes[rank].pid, number)

    def _drain(self) -> None:
        """What the ranks said last.  A grandchild that lives on may keep a stream open: no wait."""
        for key in list(self._selector.get_map().values()):
            if key.data is not None:
                while self._read(key.fileobj, *key.data):
                    pass
                self._printer.finish(*key.data)


class _Preparation:
    """What a rank does between fork and exec."""

    def __init__(self, core: int | None):
        self._core = core
        self._prctl = ctypes.CDLL(None).prctl

    def __call__(self) -> None:
        self._prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # no rank outlives a launcher that was killed
        if self._core is not None:
            os.sched_setaffinity(0, {self._core})


def _environment(rank: int, ranks: int, job: str) -> dict[str, str]:
    return {
        "PYTHONUNBUFFERED": "1",  # a rank's lines appear when they are printed
        **os.environ,
        "STRETTO_RANK": str(rank),
        "STRETTO_SIZE": str(ranks),
        "STRETTO_LOCAL_RANK": str(rank),
        "STRETTO_LOCAL_SIZE": str(ranks),
        "STRETTO_JOB": job,
    }


def _ignore(*_: object) -> None:
    """Signals are read from the wake-up pipe."""


def _read_signals(pipe: int) -> bytes:
    try:
        return os.read(pipe, 4096)
    except BlockingIOError:
        return b""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _say(message: str) -> None:
    print(f"stretto run: {message}", file=sys.stderr, flush=True)
