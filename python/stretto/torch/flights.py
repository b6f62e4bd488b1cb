# SPDX-License-Identifier: BSD-3-Clause
"""Calls in the order of a stream, for which no thread waits.

A thread looks after them: when a call has ended, it lets go of what the call has kept, and when the
time of a call is over, it ends the call with an error.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from stretto.errors import Error, TruncatedError

_PERIOD_SECONDS = 0.5  # between two looks
_LAST_WAIT_SECONDS = 1e-3  # for a call whose time is over


class Flight:
    """A call in flight.

    group: the process group whose call it is.  deadline: when its time is over, by
    `time.monotonic`.  kept: what stays in memory until the call and `end` are over.
    end: the event behind all that the call gives to its stream; None: it gives nothing that
    needs `kept`.
    """

    def __init__(self, group: Any, request: Any, deadline: float, kept: Any):
        self.group, self.deadline = group, deadline
        self.end: Any = None
        self.error: BaseException | None = None
        self._request, self._kept = request, kept
        self._lock = threading.Lock()  # one thread at a time asks the request

    def ended(self) -> bool:
        """Whether the call is over, well or not.  Does not wait."""
        if self._request is not None and self._lock.acquire(blocking=False):
            try:
                self._ask(lambda request: request.test())
            finally:
                self._lock.release()
        if self._request is not None or not self._end_has_come():
            return False
        self._kept = None
        return True

    def _end_has_come(self) -> bool:
        try:
            return self.end is None or self.end.query()
        except RuntimeError as error:  # of the device, which does nothing any more
            self.error = self.error or error
            return True

    def failed(self) -> bool:
        self.ended()
        return self.error is not None

    def raise_error(self) -> None:
        """Raises the error of the call if it has failed by now."""
        if self.failed() and self.error is not None:
            raise self.error

    def wait(self, limit: float) -> None:
        """Waits on the host; if the call takes longer, it fails.  Raises its error."""
        with self._lock:
            self._ask(lambda request: request.wait(limit) is None)
        self.raise_error()
        if self.end is not None:
            self.end.synchronize()

    def wait_in(self, stream: int) -> None:
        """Lets a stream wait for the call, unless it is over."""
        with self._lock:
            if self._request is not None:
                self._request.wait_in(stream)

    def expire(self) -> None:
        """Ends the call with an error if its time is over."""
        if time.monotonic() >= self.deadline and self._lock.acquire(blocking=False):
            try:
                self._ask(lambda request: request.wait(_LAST_WAIT_SECONDS) is None)
            finally:
                self._lock.release()

    def _ask(self, ask: Callable[[Any], bool]) -> None:
        if self._request is None:
            return
        try:
            over = ask(self._request)
        except Exception as error:
            self.error, over = error, True
            # Of a receive alone, and no caller may hear of it.
            if isinstance(error, TruncatedError):
                with contextlib.suppress(Error):
                    self.group.communicator.abort(str(error))
        if over:
            self._request = None


class _Watch:
    """The thread, which lives from the first such call on."""

    def __init__(self) -> None:
        self._flights: list[Flight] = []
        self._changed = threading.Condition()  # guards the list
        self._looking = threading.Lock()  # while the thread is inside calls
        self._over = False
        self._thread = threading.Thread(target=self._run, name="stretto-watch", daemon=True)
        self._thread.start()
        atexit.register(self._stop)

    def add(self, flight: Flight) -> None:
        with self._changed:
            # Calls that have ended let go of their memory, for the next ones.
            while self._flights and self._flights[0].ended():
                del self._flights[0]
            self._flights.append(flight)
            if len(self._flights) == 1:
                self._changed.notify()

    def forget(self, group: Any) -> None:
        with self._looking, self._changed:
            self._flights = [each for each in self._flights if each.group is not group]

    def _run(self) -> None:
        while self._await_flights():
            with self._looking:
                self._look()

    def _look(self) -> None:
        with self._changed:
            flights = list(self._flights)
        for flight in flights:
            if not flight.ended():
                flight.expire()
        with self._changed:
            self._flights = [each for each in self._flights if not each.ended()]

    def _await_flights(self) -> bool:
        """Waits until it is time to look at some; False: the process ends."""
        with self._changed:
            while not self._flights and not self._over:
                self._changed.wait()
            if not self._over:
                first = min(flight.deadline for flight in self._flights)
                pause = min(_PERIOD_SECONDS, first - time.monotonic())
                self._changed.wait(max(pause, _LAST_WAIT_SECONDS))
            return not self._over

    def _stop(self) -> None:
        with self._changed:
            self._over = True
            self._changed.notify()
        self._thread.join()


_watch: _Watch | None = None


def watch(flight: Flight) -> None:
    """Looks after a call that has begun."""
    global _watch
    if _watch is None:
        _watch = _Watch()
    _watch.add(flight)


def forget(group: Any) -> None:
    """Looks after no call of the group any more, and is in none of its calls from now on."""
    if _watch is not None:
        _watch.forget(group)


def _in_child() -> None:
    global _watch
    _watch = None  # its thread is the parent's


os.register_at_fork(after_in_child=_in_child)
