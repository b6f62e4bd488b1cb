# SPDX-License-Identifier: BSD-3-Clause
"""The backend of PyTorch 2.14 and later, beside those of others for other devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._C import _distributed_c10d as c10d
from torch.utils.weak import WeakIdKeyDictionary

from stretto.communicator import Communicator
from stretto.torch import shown
from stretto.torch.collectives import Collectives
from stretto.torch.ordered import OrderedMessage
from stretto.torch.work import Pending, Work

# Of receives from any source, by the tensor that was given.
_receives = WeakIdKeyDictionary()

# Until they are shut down: what PyTorch wraps for TORCH_DISTRIBUTED_DEBUG=DETAIL it keeps without
# the Python object, whose methods are then lost.
_in_use: set[Backend] = set()


class Backend(Collectives, c10d.Backend):
    """PyTorch calls it from C++.

    Of a `Work` made in Python it shows programs a holder (shown.py); of a call that has ended None
    is enough.
    """

    _done = None

    def __init__(self, comm: Communicator, rank: int, size: int, core: Any = None):
        c10d.Backend.__init__(self, rank, size)
        _in_use.add(self)
        self._open(comm, rank, size, core)

    def getBackendName(self) -> str:
        return "stretto"

    def shutdown(self) -> None:
        _in_use.discard(self)
        super().shutdown()

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
        if not isinstance(ours, (Pending, OrderedMessage)):
            raise
        return ours._source_rank()


shown.install()
_source_rank_of_pytorch = c10d.Work._source_rank
c10d.Work._source_rank = _source_of_receive
