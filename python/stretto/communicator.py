# SPDX-License-Identifier: BSD-3-Clause
"""The communicator: collectives on NumPy arrays.

Arrays are NumPy's, or any with the buffer protocol, DLPack (as those of PyTorch) or
`__cuda_array_interface__` (as those of Numba), in the memory of the CPU or of CUDA.  They are
C-contiguous and of any shape: a collective sees their elements in memory order.  A call with arrays
in CUDA memory waits for their library's work on them, and is given an array for its result
(docs/gpu.md).  Types are int8 to int64, uint8 to uint64, float16, bfloat16 (of ml_dtypes, or by
DLPack), float32, float64, complex64, complex128 and bool.

op: "sum", "prod", "min", "max", "band", "bor", "bxor", "land", "lor", "lxor" or "avg", as far as
the type has it (docs/data.md), or an operation that `stretto.Op` or `stretto.premul_sum` made.

timeout: seconds after which a call that has not ended raises TimeoutError (also of `Request.wait`,
from then on); None: the limit of `set_timeout`, and STRETTO_TIMEOUT.  The communicator has failed
then, on all ranks, as they would wait for this one.  Handlers of signals run while the main thread
waits; what they raise, such as KeyboardInterrupt, ends the call, and the communicator fails with an
InterruptedError on the other ranks (docs/fork.md).

stream: a nonblocking call takes its place in this CUDA stream: it begins when the stream has done
what it was given before, and the stream goes on when the result is there.  The request need not be
waited for.  A handle (1: the legacy default stream), or an object of PyTorch, CuPy or cuda.core
(docs/gpu.md).

What does not fit is refused with an ArgumentError before anything is sent.  All ranks call the same
collectives in the same order with the same number and type of elements, operation and root.  Any
number of threads may use a communicator at the same time; if they begin collectives at the same
time, these are alike.  Calls let other Python threads run while they wait.  In a child that a rank
has forked every call but `finalize` raises UnsupportedError (docs/fork.md).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from stretto import _core, ending
from stretto.arrays import AnyArray, Given, given, like
from stretto.data import name_of
from stretto.errors import ArgumentError
from stretto.exchanges import Exchanges
from stretto.family import Family
from stretto.machine import Setting
from stretto.messages import Messages
from stretto.operation import AnyOp
from stretto.parts import Parts
from stretto.request import InPlace, PersistentRequest, Request
from stretto.stall import StallCallback
from stretto.streams import AnyStream, handle_of

_MODES = ("off", "run", "full")  # in the order of stretto_reproducible


class Stat(NamedTuple):
    """The calls of one collective by one algorithm, as this rank saw them."""

    collective: str
    algorithm: str
    """`one_pass`: one process has performed the calls, on a GPU that the ranks share."""
    calls: int
    bytes: int
    """Of the vectors, over all calls."""
    seconds: float
    """From entry to exit, over all calls."""
    waiting_seconds: float
    """Of those, waiting for other ranks."""
    messages: int
    """Messages (slices) that this rank published."""
    bytes_copied: int
    """Bytes that this rank wrote into shared cells."""
    bytes_reduced: int
    """Bytes of operands that this rank read while reducing."""


class Communicator(Parts, Messages, Exchanges, Family, StallCallback):
    """A rank's view of its job.  Made by `stretto.init`.

    As a context manager it is finalized at the end of the block.  If the block ends by an
    exception, it is not finalized, as that would wait for other ranks.
    """

    def __init__(self, core: _core.Communicator):
        self._core = core
        ending.communicators.add(self)

    @property
    def rank(self) -> int:
        """This process's number, 0 to size - 1."""
        return self._core.rank

    @property
    def size(self) -> int:
        """The number of ranks in the job."""
        return self._core.size

    @property
    def finalized(self) -> bool:
        """Whether it takes no more calls, by `finalize`."""
        return self._core.finalized

    def __repr__(self) -> str:
        return f"<stretto.Communicator rank {self.rank} of {self.size}>"

    def __enter__(self) -> Communicator:
        return self

    def __exit__(self, error: Any, *_: Any) -> None:
        if error is None:
            self.finalize()

    # ---- collectives

    def allreduce(
        self,
        send: AnyArray | InPlace,
        recv: Given | None = None,
        op: AnyOp = "sum",
        *,
        timeout: float | None = None,
    ) -> Given | np.ndarray:
        """Reduces the ranks' arrays element by element; every rank gets the result.

        send, recv: arrays of the same type and number of elements.  Without `recv`, a new array;
        the same array twice, or IN_PLACE as `send`, works in place.
        op: a name or an operation, as above; min and max are those of IEEE 754-2019.
        Returns recv.
        """
        recv = like(send, recv)
        self._core.play("allreduce", given(send), recv, op, 0, timeout)
        return recv

    def allreduce_batch(
        self, arrays: Iterable[AnyArray], op: AnyOp = "sum", *, timeout: float | None = None
    ) -> None:
        """Reduces several arrays in place, as if they lay behind one another: one allreduce.

        arrays: of one type; all ranks pass as many, of the same sizes in the same order.  Many
        small arrays take the time of one call.  Each is copied once before and once after it.
        """
        self._core.allreduce_batch(list(arrays), op, timeout)

    def reduce(
        self,
        send: AnyArray | InPlace,
        recv: Given | None = None,
        op: AnyOp = "sum",
        root: int = 0,
        *,
        timeout: float | None = None,
    ) -> Given | np.ndarray | None:
        """As `allreduce`, but only `root` gets the result (and looks at `recv`); None elsewhere."""
        recv = like(send, recv) if self.rank == root else None
        self._core.play("reduce", given(send), recv, op, root, timeout)
        return recv

    def broadcast(self, buffer: Given, root: int = 0, *, timeout: float | None = None) -> Given:
        """Copies `buffer` of `root`, which may be read-only, into `buffer` of all.  Returns it."""
        self._core.play("broadcast", None, buffer, "sum", root, timeout)
        return buffer

    def barrier(self, *, timeout: float | None = None) -> None:
        """Returns when all ranks have called it."""
        self._core.play("barrier", None, None, "sum", 0, timeout)

    # ---- phases of computation, between collectives

    def phase_begin(self) -> None:
        """A phase of computation begins; the next `allreduce` for which arrivals count ends it.

        A phase is compared with the last phases that ended in the same call.  Local.
        """
        self._core.phase_begin()

    def edge(self, fraction: float) -> None:
        """A fraction of the phase is done: above 0 and up to 1, of the time that all of it takes.

        If this rank will be late or early, the others hear of it, and the call at the end of the
        phase uses an algorithm for that (docs/arrivals.md).  It may be called several times, and by
        any thread, such as from a callback; outside of a phase it does nothing.  Raises
        `ArgumentError` for other fractions.  Source: Proficz 2018, section 3.1, where `fraction`
        is 0.5.
        """
        self._core.edge(fraction)

    # ---- nonblocking: as above, but return a Request at once; `stream` as the module says

    def iallreduce(
        self,
        send: AnyArray | InPlace,
        recv: AnyArray | None = None,
        op: AnyOp = "sum",
        *,
        stream: AnyStream | None = None,
    ) -> Request:
        """Starts an `allreduce`; a thread moves the data while you compute."""
        recv = like(send, recv)
        return self._begin("allreduce", given(send), recv, stream, op=op)

    def iallreduce_batch(
        self, arrays: Iterable[AnyArray], op: AnyOp = "sum", *, stream: AnyStream | None = None
    ) -> Request:
        """Starts an `allreduce_batch`."""
        return Request(self._core.iallreduce_batch(list(arrays), op, handle_of(stream)), None)

    def ireduce(
        self,
        send: AnyArray | InPlace,
        recv: AnyArray | None = None,
        op: AnyOp = "sum",
        root: int = 0,
        *,
        stream: AnyStream | None = None,
    ) -> Request:
        """Starts a `reduce`."""
        recv = like(send, recv) if self.rank == root else None
        return self._begin("reduce", given(send), recv, stream, op=op, root=root)

    def ibroadcast(
        self, buffer: AnyArray, root: int = 0, *, stream: AnyStream | None = None
    ) -> Request:
        """Starts a `broadcast`."""
        return self._begin("broadcast", None, buffer, stream, root=root)

    def ibarrier(self, *, stream: AnyStream | None = None) -> Request:
        """Starts a `barrier`."""
        return self._begin("barrier", None, None, stream)

    def allreduce_init(
        self, send: AnyArray | InPlace, recv: AnyArray | None = None, op: AnyOp = "sum"
    ) -> PersistentRequest:
        """Plans an `allreduce` of these two arrays, to be started with `start` again and again."""
        recv = like(send, recv)
        return PersistentRequest(self._core.plan(given(send), recv, op), recv)

    # ---- memory

    def alloc(self, shape: int | tuple[int, ...], dtype: DTypeLike = np.float32) -> np.ndarray:
        """A new array of zeros in memory that all ranks of this host read in place.

        Collectives on it skip the copies that private memory costs.  The memory is freed with the
        array and its views.  Local, not collective.  Raises OutOfMemoryError.
        """
        dtype = np.dtype(dtype)
        shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
        size = math.prod(shape) * dtype.itemsize
        if size == 0:
            return np.zeros(shape, dtype)
        return self._core.allocate(size).view(dtype).reshape(shape)

    # ---- what happened

    def stats(self) -> list[Stat]:
        """What this rank's collectives did since the start or `reset_stats`."""
        return [Stat(*line) for line in self._core.stats()]

    def reset_stats(self) -> None:
        """Forgets the statistics so far."""
        self._core.reset_stats()

    def settings(self) -> list[Setting]:
        """The settings of this communicator: from the environment when the process joined the job,
        with later changes by the program.  On all ranks, settings that shape the job are those of
        rank 0."""
        return [Setting(*line) for line in self._core.settings()]

    def force_algorithm(self, name: str | None) -> None:
        """Runs the next collectives by the named algorithm: "ring", "segmented_ring(segments=4)".

        Or by rules for collectives and sizes in bytes, of which the first that matches decides:
        "allreduce:-4K=auto,allreduce:4K-64K=ring,direct"; "file:PATH" is a schedule of one's own,
        which is proved first.  None or "auto" lets Stretto choose.  The same on all ranks.  Raises
        an error that lists what there is if something does not exist, or says why it cannot run
        here.
        """
        self._core.force_algorithm(name or "auto")

    def set_reproducible(self, mode: str) -> None:
        """How far results of reductions repeat bit by bit, from the next collective on.

        "off": all ranks get the same bits; "run": the same call gives the same bits in every run;
        "full": and whatever the algorithm, the size, the split and the processor are.  The same on
        all ranks, or their calls do not match.  STRETTO_REPRODUCIBLE says which mode a job begins
        with.
        """
        if mode not in _MODES:
            raise ArgumentError(f"there is no reproducible mode {mode!r}; off, run and full exist")
        self._core.set_reproducible(_MODES.index(mode))

    def chosen_algorithm(self, collective: str, count: int, dtype: DTypeLike = np.float32) -> str:
        """The algorithm that runs a call of this collective ("allreduce", ...) and size."""
        return self._core.chosen_algorithm(collective, count, name_of(dtype))

    def probe_memory(self) -> float:
        """Measures the memory system: nanoseconds to overwrite a cache line that a neighbouring
        rank has just read.  Collective; 0 with one rank."""
        return self._core.probe_memory()

    def network_profile(self) -> dict[str, Any]:
        """This communicator's profile of the network and of the times of calls: links in seconds
        and seconds per byte, and the results of trials so far.

        On several hosts it was measured when the job started, or read from a file.  It is the same
        on all ranks once they have made the same calls.  Written to a file as JSON, it can be named
        by STRETTO_TUNING_FILE, so that other jobs use the same numbers and need no trials
        (docs/hosts.md).
        """
        return json.loads(self._core.network_profile())

    def clock_offset(self) -> int | None:
        """The offset by which times of several hosts can be compared: `time.monotonic_ns()` plus
        this is that of the host of the job's lowest rank.  0 on one host.

        None until the clocks are measured, about two heartbeats after the start.  The error is at
        most half the round trip of a short message.
        """
        return self._core.clock_offset()

    def set_timeout(self, seconds: float | None) -> None:
        """Sets the time limit of later calls of this rank in this communicator; None: no limit.

        Local.
        """
        self._core.set_timeout(seconds or 0)

    def finalize(self) -> None:
        """Waits for requests in flight and leaves the job; the communicator takes no more calls.

        Arrays of `alloc` stay valid.  While one lives, the job is left only at the end of the
        process.
        """
        self._core.finalize()
