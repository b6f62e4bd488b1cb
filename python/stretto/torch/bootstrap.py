# SPDX-License-Identifier: BSD-3-Clause
"""How the ranks of a process group come to share a communicator.

The ranks of the default group meet through PyTorch's store.  Other groups are made of the default
group's communicator by their members alone, which takes no message through the store.
"""

from __future__ import annotations

import contextlib
import os
import weakref
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import torch.distributed as dist

import stretto
from stretto.communicator import Communicator
from stretto.errors import TimeoutError

# That of the default group, as long as the group lives.
_of_default_group: weakref.ref[Communicator] | None = None
# How many groups of the same ranks were made of a communicator.
_groups_made: weakref.WeakKeyDictionary[Communicator, Counter] = weakref.WeakKeyDictionary()
# That of a default group whose ranks have met before it is made.
_ready: Communicator | None = None


def join(options: Any) -> Communicator:
    """Makes the communicator of a group.  All its ranks call this.

    options: PyTorch's `_DistributedBackendOptions`.
    """
    ranks = list(options.global_ranks_in_group or [])
    world = of_default_group()
    if ranks and world is not None:
        return create_group(world, ranks)
    comm = _ready
    if ranks or comm is None:
        comm = meet(options.store, options.group_rank, options.group_size, options.timeout)
    if not ranks:
        set_default_group(comm)
    return comm


def meet(store: Any, rank: int, size: int, timeout: timedelta) -> Communicator:
    """Makes a job's communicator by a store that all its ranks reach.  They call this with stores
    of the same prefix, under which nothing has met before."""
    with _unlimited_waits():
        return stretto.init_by_exchange(rank, size, _StoreExchange(store, rank, size, timeout))


def create_group(world: Communicator, ranks: list[int]) -> Communicator:
    """The communicator of these ranks of the default group, which alone call this.

    They know which one is meant by how many of the same ranks they have made before, and not by
    PyTorch's name of the group: that differs where some of them still have groups that others,
    which came later, never had.
    """
    made = _groups_made.setdefault(world, Counter())
    comm = world.create_group(ranks, made[tuple(ranks)] % 2**31)
    made[tuple(ranks)] += 1  # one that came to nothing, on some of them maybe, does not count
    return comm


def of_default_group() -> Communicator | None:
    """The communicator of the default group; None if there is none, or it is not Stretto's."""
    comm = _of_default_group() if _of_default_group is not None else None
    return None if comm is None or comm.finalized else comm


def set_default_group(comm: Communicator) -> None:
    global _of_default_group
    _of_default_group = weakref.ref(comm)


@contextlib.contextmanager
def ready(comm: Communicator) -> Iterator[None]:
    """A default group that is made meanwhile has this communicator: its ranks have met."""
    global _ready
    _ready = comm
    try:
        yield
    finally:
        _ready = None


class _StoreExchange:
    """Gathers bytes of all ranks through a store."""

    def __init__(self, store: Any, rank: int, size: int, timeout: timedelta):
        self._store, self._rank, self._size, self._timeout = store, rank, size, timeout
        self._round = 0

    def __call__(self, mine: bytes) -> bytes:
        keys = [f"stretto/{self._round}/{rank}" for rank in range(self._size)]
        self._round += 1
        self._store.set(keys[self._rank], mine)
        try:
            self._store.wait(keys, self._timeout)
        except dist.DistStoreError as error:
            late = [rank for rank, key in enumerate(keys) if not self._store.check([key])]
            raise TimeoutError(
                f"rank {self._rank} has waited {self._timeout} in the store for ranks {late} of "
                f"{self._size}; look whether they run, and use the same store: {error}"
            ) from error
        return b"".join(self._store.multi_get(keys))


@contextlib.contextmanager
def _unlimited_waits() -> Iterator[None]:
    """The group's own timeout limits calls, which `set_timeout` of the backend sets: the default of
    STRETTO_TIMEOUT is shorter than PyTorch's."""
    name = "STRETTO_TIMEOUT"
    if name in os.environ:
        yield
        return
    os.environ[name] = "0"
    try:
        yield
    finally:
        del os.environ[name]
