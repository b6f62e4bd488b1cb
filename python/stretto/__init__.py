# SPDX-License-Identifier: BSD-3-Clause
"""Stretto: collectives that do not wait, for NumPy arrays.

    import numpy as np
    import stretto

    comm = stretto.init()
    mean = comm.allreduce(np.full(1000, comm.rank, np.float32)) / comm.size

Start it as `stretto run -n 4 python program.py`; torchrun, mpirun and srun will do as well.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from stretto import _core
from stretto import ending as ending  # at once: see there
from stretto._core import __version__
from stretto.errors import (
    AbortedError,
    ArgumentError,
    Error,
    ExcludedError,
    InternalError,
    InterruptedError,
    MismatchError,
    OperationError,
    OutOfMemoryError,
    PeerError,
    RevokedError,
    SystemError,
    TimeoutError,
    TruncatedError,
    UnsupportedError,
)
from stretto.machine import Machine, Setting, examine, settings
from stretto.stall import Stall

if TYPE_CHECKING:
    from stretto.communicator import Communicator, Stat
    from stretto.messages import ANY_SOURCE, ANY_TAG, MessageQueue
    from stretto.operation import Op, Operation, premul_sum
    from stretto.request import IN_PLACE, Message, MessageRequest, PersistentRequest, Request

# Imported when they are first asked for, and NumPy with them: so `stretto run` starts in a fifth of
# the time.
_LATER = {
    "communicator": ("Communicator", "Stat"),
    "messages": ("ANY_SOURCE", "ANY_TAG", "MessageQueue"),
    "operation": ("Op", "Operation", "premul_sum"),
    "request": ("IN_PLACE", "Message", "MessageRequest", "PersistentRequest", "Request"),
}
_MODULE_OF = {name: module for module, names in _LATER.items() for name in names}

__all__ = [
    "ANY_SOURCE",
    "ANY_TAG",
    "Stall",
    "IN_PLACE",
    "AbortedError",
    "ArgumentError",
    "Communicator",
    "Error",
    "ExcludedError",
    "InternalError",
    "InterruptedError",
    "Machine",
    "Message",
    "MessageQueue",
    "MessageRequest",
    "MismatchError",
    "Op",
    "Operation",
    "OperationError",
    "OutOfMemoryError",
    "PeerError",
    "PersistentRequest",
    "Request",
    "RevokedError",
    "Setting",
    "Stat",
    "SystemError",
    "TimeoutError",
    "TruncatedError",
    "UnsupportedError",
    "__version__",
    "algorithms",
    "examine",
    "init",
    "init_by_exchange",
    "premul_sum",
    "settings",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'stretto' has no attribute {name!r}")
    value = getattr(import_module(f"stretto.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def init(rank: int | None = None, size: int | None = None, job: str | None = None) -> Communicator:
    """Joins a job.  Collective: returns when all ranks have joined.

    Without arguments, the job that the environment describes: that of `stretto run`, torchrun,
    mpirun (Open MPI, MPICH, Intel MPI) or srun; a process that none of them started is a job of one
    rank.  With arguments, joins `job`, a name that the job's ranks on this host share, as `rank` of
    `size`.

    Raises TimeoutError that names the ranks that have not come within STRETTO_INIT_TIMEOUT seconds,
    MismatchError if ranks disagree on the size, ArgumentError, OutOfMemoryError or SystemError.
    """
    if rank is None and size is None and job is None:
        return _joined(_core.init())
    if rank is None or size is None or job is None:
        raise ArgumentError("init takes rank, size and job together, or none of them")
    return _joined(_core.init_explicit(rank, size, job))


def init_by_exchange(rank: int, size: int, allgather: Callable[[bytes], bytes]) -> Communicator:
    """Joins a job whose ranks something else connects already: MPI, a key-value store, sockets.

    allgather: a function that all ranks call the same number of times, each with as many bytes,
    and that returns the bytes of all ranks, one after the other in rank order.  By it the ranks
    agree on a name of the job and, on several hosts, on an address and a secret.  What it raises is
    raised here.  Collective; otherwise as `init`.
    """
    return _joined(_core.init_by_exchange(rank, size, allgather))


def _joined(core: _core.Communicator) -> Communicator:
    """The communicator of a job, whose metrics are written if STRETTO_METRICS says where."""
    from stretto.communicator import Communicator

    comm = Communicator(core)
    if any(each.name == "STRETTO_METRICS" and each.value for each in comm.settings()):
        from stretto.metrics import start_by_settings

        start_by_settings(comm)
    return comm


def algorithms(collective: str = "allreduce", ranks: int | None = None) -> list[str]:
    """Names of the algorithms of a collective, for `force_algorithm`.

    With `ranks`, only the algorithms that run on this number of ranks.
    """
    names = [each["name"] for each in _core.algorithms() if each["collective"] == collective]
    if ranks is None:
        return names
    return [name for name in names if _core.declared(collective, name, ranks)[0]]
