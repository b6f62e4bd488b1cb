# SPDX-License-Identifier: BSD-3-Clause
"""The backend of PyTorch 2.14 and later: of the CPU's tensors, beside those of other devices."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import torch
from torch._C import _distributed_c10d as c10d
from torch.utils.weak import WeakIdKeyDictionary

from stretto.communicator import Communicator
from stretto.torch.collectives import Collectives
from stretto.torch.work import Pending, Work

# Of receives from any source, by the tensor that was given.
_receives = WeakIdKeyDictionary()

# Until they are shut down: what PyTorch wraps for TORCH_DISTRIBUTED_DEBUG=DETAIL it keeps without
# the Python object, whose methods are then lost.
_in_use: set[Backend] = set()

_is_completed = c10d.Work.is_completed


def _is_completed_by_future(work: c10d.Work) -> bool:
    """`Work.is_completed`; the holder of a Work made in Python does not ask that Work."""
    if _is_completed(work):
        return True
    try:
        return work.get_future().done()
    except RuntimeError:  # one of PyTorch's own without a future
        return False


class Backend(Collectives, c10d.Backend):
    """PyTorch calls it from C++.

    Of a `Work` made in Python it shows programs a holder that knows `wait` and `get_future` alone.
    So a call in flight is shown as PyTorch's own work of a future, which knows all but the source
    of a receive (`_source_of_receive`), and a call that has ended as None.
    """

    _done = None

    def __init__(self, comm: Communicator, rank: int, size: int):
        c10d.Backend.__init__(self, rank, size)
        c10d.Work.is_completed = _is_completed_by_future
        _in_use.add(self)
        self._open(comm, rank, size)
        self._timeout = timedelta(minutes=30)

    def getBackendName(self) -> str:
        return "stretto"

    def set_timeout(self, timeout: timedelta) -> None:
        self._timeout = timeout
        super().set_timeout(timeout)

    def shutdown(self) -> None:
        _in_use.discard(self)
        super().shutdown()

    def _shown(self, work: Work) -> Work:
        return c10d._create_work_from_future(work.get_future())

    def recv_anysource(self, tensors: Sequence[torch.Tensor], tag: int) -> Work:
        work = self._receive(tensors, None, tag)
        _receives[tensors[0]] = work
        return self._in_flight(work)


def _source_of_receive(work: Work) -> int:
    """Work._source_rank, for the receives of this backend as well."""
    try:
        return _source_rank_of_pytorch(work)
    except RuntimeError:
        received = work.get_future().value() if type(work) is Work else None
        ours = _receives.get(received[0]) if received else None
        if not isinstance(ours, Pending):
            raise
        return ours._source_rank()


_source_rank_of_pytorch = c10d.Work._source_rank
c10d.Work._source_rank = _source_of_receive
