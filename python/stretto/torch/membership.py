# SPDX-License-Identifier: BSD-3-Clause
"""Going on when workers die, and taking in new ones, in the processes that run.

    from stretto.torch import membership

    try:
        step(model)
    except RuntimeError as error:
        if not membership.lost(error):
            raise
        membership.shrink()  # the default group is that of the remaining workers
        model = wrap(model)  # whatever knew the old groups: DDP, FSDP, DeviceMesh

Of the old groups nothing is left after `shrink`, `grow` and `join`: PyTorch's default group is
destroyed and made anew, so that ranks are 0 to size - 1 again, and other groups have to be made
again.  Source of the agreement behind it: docs/failures.md.
"""

from __future__ import annotations

import logging
import time
from datetime import timedelta
from typing import Any

import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from stretto.communicator import Communicator
from stretto.errors import (
    AbortedError,
    ArgumentError,
    Error,
    InterruptedError,
    PeerError,
    RevokedError,
    TimeoutError,
)
from stretto.torch import bootstrap
from stretto.torch.collectives import Collectives
from stretto.torch.registration import NAME, backend_of
from stretto.torch.shrinking import SHRINKS

_LOST = (PeerError, RevokedError, TimeoutError, InterruptedError)
_log = logging.getLogger(__name__)


def lost(error: BaseException) -> bool:
    """Whether an error says that a worker is gone, or that the group's calls ended for it.

    DDP and FSDP raise errors of calls as RuntimeErrors of their own, which only quote the error.
    """
    text = str(error)
    if isinstance(error, Error):
        return isinstance(error, _LOST) or (isinstance(error, AbortedError) and SHRINKS in text)
    quoted = (*(kind.__name__ for kind in _LOST), SHRINKS)
    return isinstance(error, RuntimeError) and any(each in text for each in quoted)


def shrink() -> dist.ProcessGroup:
    """The default group of the workers that are left, which call this after a call has failed.

    Ranks are in the old order.  It needs no store, so the host of rank 0 may be what has died; but
    the store of the new group is the old one's.  It does not wait for workers that are dead or have
    destroyed their group; for one that lives and does not call, it waits for the timeout of the
    group.  It ends the calls of a worker that has not noticed the failure.

    Where a step failed on one worker, another may have completed it: let the workers agree, for
    instance by a broadcast of weights, optimizer and step from rank 0.

    Raises ExcludedError if the others go on without this worker (docs/failures.md).
    """
    backend = _default()
    comm = _left_of(backend.communicator)
    return _begin(comm, c10d._get_default_store(), dist.get_backend(), backend.origin.timeout)


