# SPDX-License-Identifier: BSD-3-Clause
"""The calls of this process as its flight recorder keeps them, if TORCH_FR_BUFFER_SIZE says so."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stretto.errors import ArgumentError, Error, UnsupportedError
from stretto.messages import ANY_SOURCE
from stretto.torch.flight_dump import DumpTogether
from stretto.torch.flight_recorder import Entry, FlightRecorder, Group
from stretto.torch.observed import Call, ObservedRequest, Observer


class Recorded(Observer):
    """A core communicator whose calls a recorder keeps."""

    def __init__(self, core: Any, recorder: FlightRecorder, group: Group):
        super().__init__(core)
        self._recorder, self._group = recorder, group
        recorder.add_group(group)

    def run(self, call: Call, act: Callable[[], None]) -> None:
        entry = self._recorder.add(self._group, call)
        self._watched(entry, act)
        entry.ended_ns = time.time_ns()

    def begin(self, call: Call, act: Callable[[], Any]) -> Any:
        entry = self._recorder.add(self._group, call)
        request = self._watched(entry, act)
        return _Request(request, self._recorder, entry, call.peer == ANY_SOURCE)

    def _watched(self, entry: Entry, act: Callable[[], Any]) -> Any:
        try:
            return act()
        except Error as error:
            refused = isinstance(error, (ArgumentError, UnsupportedError))
            (self._recorder.withdraw if refused else self._recorder.fail)(entry)
            raise


class _Request(ObservedRequest):
    def __init__(self, request: Any, recorder: FlightRecorder, entry: Entry, from_anybody: bool):
        super().__init__(request)
        self._recorder, self._entry, self._from_anybody = recorder, entry, from_anybody

    def wait(self, limit: float | None = None) -> None:
        try:
            self._request.wait(limit)
        except Error:
            self._recorder.fail(self._entry)
            raise
        self._note_end()

    def test(self) -> bool:
        try:
            done = self._request.test()
        except Error:
            self._recorder.fail(self._entry)
            raise
        if done:
            self._note_end()
        return done

    def _note_end(self) -> None:
        if self._entry.ended_ns is not None:
            return
        self._entry.ended_ns = time.time_ns()
        if self._from_anybody:
            source, tag, *_ = self._request.message()
            self._recorder.found_source(self._entry, source, tag)


_recorder: FlightRecorder | None = None


def recorded(core: Any, options: Any) -> Any:
    """The core communicator of a new group, recorded if TORCH_FR_BUFFER_SIZE asks for it.

    options: PyTorch's `_DistributedBackendOptions`.
    """
    global _recorder
    size = _number(("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE"), 0)
    if size <= 0:
        return core
    of_default_group = not options.global_ranks_in_group
    if _recorder is None or of_default_group:  # another job of this process begins anew
        _recorder = FlightRecorder(size)
    ranks = list(options.global_ranks_in_group or range(options.group_size))
    timeout_ms = int(options.timeout.total_seconds() * 1000)
    group = Group(options.group_id, ranks, options.group_rank, timeout_ms)
    observer = Recorded(core, _recorder, group)
    if of_default_group and _number(("TORCH_NCCL_DUMP_ON_TIMEOUT",), 1):
        together = DumpTogether(options.store, observer, dump_flight_record)
        _recorder.on_error = together.dump
    return observer


def dump_flight_record(path: str | os.PathLike[str] | None = None) -> str:
    """Writes the last calls of this rank for `torchfrtrace`; returns the file's name.

    path: the file; `torchfrtrace` wants those of all ranks in one folder, with names that are alike
    but for the rank at their end.  None: TORCH_FR_DUMP_TEMP_FILE, or else
    TORCH_NCCL_DEBUG_INFO_TEMP_FILE, followed by the rank; by default
    ~/.cache/torch/comm_lib_trace_rank_RANK, as with NCCL.

    Raises UnsupportedError if nothing is recorded, and OSError.
    """
    if _recorder is None:
        raise UnsupportedError(
            "no calls are recorded: set TORCH_FR_BUFFER_SIZE to the number of calls to keep, such "
            "as 2000, before init_process_group"
        )
    if path is None:
        first = _recorder.groups[0]
        path = f"{_prefix()}{first.ranks[first.rank]}"
    _recorder.dump(path)
    return os.fspath(path)


def _prefix() -> str:
    for name in ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"):
        if os.environ.get(name):
            return os.environ[name]
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return f"{cache}/torch/comm_lib_trace_rank_"


def _number(names: tuple[str, ...], fallback: int) -> int:
    """Of the first of these variables that is set; as with PyTorch, words stand for 0 and 1."""
    words = {"true": 1, "yes": 1, "y": 1, "on": 1, "false": 0, "no": 0, "n": 0, "off": 0}
    for name in names:
        text = os.environ.get(name, "").lower()
        if text in words:
            return words[text]
        if text.lstrip("-").isdecimal():
            return int(text)
        if text:
            raise ArgumentError(f"{name}={text}: a whole number is wanted, such as 2000, or 0")
    return fallback
