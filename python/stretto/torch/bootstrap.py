# SPDX-License-Identifier: BSD-3-Clause
"""How the ranks of a process group come to share a communicator.

The ranks of the default group meet through PyTorch's store.  Other groups are made of the default
group's communicator by their members alone, which takes no message through the store.
"""

from __future__ import annotations

import contextlib
import os
import weakref
import zlib
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import stretto
from stretto.communicator import Communicator

# That of the default group, as long as the group lives.
_of_default_group: weakref.ref[Communicator] | None = None


def join(options: Any) -> Communicator:
    """Makes the communicator of a group.  All its ranks call this.

    options: PyTorch's `_DistributedBackendOptions`.
    """
    global _of_default_group
    ranks = list(options.global_ranks_in_group or [])
    world = _of_default_group() if _of_default_group is not None else None
    if ranks and world is not None and not world.finalized:
        # All ranks of the job know the group by this name.
        tag = zlib.crc32(options.group_id.encode()) & 0x7FFFFFFF
        return world.create_group(ranks, tag)
    with _unlimited_waits():
        comm = stretto.init_by_exchange(
            options.group_rank,
            options.group_size,
            _StoreExchange(options.store, options.group_rank, options.group_size, options.timeout),
        )
    if not ranks:
        _of_default_group = weakref.ref(comm)
    return comm


class _StoreExchange:
    """Gathers bytes of all ranks through a store."""

    def __init__(self, store: Any, rank: int, size: int, timeout: timedelta):
        self._store, self._rank, self._size, self._timeout = store, rank, size, timeout
        self._round = 0

    def __call__(self, mine: bytes) -> bytes:
        keys = [f"stretto/{self._round}/{rank}" for rank in range(self._size)]
        self._round += 1
        self._store.set(keys[self._rank], mine)
        self._store.wait(keys, self._timeout)
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
