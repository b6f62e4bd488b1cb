# SPDX-License-Identifier: BSD-3-Clause
"""Requests, which run while the program does something else; and IN_PLACE."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stretto import _core


class InPlace:
    """The type of IN_PLACE."""

    def __repr__(self) -> str:
        return "stretto.IN_PLACE"


IN_PLACE = InPlace()
"""Pass as `send` to say that the contribution lies in `recv`."""


class Request:
    """A collective in flight.  It keeps its arrays alive; do not touch them until it ends."""

    def __init__(self, core: _core.Request, result: np.ndarray | None):
        self._core = core
        self._result = result

    def wait(self, timeout: float | None = None) -> np.ndarray | None:
        """Waits for the end, and returns the result of the blocking call.

        timeout: as in blocking calls, from now on.  Raises the errors of the blocking call.
        """
        self._core.wait(timeout)
        return self._result

    def test(self) -> bool:
        """True if the collective has ended.  Does not wait.  Raises as `wait` does."""
        return self._core.test()


class PersistentRequest(Request):
    """A collective that is planned once and started as often as wanted."""

    def start(self) -> PersistentRequest:
        """Starts it again, with the present contents of the arrays.  Raises ArgumentError if it
        runs."""
        self._core.start()
        return self


class Message(NamedTuple):
    """What was, or can be, received."""

    source: int
    tag: int
    bytes: int
    """Of the message, be it longer than the array for it."""


class MessageRequest:
    """A message in flight.  It keeps its array alive; do not touch that until it ends.

    Any thread may wait for it, also while others are inside the communicator.
    """

    def __init__(self, core: _core.Request):
        self._core = core

    def wait(self, timeout: float | None = None) -> Message | None:
        """Waits for the end, and returns the received message, or None for a send.

        timeout: as of blocking calls, from now on.  Raises what the blocking call raises.
        """
        self._core.wait(timeout)
        return self.message

    def test(self) -> bool:
        """True if it has ended.  Does not wait.  Raises as `wait` does."""
        return self._core.test()

    @property
    def message(self) -> Message | None:
        """What was received; None before, and of a send."""
        message = self._core.message()
        return None if message is None else Message(*message)
