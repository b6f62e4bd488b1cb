# SPDX-License-Identifier: BSD-3-Clause
"""Messages between the ranks of a process group, and the barrier that names who is late."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import torch
from torch.autograd import profiler

from stretto import _core
from stretto.torch import cuda
from stretto.torch.ordered import OrderedMessage
from stretto.torch.profiled import Profiled
from stretto.torch.tensors import Finish, Landing, only, readable
from stretto.torch.work import Pending, Work

# Tags of monitored barriers, above those that programs use.
_MONITORED = 0x7F000000
_ROUNDS = 0x10000


class Messages:
    """send, recv and what is made of them: a part of the process group."""

    _core: _core.Communicator
    _profiled: Profiled
    _rank: int
    _size: int
    _timeout: timedelta
    _has_devices: bool
    _ordered_message: Callable[..., Pending | OrderedMessage]
    _barriers = 0

    def _in_flight(self, work: Work) -> Work:
        raise NotImplementedError

    @property
    def _observed(self) -> Any:
        """The core, seen by the profiler if one runs."""
        return self._profiled if profiler._is_profiler_enabled else self._core

    def send(self, tensors: Sequence[torch.Tensor], dest: int, tag: int) -> Work:
        tensor = only(tensors, "send")
        sent = readable(tensor)
        return self._in_flight(
            self._message(tensor, lambda *order: self._observed.isend(sent, dest, tag, *order))
        )

    def recv(self, tensors: Sequence[torch.Tensor], source: int, tag: int) -> Work:
        return self._in_flight(self._receive(tensors, source, tag))

    def recv_anysource(self, tensors: Sequence[torch.Tensor], tag: int) -> Work:
        return self._in_flight(self._receive(tensors, None, tag))

    def _receive(
        self, tensors: Sequence[torch.Tensor], source: int | None, tag: int
    ) -> Pending | OrderedMessage:
        tensor = only(tensors, "recv")
        landing = Landing(tensor)
        moved = landing.moved
        rank = _core.ANY_SOURCE if source is None else source
        return self._message(
            tensor,
            lambda *order: self._observed.irecv(moved, rank, tag, *order),
            landing.copy_back,
        )

    def _message(
        self, tensor: torch.Tensor, start: Callable[..., Any], finish: Finish | None = None
    ) -> Pending | OrderedMessage:
        device = cuda.device_of([tensor]) if self._has_devices else None
        if device is None:
            return Pending([start()], [tensor], finish)
        return self._ordered_message(device, start, [tensor], finish)

    def monitored_barrier(
        self, opts: Any = None, wait_all_ranks: bool = False, timeout: timedelta | None = None
    ) -> None:
        """A barrier that names the ranks that do not come in time.

        Rank 0 waits for a message of each rank, then answers all; so it knows who is missing, and
        nobody's calls fail for that.  opts: PyTorch's BarrierOptions, or a timeout.
        wait_all_ranks: name all that are missing, not only the first.
        Raises RuntimeError.
        """
        limit = timeout or (opts if isinstance(opts, timedelta) else getattr(opts, "timeout", None))
        allowed = limit.total_seconds() if limit is not None else -1.0
        if allowed < 0:
            allowed = self._timeout.total_seconds()
        if allowed == 0:
            raise RuntimeError(
                f"[Rank {self._rank}]: Rank {self._rank} timed out in monitoredBarrier after 0 ms; "
                "give it time"
            )
        tag = _MONITORED + 2 * (self._barriers % _ROUNDS)
        self._barriers += 1
        deadline = time.monotonic() + allowed
        if self._rank != 0:
            self._report_to_first(tag, deadline)
            return
        missing = self._missing(tag, deadline, wait_all_ranks)
        answer = _number(len(missing))
        waiting = [
            self._core.isend(answer, rank, tag + 1)
            for rank in range(1, self._size)
            if rank not in missing
        ]
        if missing:
            names = ", ".join(str(rank) for rank in missing)
            few = len(missing) == 1
            raise RuntimeError(
                f"[Rank 0]: {'Rank' if few else 'Ranks'} {names} failed to pass monitoredBarrier "
                f"in {allowed * 1000:.0f} ms; look where {'it is' if few else 'they are'}"
            )
        for request in waiting:
            request.wait()

    def _missing(self, tag: int, deadline: float, all_of_them: bool) -> list[int]:
        token = [_number() for _ in range(self._size)]
        coming = {rank: self._core.irecv(token[rank], rank, tag) for rank in range(1, self._size)}
        pause = 1e-5
        while coming and time.monotonic() < deadline:
            coming = {rank: request for rank, request in coming.items() if not request.test()}
            time.sleep(pause)
            pause = min(pause * 2, 1e-3)
        return sorted(coming) if all_of_them else sorted(coming)[:1]

    def _report_to_first(self, tag: int, deadline: float) -> None:
        sent = self._core.isend(_number(), 0, tag)
        answer = _number()
        coming = self._core.irecv(answer, 0, tag + 1)
        pause = 1e-5
        # The first rank finds out who is missing, and says so, a moment after its own deadline.
        while not coming.test() and time.monotonic() < deadline + 1:
            time.sleep(pause)
            pause = min(pause * 2, 1e-3)
        if not coming.test() or int(answer) != 0:
            raise RuntimeError(
                f"[Rank {self._rank}]: Rank {self._rank} successfully reached monitoredBarrier, "
                "but received errors while waiting for send/recv from rank 0: not all ranks came "
                "in time; the error of rank 0 names them"
            )
        sent.wait()


def _number(value: int = 0) -> torch.Tensor:
    return torch.tensor([value], dtype=torch.int64, device="cpu")
