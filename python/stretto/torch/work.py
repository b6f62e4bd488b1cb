# SPDX-License-Identifier: BSD-3-Clause
"""What a call of a process group returns: PyTorch's `Work`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import torch
from torch.distributed import Work
from torch.futures import Future

from stretto import _core
from stretto.torch import cuda

Tensors = Sequence[Any]

_telling = threading.local()  # now: this thread tells futures that calls have ended


class Done(Work):
    """A call that has ended before it returned."""

    def __init__(self, result: Tensors = ()):
        super().__init__()
        self._result = list(result)

    def wait(self, timeout: timedelta | None = None) -> bool:
        return True

    def synchronize(self) -> None:
        pass

    def is_completed(self) -> bool:
        return True

    def is_success(self) -> bool:
        return True

    def exception(self) -> Any:
        return None

    def result(self) -> list[Any]:
        return self._result

    def get_future(self) -> Future:
        future: Future = Future()
        future.set_result(self._result)
        return future


DONE = Done()
"""Of blocking calls, whose results the caller has in its tensors."""


class Pending(Work):
    """A call, or several, in flight.

    result: what the futures of the call give.  finish: runs once, when all have ended well, before
    anybody who waits continues; it puts results where the caller wants them.  device: that of CUDA
    tensors; None: the call has none.
    """

    def __init__(
        self,
        requests: Sequence[_core.Request],
        result: Tensors,
        finish: Callable[[], None] | None = None,
        keep: Any = None,
        device: torch.device | None = None,
    ):
        super().__init__()
        self._device = device
        self._requests = list(requests)
        self._result = result
        self._finish = finish
        self._keep = keep  # what the requests need besides their arrays
        self._lock = threading.Lock()  # of a thread that waits
        self._guard = threading.Lock()  # of what follows
        self._signal: Future | None = None  # that the call has ended, if somebody asks
        self._error: BaseException | None = None
        self._ended = False
        self._future: Future | None = None

    def wait(self, timeout: timedelta | None = None) -> bool:
        self._end(seconds(timeout))
        if self._error is not None:
            raise self._error
        return True

    def synchronize(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        if not self._ended and self._lock.acquire(blocking=False):
            try:
                done = self._ended or self._test()
            finally:
                self._lock.release()
            if done:
                self._end(None)
        return self._ended

    def is_success(self) -> bool:
        return self.is_completed() and self._error is None

    def exception(self) -> Any:
        return self._error if self.is_completed() else None

    def result(self) -> list[Any]:
        self.wait()
        return list(self._result)

    def _source_rank(self) -> int:
        """Of a receive: whose message it took."""
        self.wait()
        message = self._requests[0].message()
        if message is None:
            raise RuntimeError("only a receive has a source")
        return message[0]

    source_rank = _source_rank

    def get_future(self) -> Future:
        """A future whose value are the tensors of the result, or that fails with a RuntimeError
        that quotes the call's error.

        PyTorch's C++, DDP for one, would take what `Future.set_exception` sets for a value. What a
        callback raises it knows as an error.
        """
        with self._guard:
            if self._future is not None:
                return self._future
            self._signal = Future() if self._device is None else cuda.future(self._device)
            self._future = self._signal.then(self._outcome)
        if not self.is_completed():
            self._watch()
        self._tell()
        return self._future

    def _watch(self) -> None:
        """Sees to it that the call ends, and its future with it, though no thread waits."""
        unended = len(self._requests)

        def one_ended() -> None:
            nonlocal unended
            with self._guard:
                unended -= 1
                last = unended == 0
            if last:
                _telling.now = True  # callbacks of the future run in here
                try:
                    self._end(None)
                finally:
                    _telling.now = False

        if getattr(_telling, "now", False):
            # A callback that makes a call and waits for its future, as of DDP's PowerSGD: nobody
            # else can tell it of the end.
            self._end(None)
            return
        if not self._lock.acquire(blocking=False):
            return  # a thread waits, and will take notice of the end
        try:
            ended = [not request.notify(one_ended) for request in self._requests]
        finally:
            self._lock.release()
        for _ in filter(None, ended):
            one_ended()

    def _tell(self) -> None:
        """Ends the future, if there is one and the call has ended; once."""
        with self._guard:
            signal = self._signal if self._ended else None
            if signal is not None:
                self._signal = None
        if signal is not None:
            signal.set_result(None)

    def _outcome(self, _: Future) -> list[Any]:
        if self._error is not None:
            raise self._error
        return list(self._result)

    def _test(self) -> bool:
        try:
            return all(request.test() for request in self._requests)
        except RuntimeError:  # the error that `_end` will find
            return True

    def _end(self, limit: float | None) -> None:
        """Waits for the end, of which one thread alone takes notice."""
        if self._ended:
            return
        try:
            self._end_alone(limit)
        finally:
            self._tell()

    def _end_alone(self, limit: float | None) -> None:
        with self._lock:
            if self._ended:
                return
            try:
                for request in self._requests:
                    request.wait(limit)
                if self._finish is not None:
                    self._finish()
            except BaseException as error:
                self._error = error
                if not isinstance(error, Exception):
                    raise
            finally:
                self._finish = self._keep = None
                self._ended = True


def seconds(timeout: timedelta | None) -> float | None:
    """The limit that a timeout of PyTorch's stands for; None: the group's own."""
    if timeout is None or timeout.days < 0:  # PyTorch's "unset" is negative
        return None
    return timeout.total_seconds() or None


class Sequel(Work):
    """Several works as one."""

    def __init__(self, works: Sequence[Work]):
        super().__init__()
        self._works = list(works)

    def wait(self, timeout: timedelta | None = None) -> bool:
        for work in self._works:
            work.wait(timeout) if timeout is not None else work.wait()
        return True

    def synchronize(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        return all(work.is_completed() for work in self._works)

    def is_success(self) -> bool:
        return all(work.is_success() for work in self._works)

    def exception(self) -> Any:
        errors = (work.exception() for work in self._works)
        return next((error for error in errors if error is not None), None)

    def result(self) -> list[Any]:
        return [tensor for work in self._works for tensor in work.result()]

    def get_future(self) -> Future:
        together = torch.futures.collect_all([work.get_future() for work in self._works])
        return together.then(lambda all_of: [x for one in all_of.value() for x in one.value()])
