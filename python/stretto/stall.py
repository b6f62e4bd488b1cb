# SPDX-License-Identifier: BSD-3-Clause
"""The stall callback: reports a rank that does not come, long before the call times out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stretto.errors import ArgumentError


class Stall(NamedTuple):
    """A call in which this rank waits much longer than in earlier similar calls."""

    text: str
    """The whole report in a sentence."""
    collective: str
    """With its arguments: "allreduce(8192 x float32, sum)"."""
    call: int
    """Its number, as in errors."""
    rank: int
    """This rank."""
    ranks: tuple[int, ...]
    """Ranks that have not come; if all have come, ranks that make no progress."""
    all_came: bool
    """No rank is missing."""
    lowest: bool
    """This is the lowest rank that waits on this host, so that one rank can log it."""
    waited_seconds: float
    """Since this rank made progress last."""
    longest_seconds: float
    """The longest earlier wait in similar calls."""


class StallCallback:
    """The part of a communicator that waits for late ranks; `_core` is the communicator's."""

    _core: Any

    def set_stall_callback(
        self, callback: Callable[[Stall], None] | None, factor: float = 10.0, floor: float = 1.0
    ) -> None:
        """Sets a callback for each collective in which this rank waits too long.

        Too long is longer than `factor` times the longest wait of earlier similar calls, plus
        `floor` seconds.  The thread that waits calls it with a `Stall`, once for each call.  The
        call goes on and ends as it would have; STRETTO_TIMEOUT still holds.  The callback may take
        any time, but this rank makes no progress meanwhile.  It may use only `rank` and `size` of
        this communicator.  An exception that it raises goes to `sys.unraisablehook`.  It replaces
        the line on standard error that STRETTO_STALL_WARNING asks for.  None: no callback.  Local.
        Raises ArgumentError for a factor below 0 or a floor that is not above 0, and while another
        thread is in a call.  docs/arrivals.md.
        """
        if callback is None:
            self._core.set_stall_callback(None, factor, floor)
            return
        if not callable(callback):
            raise ArgumentError(f"the callback for stalls is called, and {callback!r} cannot be")
        self._core.set_stall_callback(lambda *fields: callback(Stall(*fields)), factor, floor)
