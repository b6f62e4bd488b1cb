# SPDX-License-Identifier: BSD-3-Clause
"""The end of the process: other ranks hear that it is in order.

Imported with the package, so functions that a program registers by `atexit` are called before, and
may use its communicators.
"""

from __future__ import annotations

import atexit
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stretto.communicator import Communicator

communicators: weakref.WeakSet[Communicator] = weakref.WeakSet()
"""Those that are open."""


@atexit.register
def _leave() -> None:
    """Reports to the other ranks that this one ends in order."""
    for communicator in list(communicators):
        communicator._core.exit()
