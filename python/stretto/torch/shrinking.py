# SPDX-License-Identifier: BSD-3-Clause
"""What `torch.distributed.shrink_group` asks of a backend.

The remaining ranks make their communicator in a way that depends only on what all of them pass and
not on what one of them has seen, since a rank may not know yet that the calls of the others have
failed.  The ranks that remain of the default group meet through its store: whatever became of the
old communicator, and without waiting for excluded ranks, which may live.  PyTorch itself connects
to that store afterwards; `membership.shrink` does without.  The ranks of another group make a group
of the default group's communicator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch.distributed as dist
from torch.distributed.distributed_c10d import SHRINK_ABORT

from stretto.communicator import Communicator
from stretto.errors import ArgumentError, RevokedError
from stretto.torch import bootstrap


@dataclass(frozen=True)
class Origin:
    """Of what a group was made; a shrunk group is made of the same."""

    name: str
    store: Any
    ranks: tuple[int, ...]
    """Ranks of the default group; none: it is the default group."""
    timeout: timedelta

    @classmethod
    def of(cls, options: Any) -> Origin:
        """options: PyTorch's `_DistributedBackendOptions`."""
        ranks = tuple(options.global_ranks_in_group or ())
        return cls(options.group_id, options.store, ranks, options.timeout)


SHRINKS = "the process group shrinks"
"""Why calls of other ranks are aborted."""


class Shrinking:
    """A group of which a smaller one can be made: a part of process groups and backends."""

    communicator: Communicator
    origin: Origin
    supports_shrinking = True
    _rank: int
    _size: int
    _shrinks = 0

    def shrink(self, ranks_to_exclude: Sequence[int], shrink_flags: int = 0, opts: Any = None):
        """The backend of the remaining ranks, which call this with the same arguments.

        shrink_flags: with SHRINK_ABORT, calls in flight on the old group end with an error.
        Raises TimeoutError that names the ranks that have not come within the group's timeout, or,
        if it is not the default group, within STRETTO_INIT_TIMEOUT.
        """
        if opts is not None:
            raise ArgumentError("shrink_group: the stretto backend has no options (pg_options)")
        if shrink_flags == SHRINK_ABORT:
            self.communicator.abort(SHRINKS)
        self._shrinks += 1
        left = [rank for rank in range(self._size) if rank not in ranks_to_exclude]
        name = f"{self.origin.name} {self._shrinks} without {list(ranks_to_exclude)}"
        store = dist.PrefixStore(f"{name}/", self.origin.store)
        ranks = tuple(self.origin.ranks[rank] for rank in left if self.origin.ranks)
        if ranks:
            comm = _group_of_default(ranks)
        else:
            comm = bootstrap.meet(store, left.index(self._rank), len(left), self.origin.timeout)
            bootstrap.set_default_group(comm)
        made = self._alike(comm)
        set_origin(made, Origin(name, store, ranks, self.origin.timeout))
        return made

    def _alike(self, comm: Communicator) -> Any:
        """A backend of the same kind over this communicator."""
        return type(self)(comm, comm.rank, comm.size)  # type: ignore[call-arg]


def set_origin(made: Any, origin: Origin) -> None:
    """Says of what a backend is made, which limits its calls from now on."""
    getattr(made, "calls", made).origin = origin  # a compiled backend leaves that to its calls
    made.set_timeout(origin.timeout)


def _group_of_default(ranks: tuple[int, ...]) -> Communicator:
    world = bootstrap.of_default_group()
    if world is None:
        raise ArgumentError(
            "shrink_group: the default group is not there any more; shrink it first"
        )
    try:
        return bootstrap.create_group(world, list(ranks))
    except RevokedError as error:
        raise RevokedError(
            f"shrink_group: the default group has failed as well; shrink it first. {error}"
        ) from error
