# SPDX-License-Identifier: BSD-3-Clause
"""The last calls of this process, in the form that PyTorch's `torchfrtrace` reads.

The form is that of c10d/FlightRecorder.hpp, version 2.10.  Two things are told in a way that lets
the tool say what is so:

- It knows a fixed list of libraries, so calls are those of "gloo", the CPU's.
- It expects all ranks of a group at everything of that group.  So messages from one rank to another
  with one tag are shown as a group of these two, whose messages are numbered.
"""

from __future__ import annotations

import itertools
import os
import pickle
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

import stretto
from stretto.messages import ANY_SOURCE
from stretto.torch.observed import Call

_VERSION = "2.10"
_FRAMES = 32
_OURS = str(Path(__file__).parent) + os.sep


@dataclass
class Group:
    """A process group, as its ranks know it."""

    name: str
    ranks: list[int]
    """Of the job, by their rank in the group."""
    rank: int
    """This process's, in the group."""
    timeout_ms: int
    number: int = 0
    """Of the groups of this process."""
    description: str = ""
    """PyTorch's; it says it only when the group is complete."""
    collectives: int = 0
    operations: int = 0
    messages: dict[str, int] = field(default_factory=dict)
    """How many there were, by source, destination and tag."""

    def complete(self) -> None:
        if not self.description:
            groups = dist.distributed_c10d._world.pg_names.items()
            known = (group.group_desc for group, name in groups if name == self.name)
            self.description = next(known, "") or "undefined"


@dataclass
class Entry:
    """A call, in a form that keeps no tensor alive."""

    id: int
    group: Group
    group_name: str
    """That of the group, or of two ranks of it that exchange messages."""
    ranks: list[int]
    name: str
    number: int
    """Of the collectives of the group, or of the messages."""
    operation: int
    inputs: list[list[int]]
    outputs: list[list[int]]
    input_types: list[str]
    output_types: list[str]
    frames: list[tuple[Any, int]]
    is_message: bool
    thread: str
    created_ns: int
    ended_ns: int | None = None
    failed: bool = False
    withdrawn: bool = False
    """It was refused, and is no call."""

    def as_pytorch_writes(self) -> dict[str, Any]:
        about: dict[str, Any] = {
            "frames": [
                {"name": code.co_qualname if hasattr(code, "co_qualname") else code.co_name,
                 "filename": code.co_filename, "line": line}
                for code, line in self.frames
            ],
            "record_id": self.id,
            "pg_id": self.group.number,
            "process_group": (self.group_name, self.group.description),
            "thread_name": self.thread,
            "thread_id": self.thread,
            "collective_seq_id": self.number,
            "p2p_seq_id": self.number if self.is_message else 0,
            "op_id": self.operation,
            "profiling_name": f"gloo:{self.name}",
            "time_created_ns": self.created_ns,
            "input_sizes": self.inputs,
            "input_dtypes": self.input_types,
            "output_sizes": self.outputs,
            "output_dtypes": self.output_types,
            "state": "started" if self.ended_ns is None else "completed",
            "time_discovered_started_ns": self.created_ns,
            "time_discovered_completed_ns": self.ended_ns,
            "retired": self.ended_ns is not None or self.failed,
            "timeout_ms": self.group.timeout_ms,
            "is_p2p": self.is_message,
        }  # fmt: skip
        if self.ended_ns is not None:
            about["duration_ms"] = (self.ended_ns - self.created_ns) * 1e-6
        return about


