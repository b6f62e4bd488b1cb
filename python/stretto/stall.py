# SPDX-License-Identifier: BSD-3-Clause
"""Hearing of a rank that does not come, long before a call is given up for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stretto.errors import ArgumentError


class Stall(NamedTuple):
    """A call in which this rank waits for longer than earlier calls explain."""

    text: str
    """All of it in a sentence."""
    collective: str
    """With its arguments: "allreduce(8192 x float32, sum)"."""
    call: int
    """Its number, as errors tell it."""
    rank: int
    """This one."""
    ranks: tuple[int, ...]
    """That have not come; if all have, those that get nothing done, if any."""
    all_came: bool
    """No rank is missing."""
    lowest: bool
    """No lower rank waits on this host: to tell of it once."""
    waited_seconds: float
    """Since this rank got anything done last."""
    longest_seconds: float
    """The longest such wait before, in calls of the same kind."""


class StallCallback:
    """The part of a communicator that waits for late ranks; `_core` is the communicator's."""

    _core: Any

    def set_stall_callback(
        self, callback: Callable[[Stall], None] | None, factor: float = 10.0, floor: float = 1.0
    ) -> None:
        """From now on `callback` hears of each collective in which this rank waits too long.

        That is longer than `factor` times the longest wait in earlier calls of the same kind, and
        `floor` seconds on top.  It is called once for a call, by the thread that waits, with a
        `Stall`; the call goes on, and ends as if nothing had been said (STRETTO_TIMEOUT is what
        ends it).  It may take as long as it likes, but meanwhile this rank gets nothing done, and
        it may not use this communicator but for `rank` and `size`.  What it raises goes to
        `sys.unraisablehook`.  It takes the place of the line on standard error that
        STRETTO_STALL_WARNING asks for; None: no callback.  Local.  Raises ArgumentError for a
        factor below 0 or a floor that is not above 0, and while another thread is inside.
        docs/arrivals.md.
        """
        if callback is None:
            self._core.set_stall_callback(None, factor, floor)
            return
        if not callable(callback):
            raise ArgumentError(f"the callback for stalls is called, and {callback!r} cannot be")
        self._core.set_stall_callback(lambda *told: callback(Stall(*told)), factor, floor)
