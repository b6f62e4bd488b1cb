# SPDX-License-Identifier: BSD-3-Clause
"""A process group whose members change: `init_process_group(..., enable_reconfigure=True)`.

PyTorch 2.14 has this for programs that learn from outside which workers there are.  Such a group
makes no communicator until `reconfigure` names its members, and then one for each such call; the
ranks and the size of the group are those of the last.

A handle says where a member's store is, and which member it is.  The first of the members is the
one in whose store they meet.
"""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from stretto.errors import ArgumentError, TimeoutError
from stretto.torch import bootstrap
from stretto.torch.process_group import ProcessGroup
from stretto.torch.recorded import recorded
from stretto.torch.shrinking import Origin
from stretto.torch.work import Done, Work

# What a group has only as long as it has members.
_OF_COMMUNICATOR = ("communicator", "_core", "_play", "_start", "_profiled")


def no_members() -> ArgumentError:
    return ArgumentError(
        "the default group has no members (enable_reconfigure=True); call "
        "torch.distributed.distributed_c10d._reconfigure first"
    )


class ReconfigurableGroup(ProcessGroup):
    """The default group of such a program.

    While it has no members, rank and size are those of `init_process_group`.
    """

    supports_reconfigure = True
    supports_shrinking = False  # it is reconfigured

    def __init__(self, options: Any):
        self._options = options
        self._rank, self._size = options.group_rank, options.group_size
        dist.ProcessGroup.__init__(self, self._rank, self._size)
        self.origin = Origin.of(options)
        self._timeout = self.origin.timeout
        self._store: dist.TCPStore | None = None
        self._handle = ""

    def __getattr__(self, name: str) -> Any:
        if name in _OF_COMMUNICATOR:
            raise no_members()
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def getRank(self) -> int:
        return self._rank

    def getSize(self) -> int:
        return self._size

    def set_timeout(self, timeout: timedelta) -> None:
        self._timeout = timeout
        if self.joined:
            super().set_timeout(timeout)

    def shutdown(self) -> None:
        if self.joined:
            super().shutdown()

    @property
    def joined(self) -> bool:
        """Whether it has members."""
        return "communicator" in self.__dict__

    def get_reconfigure_handle(self) -> str:
        """What names this process as a member; the same at each call."""
        if self._store is None:
            self._store = dist.TCPStore("0.0.0.0", 0, is_master=True, wait_for_workers=False)
            address = _own_address(self._options.store)
            self._handle = f"{address}:{self._store.port}/{secrets.token_hex(8)}"
        return self._handle

    def reconfigure(self, opts: Any) -> Work:
        """Makes the communicator of these members, which all call this.

        opts: PyTorch's `ReconfigureOptions`.  Its handles are the members' in the order of their
        ranks; of a set the order is that of the handles.  Calls of the communicator before, in
        flight or waiting, end with an error on all its ranks.  The group is in place when this
        returns.

        Raises ArgumentError if this process is not among the members, and TimeoutError that names
        the ranks that have not come in time; the group has no members then.  TimeoutError as well
        if another thread of this process is still in a call then, although it was ended.
        """
        handles = opts.handles
        members = list(handles) if isinstance(handles, Sequence) else sorted(handles)
        if self.get_reconfigure_handle() not in members:
            raise ArgumentError(
                f"reconfigure: this process, {self._handle}, is not among the members: {members}"
            )
        if len(set(members)) != len(members):
            raise ArgumentError(f"reconfigure: a member is named twice: {members}")
        timeout = opts.timeout or self.origin.timeout
        self._leave(timeout)
        rank, size = members.index(self._handle), len(members)
        store = dist.PrefixStore(f"{opts.uuid}/", self._store_of(members[0], timeout))
        comm = bootstrap.meet(store, rank, size, timeout)
        now = SimpleNamespace(
            store=store,
            group_id=self._options.group_id,
            group_rank=rank,
            group_size=size,
            global_ranks_in_group=[],
            timeout=timeout,
        )
        self._open(comm, rank, size, recorded(comm._core, now))
        super().set_timeout(self._timeout)
        if self is c10d.GroupMember.WORLD:
            bootstrap.set_default_group(comm)
            c10d._world.pg_group_ranks[self] = {member: member for member in range(size)}
        return Done()

    def _leave(self, timeout: timedelta) -> None:
        """Ends the calls of the communicator before, and waits for threads that are in them."""
        if not self.joined:
            return
        self.communicator.abort("the process group is reconfigured")
        end = time.monotonic() + timeout.total_seconds()
        while not self.communicator.finalized:
            try:
                self.communicator.finalize()
            except ArgumentError as error:  # another thread is in a call, which ends just now
                if time.monotonic() > end:
                    raise TimeoutError(f"reconfigure: {error}") from error
                time.sleep(0.001)
        for name in _OF_COMMUNICATOR:
            delattr(self, name)
        self._rank, self._size = self._options.group_rank, self._options.group_size

    def _store_of(self, handle: str, timeout: timedelta) -> dist.Store:
        if handle == self._handle:
            assert self._store is not None
            return self._store
        host, _, port = handle.partition("/")[0].rpartition(":")
        if not host or not port.isdecimal():
            raise ArgumentError(
                f"reconfigure: {handle!r} is no handle of a stretto group; each member's is what "
                "its get_reconfigure_handle gives"
            )
        try:
            return dist.TCPStore(host, int(port), is_master=False, timeout=timeout)
        except dist.DistError as error:
            raise TimeoutError(
                f"reconfigure: the first member, {handle}, in whose store the others meet, did "
                f"not answer within {timeout}; look whether it runs, and whether this host "
                f"reaches that address: {error}"
            ) from error


def _own_address(store: Any) -> str:
    """An address of this host at which those reach it that reach `store`, or know its name."""
    while isinstance(store, dist.PrefixStore):
        store = store.underlying_store
    host, port = (
        (store.host, store.port)
        if isinstance(store, dist.TCPStore)
        else (socket.gethostname(), 1)  # any port will do
    )
    try:
        first, *_ = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    except OSError:  # a host without a name, of which others cannot be members
        return "127.0.0.1"
    family, kind, protocol, _, address = first
    with socket.socket(family, kind, protocol) as towards:
        towards.connect(address)  # a datagram socket sends nothing for it
        return str(towards.getsockname()[0])