class Rendezvous:
    """Where new workers meet those that run.

    store: a store that all of them reach, as `dist.TCPStore(host, port)`; the program owns it, and
    a process that does not train had better hold it.  If the process that holds it dies, nothing is
    lost for the workers that run, which can still `shrink`, but nobody can join any more.
    timeout: how long a worker waits for another in `join` and `grow`.
    """

    def __init__(self, store: dist.Store, timeout: timedelta = timedelta(seconds=30)):
        self._store = store
        self._timeout = timeout

    def join(self, backend: str = NAME, patience: timedelta = timedelta(hours=1)) -> None:
        """Waits until the workers that run call `grow`, and makes the default group with them.

        patience: how long.  Raises TimeoutError, and as `init_process_group`.
        """
        ticket = self._store.add("tickets", 1)
        end = time.monotonic() + patience.total_seconds()
        asked = ""
        while (message := self._read(ticket)).split()[0] != "seat":
            if message == "void":  # this worker was too slow to answer
                ticket = self._store.add("tickets", 1)
            elif message != asked:
                self._store.set(f"answer/{ticket}", message)
                asked = message
            if time.monotonic() > end:
                self._store.set(f"message/{ticket}", "void")
                raise TimeoutError(
                    f"no worker has called grow() for {patience}; do they use the same store?"
                )
            time.sleep(0.01)
        generation, rank, size = map(int, message.split()[1:])
        store, comm = self._meet(generation, rank, size)
        _begin(comm, store, backend)

    def grow(self) -> int:
        """Takes in the workers that wait in `join`: how many.  All workers that run call this.

        They keep their ranks, and newcomers come after them.  Without newcomers it costs a request
        to the store and a broadcast, and changes nothing.

        Raises TimeoutError or PeerError, on all workers, if one of them or a newcomer dies
        meanwhile.  They have their old group then, which they `shrink`.
        """
        backend = _default()
        rank, size = dist.get_rank(), dist.get_world_size()
        plan: list[Any] = [self._newcomers() if rank == 0 else None]
        dist.broadcast_object_list(plan, src=0)
        generation, tickets = plan[0]
        if not tickets:
            return 0
        if rank == 0:
            for seat, ticket in enumerate(tickets, size):
                text = f"seat {generation} {seat} {size + len(tickets)}"
                self._store.set(f"message/{ticket}", text)
        store, comm = self._meet(generation, rank, size + len(tickets))
        _begin(comm, store, dist.get_backend(), backend.origin.timeout)
        return len(tickets)

    def _meet(self, generation: int, rank: int, size: int) -> tuple[dist.Store, Communicator]:
        store = dist.PrefixStore(f"generation/{generation}", self._store)
        return store, bootstrap.meet(dist.PrefixStore("meet", store), rank, size, self._timeout)

    def _newcomers(self) -> tuple[int, list[int]]:
        """The number of the next generation, and the tickets of those that wait and live.

        A store that does not answer has none.
        """
        try:
            first = self._store.add("settled", 0) + 1
            last = self._store.add("tickets", 0)
            if last < first:
                return 0, []
            generation = self._store.add("generation", 1)
            waiting = [t for t in range(first, last + 1) if not self._is_settled(t)]
            for ticket in waiting:
                self._store.set(f"message/{ticket}", f"ask {generation}")
            living = self._answering(waiting, f"ask {generation}")
            for ticket in set(waiting) - set(living):
                self._store.set(f"message/{ticket}", "void")
            # What comes of the living, the next look shows.
            settled = min(living, default=last + 1) - 1
            self._store.add("settled", settled - (first - 1))
            return generation, living
        except dist.DistError as error:
            _log.warning("nobody can join, as the store does not answer: %s", error)
            return 0, []

    def _is_settled(self, ticket: int) -> bool:
        return self._read(ticket).split()[0] in ("seat", "void")

    def _answering(self, tickets: list[int], question: str) -> list[int]:
        end = time.monotonic() + 1.0
        silent = list(tickets)
        while silent and time.monotonic() < end:
            silent = [t for t in silent if self._text(f"answer/{t}") != question]
            time.sleep(0.005)
        return [ticket for ticket in tickets if ticket not in silent]

    def _read(self, ticket: int) -> str:
        return self._text(f"message/{ticket}") or "wait"

    def _text(self, key: str) -> str:
        return self._store.get(key).decode() if self._store.check([key]) else ""


def _default() -> Collectives:
    if not dist.is_initialized():
        raise ArgumentError("there is no default process group; call init_process_group first")
    return backend_of(dist.group.WORLD)


def _left_of(old: Communicator) -> Communicator:
    """The communicator of the ranks that are left."""
    try:
        return old.shrink()[0]
    except ArgumentError:  # it has not failed here, as this rank has made no call since
        old.abort(SHRINKS)
        return old.shrink()[0]


def _begin(
    comm: Communicator, store: dist.Store, backend: str, timeout: timedelta | None = None
) -> dist.ProcessGroup:
    """Makes the default group of this communicator, in place of the one that there may be."""
    if dist.is_initialized():
        dist.destroy_process_group()
    with bootstrap.ready(comm):
        dist.init_process_group(
            backend, store=store, rank=comm.rank, world_size=comm.size, timeout=timeout
        )
    return dist.group.WORLD
