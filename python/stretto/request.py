# SPDX-License-Identifier: BSD-3-Clause
"""Requests, which run while the program does something else; and IN_PLACE."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from stretto import _core
from stretto.errors import ArgumentError, Error, TimeoutError
from stretto.streams import AnyStream, handle_of


class InPlace:
    """The type of IN_PLACE."""

    def __repr__(self) -> str:
        return "stretto.IN_PLACE"


IN_PLACE = InPlace()
"""Pass as `send` to say that the contribution lies in `recv`."""


class InFlight:
    """What runs while the program does something else.  Any thread may wait for it."""

    def __init__(self, core: _core.Request):
        self._core = core
        self._used = threading.Lock()  # by a thread that waits, tests or registers
        self._error: Error | None = None  # with which it has ended
        self._lock = threading.Lock()  # guards all below
        self._run = 0  # how often it was started again
        self._callbacks: list[Callable[[Any], object]] = []
        self._registered = False  # _call_back is called when it ends
        self._called_back = False

    def add_done_callback(self, function: Callable[[Any], object]) -> None:
        """Calls `function(request)` once, when the request has ended; at once if it has already.

        As in `concurrent.futures`: functions are called in the order in which they were added, by a
        thread of Stretto's own or by one that waits for this request, and what they raise is
        logged.  The request makes progress though no thread waits for it; `wait`, which does not
        wait any more, gives the function the result or raises the error.
        """
        with self._lock:
            late = self._called_back
            if not late:
                self._callbacks.append(function)
        if late:
            self._call(function)
        else:
            self._register()

    def test(self) -> bool:
        """True if it has ended.  Does not wait.  Raises as `wait` does."""
        if not self._used.acquire(blocking=False):
            return False  # another thread waits for it, or tests it
        try:
            ended = self._noting_error(self._core.test)
        finally:
            self._used.release()
        self._call_back(self._run) if ended else self._register()
        return ended

    def wait_in(self, stream: AnyStream) -> None:
        """Lets a CUDA stream wait for the end: what it is given from now on begins then.

        Any number of streams may wait; the request is still to be waited for or dropped.  While
        another thread waits for the request, this waits, too.  Raises UnsupportedError without a
        CUDA driver that can do it (11.7), and if the stream is being captured into a graph.
        """
        number = handle_of(stream)
        if number is None:
            raise ArgumentError("a stream is wanted")
        with self._used:
            if self._error is None:
                self._core.wait_in(number)
        self._register()

    def _wait(self, timeout: float | None) -> None:
        if not self._used.acquire(timeout=-1 if timeout is None else timeout):
            raise TimeoutError(f"another thread waits for this request, after {timeout} s still")
        try:
            self._noting_error(lambda: self._core.wait(timeout) is None)
        finally:
            self._used.release()
            self._call_back(self._run)

    def _noting_error(self, body: Callable[[], bool]) -> bool:
        if self._error is not None:
            raise self._error
        try:
            return body()
        except Error as error:
            self._error = error
            raise

    # If another thread uses the request, that thread registers, or calls back.
    def _register(self) -> None:
        if not self._callbacks or not self._used.acquire(blocking=False):
            return
        try:
            if not self._registered:
                self._registered = self._core.notify(partial(self._call_back, self._run))
        finally:
            self._used.release()

    def _call_back(self, run: int) -> None:
        with self._lock:
            if run != self._run:
                return  # an earlier one, which was waited for
            self._called_back = True
            callbacks, self._callbacks = self._callbacks, []
        for function in callbacks:
            self._call(function)

    def _call(self, function: Callable[[Any], object]) -> None:
        try:
            function(self)
        except Exception:
            logging.getLogger("stretto").exception("a function of add_done_callback has raised")


class Request(InFlight):
    """A collective in flight.  It keeps its arrays alive; do not touch them until it ends."""

    def __init__(self, core: _core.Request, result: np.ndarray | None):
        super().__init__(core)
        self._result = result

    def wait(self, timeout: float | None = None) -> np.ndarray | None:
        """Waits for the end, and returns the result of the blocking call.

        timeout: as in blocking calls, from now on.  Raises the errors of the blocking call.
        """
        self._wait(timeout)
        return self._result


class PersistentRequest(Request):
    """A collective that is planned once and started as often as wanted."""

    def start(self) -> PersistentRequest:
        """Starts it again, with the present contents of the arrays.  Raises ArgumentError if it
        runs."""
        self._core.start()
        with self._lock:
            self._run += 1
            self._error = None
            self._registered = self._called_back = False
        self._register()
        return self


class Message(NamedTuple):
    """What was, or can be, received."""

    source: int
    tag: int
    bytes: int
    """Of the message, be it longer than the array for it."""


class MessageRequest(InFlight):
    """A message in flight.  It keeps its array alive; do not touch that until it ends."""

    def wait(self, timeout: float | None = None) -> Message | None:
        """Waits for the end, and returns the received message, or None for a send.

        timeout: as of blocking calls, from now on.  Raises what the blocking call raises.
        """
        self._wait(timeout)
        return self.message

    @property
    def message(self) -> Message | None:
        """What was received; None before, and of a send."""
        message = self._core.message()
        return None if message is None else Message(*message)
