# SPDX-License-Identifier: BSD-3-Clause
"""Errors: a class for each status of the C API.

The message says what happened, where (rank, peer, collective) and what to do about it.
"""

from __future__ import annotations

import builtins


class Error(RuntimeError):
    """Any failure of Stretto."""


class ArgumentError(Error, ValueError):
    """A wrong argument; nothing was sent."""


class MismatchError(Error):
    """Ranks called different collectives."""


class PeerError(Error):
    """A rank died or left."""


class TimeoutError(Error, builtins.TimeoutError):
    """A rank did not come within STRETTO_TIMEOUT (or STRETTO_INIT_TIMEOUT) seconds."""


class UnsupportedError(Error):
    """Valid, but not available here; nothing was sent."""


class OutOfMemoryError(Error, MemoryError):
    """No memory, or no room for the shared segment."""


class SystemError(Error):
    """The operating system refused something."""


class RevokedError(Error):
    """The communicator failed in an earlier call and takes no more."""


class InternalError(Error):
    """A bug in Stretto."""


class TruncatedError(Error):
    """A message is longer than the array for it, whose end is reached."""


class OperationError(Error):
    """An operation of the program's own failed, here or on another rank."""


class ExcludedError(Error):
    """Others go on without this rank, or may: `Communicator.shrink`."""


class InterruptedError(Error, builtins.InterruptedError):
    """Another rank was interrupted, as by Ctrl-C."""


class AbortedError(Error):
    """A rank has called `Communicator.abort`; the message has its reason."""


BY_STATUS: dict[int, type[Error]] = dict(
    enumerate(
        (
            ArgumentError,
            MismatchError,
            PeerError,
            TimeoutError,
            UnsupportedError,
            OutOfMemoryError,
            SystemError,
            RevokedError,
            InternalError,
            TruncatedError,
            OperationError,
            ExcludedError,
            InterruptedError,
            AbortedError,
        ),
        start=1,
    )
)
