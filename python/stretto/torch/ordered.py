# SPDX-License-Identifier: BSD-3-Clause
"""Calls on tensors in CUDA memory: they begin behind what the current stream has been given.

By default the host waits for their ends, in a blocking call or in `Work.wait`, as for Gloo: so no
stream ever waits for a call, and whatever the program and its libraries ask of the driver meanwhile
cannot stop it (`_behind`).

With STRETTO_TORCH_CUDA=stream no host waits (`_in_order`).  A blocking call takes its place in the
current stream.  A call with async_op=True takes it in a stream of the group's own, so the program's
work goes on beside it; `Work.wait` makes the current stream wait for its end.  These are the rules
of ProcessGroupNCCL; what the host must not do meanwhile says docs/gpu.md.
"""

from __future__ import annotations

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
        cuda.current_stream(self._device).wait_event(self._flight.end)

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
