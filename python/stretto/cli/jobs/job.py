# SPDX-License-Identifier: BSD-3-Clause
"""Starts the ranks of a job, waits for them and ends them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import BinaryIO

from .lines import LinePrinter

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PR_SET_PDEATHSIG = 1


class Job:
    """Ranks 0 to len(names) - 1.  If one fails, the others are ended, unless `keep_going`."""

    def __init__(
        self,
        launcher: str,  # as messages name it
        names: Sequence[str],  # of the ranks, in messages
        # Starts a rank; the second argument is for Popen's stdout and stderr.  The rank has a
        # session of its own: signals reach it with all its children, and a Ctrl-C reaches it once,
        # from here.
        start: Callable[[int, int | None], subprocess.Popen[bytes]],
        labels: Sequence[str] | None = None,  # before each line; None: output goes where ours goes
        grace: float = 5.0,  # seconds between asking a rank to end and ending it
        keep_going: bool = False,
    ):
        self._launcher = launcher
        self._names = names
        self._start_rank = start
        self._piped = labels is not None
        self._grace = grace
        self._keep_going = keep_going
        self._processes: list[subprocess.Popen[bytes]] = []
        self._alive: set[int] = set()
        self._printer = LinePrinter(labels or [])
        self._selector = selectors.DefaultSelector()
        self._status: int | None = None  # decided by the first failure or a signal
        self._ending = False
        self._kill_at: float | None = None

    def run(self) -> int:
        """Runs the job to its end; returns the exit status for the shell.

        That is 0 if all ranks ended with 0; else the status of the rank that failed first, which is
        128 + the signal's number if a signal ended that rank or this job.
        """
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
                # Also processes that ended ranks have left behind.
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
        for rank in range(len(self._names)):
            try:
                process = self._start_rank(rank, subprocess.PIPE if self._piped else None)
            except OSError as error:
                self._say(f"cannot start '{error.filename or 'the program'}': {error.strerror}")
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
        """Passes on the available bytes; False at the end of the stream, or if there are none."""
        try:
            data = os.read(stream.fileno(), 1 << 16)
        except BlockingIOError:
            return False
        if data:
            # As a program alone that prints for a reader that is gone (`| head`).
            if not self._printer.feed(rank, target, data) and target is sys.stdout:
                self._end_unread()
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
        # If several ranks have failed since the last look, one that a signal ended is the likely
        # cause: the others fail because it is gone.
        for rank in sorted(
            (each for each in ended if ended[each]), key=lambda each: ended[each] > 0
        ):
            if self._ending:
                break
            status = ended[rank]
            if status < 0:
                self._say(f"{self._names[rank]} was ended by {_signal_name(-status)}")
            else:
                self._say(f"{self._names[rank]} exited with status {status}")
            status = 128 - status if status < 0 else status
            if self._keep_going:
                self._status = self._status or status
            else:
                self._end(status)

    def _forward(self, number: int) -> None:
        again = self._ending
        self._status = self._status or 128 + number
        self._ending = True
        for rank in self._alive:
            self._signal(rank, signal.SIGKILL if again else number)
        if not again:
            self._kill_at = time.monotonic() + self._grace

    def _end(self, status: int) -> None:
        self._status = status
        self._ending = True
        for rank in self._alive:
            self._signal(rank, signal.SIGTERM)
        self._kill_at = time.monotonic() + self._grace

    def _end_unread(self) -> None:
        if not self._ending:
            self._end(128 + signal.SIGPIPE)

    def _signal(self, rank: int, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has ended and will be reaped
            os.killpg(self._processes[rank].pid, number)

    def _drain(self) -> None:
        """Prints the last output.  Does not wait: a live grandchild may keep a stream open."""
        for key in list(self._selector.get_map().values()):
            if key.data is not None:
                while self._read(key.fileobj, *key.data):
                    pass
                self._printer.finish(*key.data)

    def _say(self, message: str) -> None:
        print(f"{self._launcher}: {message}", file=sys.stderr, flush=True)


_prctl = ctypes.CDLL(None).prctl


def forward_death() -> None:
    """Between fork and exec of a rank: no rank outlives a launcher that was killed."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


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
