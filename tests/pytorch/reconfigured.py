# SPDX-License-Identifier: BSD-3-Clause
"""A worker of test_reconfiguring.py, which knows nothing of the others but what the store says.

reconfigured.py NAME STORE_PORT
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from datetime import timedelta

import stretto_autoload
import torch
import torch.distributed as dist
from stretto.errors import ArgumentError, TimeoutError
from stretto.torch import communicator, membership
from torch.distributed import distributed_c10d as c10d

stretto_autoload.register()
NAME = sys.argv[1]
STORE = dist.TCPStore("127.0.0.1", int(sys.argv[2]), is_master=False)


def handle_of(name: str) -> str:
    return STORE.get(f"handle/{name}").decode()


def reconfigure(uuid: int, *names: str, ordered: bool = True, seconds: float = 60) -> None:
    handles = [handle_of(name) for name in names]
    c10d._reconfigure(
        uuid, handles if ordered else set(handles), timeout=timedelta(seconds=seconds)
    ).wait()


def check(*names: str) -> None:
    """The members have these names, in the order of their ranks."""
    rank, size = names.index(NAME), len(names)
    assert (dist.get_rank(), dist.get_world_size()) == (rank, size)
    assert communicator().size == size
    given: list = [None] * size
    dist.all_gather_object(given, NAME)
    assert given == list(names), given
    x = torch.full((1000,), rank + 1)
    dist.all_reduce(x)
    assert (x == size * (size + 1) // 2).all()
    group = dist.new_group([0, size - 1])
    if rank in (0, size - 1):
        root = torch.tensor([rank])
        dist.broadcast(root, src=size - 1, group=group)
        assert root.item() == size - 1
    print("checked", *names, flush=True)


def meet(what: str, *names: str) -> None:
    """All have left their calls, which the next reconfigure of one of them would end."""
    STORE.set(f"left/{what}/{NAME}", "")
    STORE.wait([f"left/{what}/{name}" for name in names])


def refuse() -> None:
    """What cannot be done names the reason, and harms nothing."""
    for names, words in ((("b",), "not among the members"), ((NAME, NAME), "named twice")):
        try:
            reconfigure(99, *names)
        except ArgumentError as error:
            assert words in str(error), error
        else:
            raise AssertionError(f"{names} were accepted")


def refuse_without_members() -> None:
    for call in (dist.barrier, lambda: dist.new_group([0])):
        try:
            call()
        except ArgumentError as error:
            assert "_reconfigure" in str(error), error
        else:
            raise AssertionError("a group without members has calls")
    handle = "127.0.0.1:1/0"
    try:
        c10d._reconfigure(
            98, [handle, c10d._get_reconfigure_handle()], timeout=timedelta(seconds=0.1)
        )
    except TimeoutError as error:
        assert handle in str(error), error
    else:
        raise AssertionError("a member that is not there has answered")


def wait_in_a_call(ended: list[str]) -> None:
    """Of another thread, until the group is reconfigured."""
    try:
        dist.recv(torch.zeros(1), src=0)
    except RuntimeError as error:
        ended.append(str(error))


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group(
        "stretto", store=dist.HashStore(), rank=0, world_size=1, enable_reconfigure=True
    )
    assert c10d._supports_reconfigure()
    handle = c10d._get_reconfigure_handle()
    assert handle == c10d._get_reconfigure_handle()
    STORE.set(f"handle/{NAME}", handle)
    refuse_without_members()

    if NAME != "new":
        reconfigure(1, "c", "a", "b")
        check("c", "a", "b")
        if NAME == "a":
            refuse()
        dist.barrier()
        if NAME == "b":
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            for _ in range(100_000):
                dist.barrier()
        except RuntimeError as error:
            assert membership.lost(error), error
        two = sorted(("a", "c"), key=handle_of)
        reconfigure(2, "a", "c", ordered=False)
        check(*two)
        meet("first", "a", "c")
        waiting = None
        if dist.get_rank() == 1:
            ended: list[str] = []
            waiting = threading.Thread(target=wait_in_a_call, args=(ended,))
            waiting.start()
            time.sleep(0.1)
        reconfigure(5, *two)
        check(*two)
        if waiting is not None:
            waiting.join()
            assert len(ended) == 1, ended
        meet("second", "a", "c")
    if NAME == "c":  # "new" does not come yet
        try:
            reconfigure(3, "c", "new", seconds=0.3)
        except TimeoutError as error:
            assert "for ranks [1] of 2" in str(error), error
        else:
            raise AssertionError("nobody came, and nobody was missed")
        assert (dist.get_rank(), dist.get_world_size()) == (0, 1)
        refuse_without_members()
    reconfigure(4, "new", "a", "c")
    check("new", "a", "c")
    dist.destroy_process_group()
    print("end", flush=True)


main()