class FlightRecorder:
    """Keeps the last calls of all groups of this process."""

    def __init__(self, entries: int):
        self._entries: deque[Entry] = deque(maxlen=entries)
        self._ids = itertools.count()
        self._lock = threading.Lock()  # of the counters: any thread sends messages
        self.groups: list[Group] = []
        self.on_error: Callable[[], None] | None = None
        """What happens when a call has failed."""

    def add_group(self, group: Group) -> None:
        group.number = len(self.groups)
        self.groups.append(group)

    def add(self, group: Group, call: Call) -> Entry:
        with self._lock:
            return self._add(group, call)

    def _add(self, group: Group, call: Call) -> Entry:
        group.complete()
        name, in_group, ranks = call.name, group.name, group.ranks
        if call.peer is None:
            group.collectives += 1
            number = group.collectives
        else:
            name, in_group, ranks = _as_group_of_two(group, call.name, call.peer, call.tag)
            number = _next(group.messages, in_group)
        group.operations += 1
        inputs, outputs = _sizes(call.inputs), _sizes(call.outputs)
        if call.counts:  # ranks have different numbers of elements; these all of them know
            inputs = outputs = [[count] for count in call.counts]
        entry = Entry(
            next(self._ids),
            group,
            in_group,
            ranks,
            name,
            number,
            group.operations,
            inputs,
            outputs,
            _types(call.inputs),
            _types(call.outputs),
            list(itertools.islice(_frames(), _FRAMES)),
            call.is_message,
            threading.current_thread().name,
            time.time_ns(),
        )
        self._entries.append(entry)
        return entry

    def withdraw(self, entry: Entry) -> None:
        """Of a call that was refused before anything was sent."""
        with self._lock:
            entry.withdrawn = True
            if entry.is_message:
                entry.group.messages[entry.group_name] -= 1
            else:
                entry.group.collectives -= 1

    def fail(self, entry: Entry) -> None:
        if entry.failed:
            return
        entry.failed = True
        if self.on_error is not None:
            self.on_error()

    def found_source(self, entry: Entry, source: int, tag: int) -> None:
        """Of a receive from anybody, which has ended: it is one from that rank of the group."""
        with self._lock:
            entry.name, entry.group_name, entry.ranks = _as_group_of_two(
                entry.group, "recv", source, tag
            )
            entry.number = _next(entry.group.messages, entry.group_name)

    def contents(self) -> dict[str, Any]:
        """What is dumped."""
        for group in self.groups:
            group.complete()
        with self._lock:
            entries = [entry for entry in self._entries if not entry.withdrawn]
        config = {group.name: _config(group.name, group, group.ranks) for group in self.groups}
        for each in entries:
            config.setdefault(each.group_name, _config(each.group_name, each.group, each.ranks))
        return {
            "version": _VERSION,
            "comm_lib_version": f"stretto {stretto.__version__}",
            "pg_config": config,
            "pg_status": {str(group.number): self._status(group, entries) for group in self.groups},
            "entries": [entry.as_pytorch_writes() for entry in entries],
        }

    @staticmethod
    def _status(group: Group, entries: list[Entry]) -> dict[str, int]:
        ended = [
            entry.number
            for entry in entries
            if entry.group is group and not entry.is_message and entry.ended_ns is not None
        ]
        return {
            "last_enqueued_collective": group.collectives,
            "last_started_collective": group.collectives,
            "last_completed_collective": max(ended, default=-1),
        }

    def dump(self, path: str | os.PathLike[str]) -> None:
        """Writes the file at once, so that no reader finds a part of it."""
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        # Not beside it: the tool reads all files of the folder whose names begin as this one's.
        part = target.parent / f".{os.getpid()}-{threading.get_ident()}.part"
        part.write_bytes(pickle.dumps(self.contents(), protocol=2))
        part.replace(target)


def _as_group_of_two(group: Group, kind: str, peer: int, tag: int) -> tuple[str, str, list[int]]:
    """The name of a message, and of the group that stands for its way, and this group's ranks."""
    me = group.ranks[group.rank]
    if peer == ANY_SOURCE:
        return "recv 0<-0", f"{group.name} any->{me} tag {tag}", [me]
    other = group.ranks[peer]
    source, target = (me, other) if kind == "send" else (other, me)
    ranks = sorted({source, target})
    start, end = ranks.index(source), ranks.index(target)
    name = f"send {start}->{end}" if kind == "send" else f"recv {end}<-{start}"
    return name, f"{group.name} {source}->{target} tag {tag}", ranks


def _next(counters: dict[str, int], name: str) -> int:
    counters[name] = number = counters.get(name, 0) + 1
    return number


def _config(name: str, group: Group, ranks: list[int]) -> dict[str, str]:
    return {"name": name, "desc": group.description, "ranks": str(ranks)}


def _sizes(tensors: Any) -> list[list[int]]:
    return [list(tensor.shape) for tensor in tensors]


def _types(tensors: Any) -> list[str]:
    return [_SPELLED.get(tensor.dtype, str(tensor.dtype)) for tensor in tensors]


# As c10::toString.
_SPELLED = {
    torch.float32: "Float", torch.float64: "Double", torch.float16: "Half",
    torch.bfloat16: "BFloat16", torch.int8: "Char", torch.int16: "Short", torch.int32: "Int",
    torch.int64: "Long", torch.uint8: "Byte", torch.bool: "Bool",
    torch.complex64: "ComplexFloat", torch.complex128: "ComplexDouble",
}  # fmt: skip


def _frames() -> Iterator[tuple[Any, int]]:
    """Where the call is made, the innermost first, without the backend's own frames."""
    frame = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_OURS):
            yield frame.f_code, frame.f_lineno
        frame = frame.f_back
