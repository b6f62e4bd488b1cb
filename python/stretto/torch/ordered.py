# SPDX-License-Identifier: BSD-3-Clause
"""Calls on tensors in CUDA memory: they begin behind what the current stream has been given.

By default the host waits for their ends, in a blocking call or in `Work.wait`, as for Gloo: so no
stream ever waits for a call, and whatever the program and its libraries ask of the driver meanwhile
cannot stop it (`_behind`).

With STRETTO_TORCH_CUDA=stream no host waits (`_in_order`).  A blocking call takes its place in the
current stream.  A call with async_op=True takes it in a stream of the group's own, so the program's
work goes on beside it; `Work.wait` makes the current stream wait for its end.  These are the rules
of ProcessGroupNCCL; what the host must not do meanwhile says docs/gpu.md.

Messages always begin behind the current stream, which goes on (`_ordered_message`), so any number
of them may be in flight between two ranks, in any order; `Work.wait` waits on the host, or lets the
current stream wait.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import torch
from torch.distributed import Work
from torch.futures import Future

from stretto.torch import cuda
from stretto.torch.flights import Flight, watch
from stretto.torch.work import Pending, Tensors, seconds


class Ordered:
    """A process group's calls in the order of streams: a part of it."""

    _timeout: timedelta
    _own_streams: dict[torch.device, Any]  # of the devices whose tensors there have been
    _streams_wait: bool  # for the ends of calls, in place of the host

    def _in_flight(self, work: Work) -> Work:
        raise NotImplementedError

    def _in_order(
        self,
        opts: Any,
        device: torch.device,
        start: Callable[[int], Any],
        result: Tensors,
        finish: Callable[[], None] | None,
    ) -> Work | None:
        """Begins a call by `start(stream)` and gives `finish` to the stream behind it."""
        stream = current = cuda.current_stream(device)
        own = self._own_stream(device)
        beside = getattr(opts, "asyncOp", True)
        if beside:
            stream = own
            stream.wait_stream(current)
        limit = seconds(getattr(opts, "timeout", None)) or self._timeout.total_seconds()
        with cuda.working_on(stream) if beside else nullcontext():
            request = start(cuda.handle(stream))
            # The request keeps what the call reads and writes.  What `finish` uses on another
            # stream than that of its memory stays until that is over, too.
            flight = Flight(self, request, time.monotonic() + limit, finish if beside else None)
            if finish is not None:
                finish()
            if beside:
                flight.end = stream.record_event()
        watch(flight)
        return self._in_flight(OrderedWork(flight, stream, device, result)) if beside else None

    def _own_stream(self, device: torch.device) -> Any:
        own = self._own_streams.get(device)
        if own is None:
            own = self._own_streams[device] = cuda.new_stream(device)
        return own

    def _behind(
        self,
        device: torch.device,
        start: Callable[[int], Any],
        result: Tensors,
        finish: Callable[[], None] | None,
    ) -> Pending:
        """Begins a call by `start(stream)`; the host waits for its end.  When it has, the results
        are there for all streams, whichever thread has run `finish`."""
        own = self._own_stream(device)
        request = start(cuda.handle(cuda.current_stream(device)))
        settled = None if finish is None else cuda.at_once(own, finish)
        return Pending([request], result, settled, device=device)

    def _ordered_message(
        self,
        device: torch.device,
        start: Callable[..., Any],
        result: Tensors,
        finish: Callable[[], None] | None,
    ) -> Pending | OrderedMessage:
        """Begins a message by `start(stream, waits)`; `finish` puts it where it belongs."""
        own = self._own_stream(device)
        request = start(cuda.handle(cuda.current_stream(device)), False)
        if self._streams_wait:
            limit = self._timeout.total_seconds()
            flight = Flight(self, request, time.monotonic() + limit, None)
            watch(flight)
            return OrderedMessage(flight, request, device, result, finish)
        settled = None if finish is None else cuda.at_once(own, finish)
        return Pending([request], result, settled, device=device)

    def _await_streams(self, opts: Any) -> None:
        """The host waits for the current streams of all devices whose tensors there have been."""
        devices = list(self._own_streams)
        named = getattr(opts, "device", None)
        if named is not None and named.type == "cuda":
            devices.append(named)
        for device in devices:
            cuda.current_stream(device).synchronize()


class OrderedWork(Work):
    """A call in the order of a stream."""

    def __init__(self, flight: Flight, stream: Any, device: torch.device, result: Sequence[Any]):
        super().__init__()
        self._flight, self._stream, self._device = flight, stream, device
        self._result = result

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Makes the current stream wait for the end of the call; the host waits only if a timeout
        is given.  Raises the call's error if it is known."""
        limit = seconds(timeout)
        if limit is not None:
            self._flight.wait(limit)
        self.synchronize()
        return True

    def synchronize(self) -> None:
        self._flight.raise_error()
        self._let_wait(cuda.current_stream(self._device))

    def _let_wait(self, stream: Any) -> None:
        stream.wait_event(self._flight.end)

    def is_completed(self) -> bool:
        return self._flight.ended()

    def is_success(self) -> bool:
        return self._flight.ended() and self._flight.error is None

    def exception(self) -> Any:
        return self._flight.error if self._flight.ended() else None

    def result(self) -> list[Any]:
        self.synchronize()
        return list(self._result)

    def get_future(self) -> Future:
        """A future that has its value at once: a stream of its reader waits for the call."""
        future = cuda.future(self._device)
        with cuda.working_on(self._stream):
            future.set_result(list(self._result))
        return future.then(self._outcome) if self._flight.failed() else future

    def _outcome(self, _: Future) -> Any:
        self._flight.raise_error()


class OrderedMessage(OrderedWork):
    """A message that began behind the work of a stream, which has gone on.

    finish: puts what was received where it belongs; the first stream that waits runs it.
    """

    def __init__(
        self,
        flight: Flight,
        request: Any,
        device: torch.device,
        result: Sequence[Any],
        finish: Callable[[], None] | None,
    ):
        super().__init__(flight, None, device, result)
        self._request, self._finish = request, finish
        self._lock = threading.Lock()  # guards what follows
        self._finished: Any = None  # the event behind `finish`

    def _let_wait(self, stream: Any) -> None:
        self._flight.wait_in(cuda.handle(stream))
        if self._finish is None:
            return
        with self._lock:
            if self._finished is None:
                self._finish()
                self._finished = stream.record_event()
                # What it uses on another stream than that of its memory stays until that is over.
                kept = Flight(self._flight.group, None, math.inf, self._finish)
                kept.end = self._finished
                watch(kept)
            else:
                stream.wait_event(self._finished)

    def is_completed(self) -> bool:
        """Also runs `finish`, on the current stream, if no stream has."""
        if not self._flight.ended():
            return False
        if self._finish is None or self._flight.error is not None:
            return True
        self._let_wait(cuda.current_stream(self._device))
        return self._finished.query()

    def is_success(self) -> bool:
        return self.is_completed() and self._flight.error is None

    def get_future(self) -> Future:
        if self._stream is None:  # one of its own: others would wait for this message
            stream = cuda.new_stream(self._device)
            with cuda.working_on(stream):
                self._let_wait(stream)
            self._stream = stream
        return super().get_future()

    def _source_rank(self) -> int:
        """Of a receive: whose message it took.  Waits on the host."""
        self._flight.wait(max(self._flight.deadline - time.monotonic(), 1e-3))
        message = self._request.message()
        if message is None:
            raise RuntimeError("only a receive has a source")
        return message[0]

    source_rank = _source_rank
