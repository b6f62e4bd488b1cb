# SPDX-License-Identifier: BSD-3-Clause
"""How the calls of a process group run: at once, in flight, or several as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd import profiler

from stretto import _core
from stretto.communicator import Communicator
from stretto.errors import ArgumentError
from stretto.operation import AnyOp
from stretto.torch import cuda
from stretto.torch.messages import Messages
from stretto.torch.operations import NAMES
from stretto.torch.ordered import Ordered
from stretto.torch.profiled import Profiled
from stretto.torch.tensors import Finish, Parts
from stretto.torch.work import DONE, Done, Pending, Sequel, Work, seconds

Tensors = Sequence[torch.Tensor]

INDIRECT = object()
"""A call that has yet to be made."""


class Calls(Messages, Ordered):
    """Makes calls of a communicator for a process group."""

    communicator: Communicator
    _core: _core.Communicator
    _rank: int
    _size: int
    _calls = 0  # collectives so far: PyTorch's sequence number
    _has_devices = False  # tensors may lie in CUDA memory
    _coalesced: list[Work] | None = None  # calls between start_coalescing and end_coalescing
    _done: Work | None = DONE  # what a call returns that has ended

    def _open(self, comm: Communicator, rank: int, size: int, core: Any = None) -> None:
        """core: what makes the calls; that of the communicator, or what observes it."""
        core = core or comm._core
        # Whether a call has async_op=True is a matter of each rank, as in the join of DDP.
        comm._core.set_mixed(True)
        self.communicator, self._core, self._profiled = comm, core, Profiled(core)
        self._play, self._start = core.play, core.start
        self._rank, self._size = rank, size
        self._has_devices, self._own_streams = cuda.present(), {}
        self._streams_wait = cuda.streams_wait()
        comm._core.set_streams_wait(self._streams_wait)

    def _directly(
        self,
        opts: Any,
        collective: str,
        send: torch.Tensor | None,
        recv: torch.Tensor,
        tensors: int = 1,
        reduces: bool = False,
        root: int = 0,
    ) -> Any:
        """Makes a call in the fewest steps, as most are made: of contiguous tensors in host memory,
        one for a buffer, of a type that the core knows.  INDIRECT: nothing was sent, as the call
        needs more than that."""
        try:
            if tensors != 1 or profiler._is_profiler_enabled:
                return INDIRECT
            if self._has_devices and recv.is_cuda:
                return INDIRECT
            op = NAMES[opts.reduceOp.op] if reduces else "sum"
            if opts.asyncOp:
                request = self._start(collective, send, recv, op, root)
            else:
                self._play(collective, send, recv, op, root, seconds(opts.timeout))
                request = None
        except (ArgumentError, AttributeError, IndexError, TypeError):
            return INDIRECT
        self._calls += 1
        return self._done if request is None else self._in_flight(Pending([request], [recv]))

    def _run(
        self,
        opts: Any,
        collective: str,
        send: torch.Tensor | None,
        recv: torch.Tensor | None,
        op: AnyOp = "sum",
        root: int = 0,
        counts: Sequence[int] = (),
        result: Tensors = (),
        finish: Finish | None = None,
    ) -> Work:
        """Makes a call of the core; send None: in place, or nothing here."""
        core = self._observed
        return self._make(
            opts,
            (send, recv),
            lambda stream: core.start(collective, send, recv, op, root, counts, stream),
            lambda limit: core.play(collective, send, recv, op, root, limit, counts),
            result,
            finish,
        )

    def _run_batch(
        self, opts: Any, buffers: list[torch.Tensor], op: AnyOp, result: Tensors, finish: Finish
    ) -> Work:
        """Makes one allreduce of all buffers, in place."""
        core = self._observed
        return self._make(
            opts,
            buffers,
            lambda stream: core.iallreduce_batch(buffers, op, stream),
            lambda limit: core.allreduce_batch(buffers, op, limit),
            result,
            finish,
        )

    def _make(
        self,
        opts: Any,
        buffers: Sequence[torch.Tensor | None],
        start: Callable[[int | None], Any],
        play: Callable[[float | None], None],
        result: Tensors,
        finish: Finish | None,
    ) -> Work:
        """Makes a call in the form that the options ask for."""
        device = cuda.device_of(buffers) if self._has_devices else None
        self._calls += 1
        if device is not None and self._streams_wait:
            return self._in_order(opts, device, start, result, finish) or self._done
        if getattr(opts, "asyncOp", True):
            if device is not None:
                return self._in_flight(self._behind(device, start, result, finish))
            return self._in_flight(Pending([start(None)], result, finish))
        if device is not None:
            self._own_stream(device)
        play(seconds(opts.timeout))
        if finish is not None:
            finish()
        return self._done

    def _exchange(
        self,
        opts: Any,
        send: torch.Tensor,
        send_counts: list[int],
        recv: torch.Tensor,
        recv_counts: list[int],
        result: Tensors,
        finish: Finish | None,
    ) -> Work:
        core = self._observed

        def begin(stream: int | None) -> Any:
            return core.alltoallv(send, send_counts, None, recv, recv_counts, None, stream)

        return self._make(
            opts, (send, recv), begin, lambda limit: begin(None).wait(limit), result, finish
        )

    # ---- several calls as one

    supports_coalescing = True

    def start_coalescing(self) -> None:
        self._coalesced = []

    def end_coalescing(self) -> Work:
        """The work of all calls since `start_coalescing`."""
        works, self._coalesced = self._coalesced or [], None
        return self._shown(Sequel(works)) if works else Done()

    def _each(self, opts: Any, calls: Sequence[Callable[[], Work]]) -> Work:
        """Makes several calls as one."""
        works = [call() for call in calls]
        if not getattr(opts, "asyncOp", True):
            return self._done
        return self._in_flight(Sequel(works)) if works else Done()

    def _in_flight(self, work: Work) -> Work:
        """What the caller gets of a call in flight."""
        if self._coalesced is None:
            return self._shown(work)
        self._coalesced.append(work)
        return work

    def _shown(self, work: Work) -> Work:
        return work

    def _one_per_rank(self, tensors: Tensors) -> Tensors:
        if len(tensors) != self._size:
            raise ArgumentError(
                f"{len(tensors)} tensors in a list for {self._size} ranks; one for each is wanted"
            )
        return tensors

    def _require_even(self, parts: Parts, what: str) -> None:
        if not parts.even:
            raise ArgumentError(
                f"{what}: tensors of {parts.counts} elements; all ranks' are of one size"
            )
