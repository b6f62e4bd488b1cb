# SPDX-License-Identifier: BSD-3-Clause
"""How all ranks write their flight records when a call of one has failed.

`torchfrtrace` compares the records of all ranks, also of a rank that is stuck between two calls,
and so hears of no error.  The rank whose call failed says so through PyTorch's store, at which a
thread of each rank looks now and then.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

_WANTED, _WRITTEN = "stretto/flight_record/wanted", "stretto/flight_record/written"


class DumpTogether:
    """Of the default group, as long as its communicator `core` is not finalized.

    write: writes this rank's record.
    """

    def __init__(self, store: Any, core: Any, write: Callable[[], Any]):
        self._store = store.clone()  # PyTorch's own may be waiting for a key
        self._core, self._size, self._write = weakref.ref(core), core.size, write
        self._every = _milliseconds("TORCH_NCCL_COORD_CHECK_MILSEC", 1000)
        self._lock = threading.Lock()
        self._written = False
        threading.Thread(target=self._look, name="stretto-flight-dump", daemon=True).start()

    def dump(self) -> None:
        """Writes the record of a rank whose call has failed, and asks the others for theirs."""
        if not self._write_once():
            return
        try:
            self._store.set(_WANTED, "1")
        except RuntimeError:  # the store is gone: others find out by their own calls
            return
        # The process may keep the store; so it stays until the others have looked.
        atexit.register(self._wait_for_others)

    def _write_once(self) -> bool:
        with self._lock:
            if self._written:
                return False
            self._written = True
            try:
                self._write()
            except OSError as error:  # no reason to hide the error of the call
                warnings.warn(f"the flight record was not written: {error}", stacklevel=2)
        with suppress(RuntimeError):
            self._store.add(_WRITTEN, 1)
        return True

    def _look(self) -> None:
        while not self._written:
            time.sleep(self._every)
            core = self._core()
            if core is None or core.finalized:
                return
            del core
            try:
                wanted = self._store.check([_WANTED])
            except RuntimeError:  # the job ends
                return
            if wanted:
                self._write_once()

    def _wait_for_others(self) -> None:
        limit = _milliseconds("TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", 15_000)
        deadline = time.monotonic() + min(limit, 5 * self._every)
        with suppress(RuntimeError):
            while time.monotonic() < deadline and self._store.add(_WRITTEN, 0) < self._size:
                time.sleep(self._every / 20)


def _milliseconds(name: str, fallback: int) -> float:
    """The setting in seconds."""
    return int(os.environ.get(name) or fallback) / 1000
