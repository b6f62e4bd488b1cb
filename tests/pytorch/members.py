# SPDX-License-Identifier: BSD-3-Clause
"""A worker of test_membership.py.

members.py CASE [STORE_PORT]
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from datetime import timedelta

import stretto_autoload
import torch
import torch.distributed as dist
from stretto.errors import ExcludedError
from stretto.torch import communicator, membership
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.distributed_c10d import SHRINK_ABORT

stretto_autoload.register()
NAME = os.environ.get("RANK", "new")
CALLS = 100_000  # enough to be in one when a worker dies


def sum_of_ranks(group: dist.ProcessGroup | None = None) -> int:
    x = torch.full((1000,), float(dist.get_rank() + 1))
    dist.all_reduce(x, group=group)
    assert (x == x[0]).all()
    return int(x[0])


def check_world(size: int) -> None:
    """All that needs ranks from 0 to size - 1: calls, groups, a mesh, objects."""
    assert dist.get_world_size() == size
    assert dist.get_backend() == "stretto"
    assert sum_of_ranks() == size * (size + 1) // 2
    even = list(range(0, size, 2))
    group = dist.new_group(even)
    if dist.get_rank() in even:
        assert sum_of_ranks(group) == sum(rank + 1 for rank in even)
    mesh = init_device_mesh("cpu", (size,))
    assert sum_of_ranks(mesh.get_group()) == size * (size + 1) // 2
    names: list = [None] * size
    dist.all_gather_object(names, NAME)
    print("world", *names, flush=True)


def lose(rank: int) -> None:
    """This rank dies, in the others' calls."""
    ready = torch.zeros(1)
    if dist.get_rank() == rank:
        for other in set(range(dist.get_world_size())) - {rank}:
            dist.recv(ready, other)
        time.sleep(0.1)  # until the others' sends have returned
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        dist.send(ready, rank)
        for _ in range(CALLS):
            sum_of_ranks()
    except RuntimeError as error:
        assert membership.lost(error), error
    else:
        raise AssertionError("nobody died")


def shrink() -> None:
    """Twice, and rank 0 dies first, who holds the store."""
    size = dist.get_world_size()
    lose(0)
    began = time.monotonic()
    membership.shrink()
    print("shrunk in", time.monotonic() - began, flush=True)
    check_world(size - 1)
    lose(dist.get_world_size() - 1)
    membership.shrink()
    check_world(size - 2)


def shrink_while_shrinking() -> None:
    """Another rank dies when the others shrink already."""
    size = dist.get_world_size()
    lose(0)
    if dist.get_rank() == 1:
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
    membership.shrink()
    check_world(size - 2)


def unnoticed() -> None:
    """One rank makes no call after the failure, and shrinks with the others."""
    size = dist.get_world_size()
    if dist.get_rank() == size - 1:
        dist.send(torch.zeros(1), 0)
        time.sleep(1)
    else:
        lose(0)
    membership.shrink()
    check_world(size - 1)


def unnoticed_by_all() -> None:
    """One rank shrinks while others are in a call, and knew first that another will die."""
    size = dist.get_world_size()
    if dist.get_rank() == 0:
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGKILL)
    if dist.get_rank() != size - 1:
        try:
            sum_of_ranks()
        except RuntimeError as error:
            assert membership.lost(error), error
            assert membership.lost(RuntimeError(f"DDP: {error}"))
        else:
            raise AssertionError("rank 0 has called")
    membership.shrink()
    check_world(size - 1)


def absent() -> None:
    """One worker lives, and shrinks only when the others have gone on without it."""
    size = dist.get_world_size()
    communicator().set_timeout(2)
    absent = dist.get_rank() == size - 1
    if absent:
        time.sleep(6)
    try:
        membership.shrink()
    except ExcludedError:
        assert absent
        print("excluded", flush=True)
        return
    communicator().set_timeout(60)
    check_world(size - 1)


def aborted() -> None:
    """A program that ends its calls has not lost a worker."""
    communicator().abort("enough")
    try:
        sum_of_ranks()
    except RuntimeError as error:
        assert not membership.lost(error)
        print("aborted", flush=True)


def exclude() -> None:
    """A rank that lives."""
    size = dist.get_world_size()
    if dist.get_rank() == 1:
        time.sleep(2)  # and is not waited for
        return
    dist.shrink_group([1])
    check_world(size - 1)


def exclude_lost() -> None:
    """A rank that has died, by the store."""
    size = dist.get_world_size()
    lose(1)
    dist.shrink_group([1])
    check_world(size - 1)


def abort() -> None:
    """Calls of the others are in flight, and wait for a rank that is to be excluded."""
    size = dist.get_world_size()
    if dist.get_rank() == 1:
        time.sleep(2)
        return
    work = None
    with contextlib.suppress(RuntimeError):  # another rank was quicker, and shrinks already
        work = dist.all_reduce(torch.ones(10), async_op=True)
    dist.shrink_group([1], shrink_flags=SHRINK_ABORT)
    try:
        if work is not None:
            work.wait()
            raise AssertionError("the call has not failed")
    except RuntimeError:
        pass
    check_world(size - 1)


def exclude_of_group() -> None:
    size = dist.get_world_size()
    group = dist.new_group(list(range(size)))
    if dist.get_rank() != 0:
        smaller = dist.shrink_group([0], group)
        assert smaller.size() == size - 1
        assert sum_of_ranks(smaller) == size * (size + 1) // 2 - 1
    assert sum_of_ranks() == size * (size + 1) // 2


def grow() -> None:
    """Newcomers join, one of them after a loss; a dead one does not delay the others."""
    port = int(sys.argv[2])
    rendezvous = membership.Rendezvous(
        dist.TCPStore("127.0.0.1", port, is_master=False), timedelta(seconds=60)
    )
    if NAME == "new":
        rendezvous.join()
    else:
        assert rendezvous.grow() == 0
        dist.barrier()
        print("ready", flush=True)
        while not rendezvous.grow():
            time.sleep(0.05)
    check_world(3)
    lose(0)
    membership.shrink()
    check_world(2)


def main() -> None:
    torch.set_num_threads(1)
    if NAME != "new":
        dist.init_process_group("stretto", timeout=timedelta(seconds=60))
        assert communicator().size == dist.get_world_size()
    globals()[sys.argv[1]]()
    if dist.is_initialized():
        dist.destroy_process_group()
    print("end", flush=True)


if __name__ == "__main__":
    main()
