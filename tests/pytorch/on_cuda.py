# SPDX-License-Identifier: BSD-3-Clause
"""What ranks do with CUDA tensors, of the simulated driver or of a GPU."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import real_cuda
import simulated_cuda
import torch
import torch.distributed as dist
from exact import assert_same, mine, reduced
from stretto.errors import ArgumentError
from stretto.torch import register

F32, COUNT = torch.float32, 1009
parts: Any = None  # of the simulated PyTorch
warming = False  # streams are not held up


def prepare(folder: Path | None, waits: str = "stream") -> None:
    """Before the group of a rank is made.  folder: of the simulated driver; None: there is a GPU.
    waits: what waits for calls, as STRETTO_TORCH_CUDA."""
    global parts
    os.environ["STRETTO_TORCH_CUDA"] = waits
    parts = real_cuda if folder is None else simulated_cuda.install(folder)
    dist.Backend._plugins.pop("STRETTO", None)  # registered at PyTorch's import, without CUDA
    register()


def streams_wait() -> bool:
    return os.environ["STRETTO_TORCH_CUDA"] == "stream"


def here() -> tuple[int, int]:
    return dist.get_rank(), dist.get_world_size()


def by_default(function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls it where new tensors are made on the device unless it says otherwise."""
    torch.set_default_device("cuda")
    try:
        return function(*arguments)
    finally:
        torch.set_default_device(None)


def warmed(function: Callable[..., None], *arguments: Any) -> None:
    """On a GPU, calls it once before: the first launch of each kernel may wait for the device."""
    global warming
    if parts is real_cuda:
        warming = True
        try:
            function(*arguments)
        finally:
            warming = False
    function(*arguments)


def of_few(function: Callable[[], None]) -> None:
    """A case of test_collectives, with some of its types and counts."""
    import test_collectives as cases

    all_of_them = cases.counts, cases.DTYPES, cases.LARGE
    cases.counts = lambda size: [0, 1, size + 1, 1009]
    cases.DTYPES = [
        torch.bfloat16,
        torch.float32,
        torch.complex64,
        torch.uint8,
        torch.int64,
        torch.bool,
    ]
    cases.LARGE = (1 << 18) + 3
    try:
        by_default(function)
    finally:
        cases.counts, cases.DTYPES, cases.LARGE = all_of_them


def await_end(work: dist.Work) -> None:
    """Returns when the work says that it has ended; no thread waits for it."""
    end = time.monotonic() + 60
    while not work.is_completed():
        assert time.monotonic() < end, "the work does not end"
        time.sleep(0.001)


# ---- in the order of streams


def on_device(rank: int, count: int = COUNT, dtype: torch.dtype = F32) -> torch.Tensor:
    return mine(rank, dist.get_world_size(), count, dtype).cuda()


class Behind:
    """Work behind a gate of the current stream: nothing of it has happened before `opened`."""

    def __enter__(self) -> Behind:
        self.stream = torch.cuda.current_stream()
        self.gate = None if warming else parts.Gate()
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if self.gate is None:
            return
        waits = not self.stream.query()
        self.gate.open()
        self.stream.synchronize()
        assert kind is not None or waits, "the host has waited for the stream"


def late(values: torch.Tensor) -> torch.Tensor:
    """A tensor that has these values, on the host, when the stream has come so far."""
    return torch.empty(values.shape, dtype=values.dtype, device="cuda").copy_(
        values, non_blocking=True
    )


def every_form(asynchronous: bool) -> None:
    """Each kind of call between late inputs and what reads the results, and the host waits for none
    of them."""
    rank, size = here()
    root, dtype = size - 1, torch.int32

    def own(count: int = COUNT, r: int = rank) -> torch.Tensor:
        return mine(r, size, count, dtype)

    def room(count: int = COUNT) -> torch.Tensor:
        return torch.empty(count, dtype=dtype, device="cuda").fill_(-1)

    def strided(values: torch.Tensor) -> torch.Tensor:
        return torch.empty(2 * COUNT, dtype=dtype, device="cuda")[::2].copy_(
            values, non_blocking=True
        )

    total = reduced(size, COUNT, dtype, "SUM")
    everyone = [own(r=r) for r in range(size)]
    whole = reduced(size, COUNT * size, dtype, "SUM").split(COUNT)[rank]
    parts_for_me = torch.cat([own(COUNT * size, r).split(COUNT)[rank] for r in range(size)])
    flat = torch.cat(everyone)
    at_root = rank == root

    def rooms() -> list[torch.Tensor]:
        return [room() for _ in range(size)]

    def summed(x: torch.Tensor) -> tuple[Any, Any, Any]:
        return dist.all_reduce(x, async_op=asynchronous), x, total

    def gathered_into(y: torch.Tensor) -> tuple[Any, Any, Any]:
        return dist.all_gather_into_tensor(y, late(own()), async_op=asynchronous), y, flat

    def gathered(y: list[torch.Tensor]) -> tuple[Any, Any, Any]:
        return dist.all_gather(y, late(own()), async_op=asynchronous), y, everyone

    def reduced_to(x: torch.Tensor) -> tuple[Any, Any, Any]:
        return dist.reduce(x, root, async_op=asynchronous), *((x, total) if at_root else ((), ()))

    def broadcasted(x: torch.Tensor) -> tuple[Any, Any, Any]:
        return dist.broadcast(x, root, async_op=asynchronous), x, everyone[root]

    def scattered_sum(y: torch.Tensor) -> tuple[Any, Any, Any]:
        x = late(own(COUNT * size))
        return dist.reduce_scatter_tensor(y, x, async_op=asynchronous), y, whole

    def scattered_sum_of_list(y: torch.Tensor) -> tuple[Any, Any, Any]:
        x = [late(part) for part in own(COUNT * size).split(COUNT)]
        return dist.reduce_scatter(y, x, async_op=asynchronous), y, whole

    def gathered_at_root(y: list[torch.Tensor] | None) -> tuple[Any, Any, Any]:
        work = dist.gather(late(own()), y, root, async_op=asynchronous)
        return work, y or (), everyone if at_root else ()

    def scattered(y: torch.Tensor) -> tuple[Any, Any, Any]:
        x = [late(part) for part in everyone] if at_root else None
        return dist.scatter(y, x, root, async_op=asynchronous), y, everyone[rank]

    def exchanged(y: torch.Tensor) -> tuple[Any, Any, Any]:
        x = late(own(COUNT * size))
        return dist.all_to_all_single(y, x, async_op=asynchronous), y, parts_for_me

    calls: list[Callable[[], tuple[Any, Any, Any]]] = [
        lambda: summed(late(own())),
        lambda: summed(strided(own())),
        lambda: gathered_into(room(COUNT * size)),
        lambda: gathered(rooms()),
        lambda: gathered(list(room(COUNT * size).split(COUNT))),
        lambda: reduced_to(late(own())),
        lambda: broadcasted(late(own())),
        lambda: broadcasted(strided(own())),
        lambda: scattered_sum(room()),
        lambda: scattered_sum(strided(own())),
        lambda: scattered_sum_of_list(room()),
        lambda: gathered_at_root(rooms() if at_root else None),
        lambda: scattered(room()),
        lambda: exchanged(room(COUNT * size)),
    ]
    for number, call in enumerate(calls):
        with Behind():
            work, got, wanted = call()
            if asynchronous:
                assert warming or not work.is_completed()
                work.wait()
            else:
                assert work is None
            results = [got] if isinstance(got, torch.Tensor) else got
            read = [each.clone() for each in results]  # behind the call
        for found, right in zip(
            read, [wanted] if isinstance(wanted, torch.Tensor) else wanted, strict=True
        ):
            assert_same(found.cpu(), right, number)


def coalesced() -> None:
    rank, size = here()
    wanted = reduced(size, COUNT, F32, "SUM")
    with Behind():
        tensors = [late(mine(rank, size, COUNT, F32)) for _ in range(3)]
        with dist._coalescing_manager(device=torch.device("cuda"), async_ops=True) as manager:
            for tensor in tensors:
                dist.all_reduce(tensor)
        manager.wait()
        read = [tensor.clone() for tensor in tensors]
    for found in read:
        assert_same(found.cpu(), wanted)


def beside_the_program() -> None:
    """A call with async_op=True does not hold up what the current stream does next; a wait holds up
    the stream in which it is made, and no other."""
    rank, size = here()
    if rank != 0:
        dist.recv(torch.empty(1), 0)  # in host memory: rank 0 is beyond its call
    x = on_device(rank)
    work = dist.all_reduce(x, async_op=True)
    if rank == 0:
        other = torch.full((4,), 7, device="cuda")
        torch.cuda.current_stream().synchronize()
        assert size == 1 or not work.is_completed()
        for r in range(1, size):
            dist.send(torch.ones(1), r)
        assert other.tolist() == [7] * 4
    with torch.cuda.stream(torch.cuda.Stream()):
        work.wait()
        assert_same(x.cpu(), reduced(size, COUNT, F32, "SUM"))


def memory_stays() -> None:
    """Tensors that the program drops, and those that the backend makes, are not given to others
    before the call is over."""
    rank, size = here()
    wanted = reduced(size, COUNT, F32, "SUM")
    for blocking in (True, False):
        for strided in (True, False):
            with Behind():
                x = torch.empty(COUNT, 2 if strided else 1, device="cuda")[:, -1]
                x.copy_(mine(rank, size, COUNT, F32), non_blocking=True)
                work = dist.all_reduce(x, async_op=not blocking)
                others = [torch.empty(COUNT, device="cuda").fill_(-5) for _ in range(4)]
                if not blocking:
                    work.wait()
                y = x.clone()
                del work, x
            assert_same(y.cpu(), wanted)
            for other in others:
                assert other.eq(-5).all()
    # Nobody waits, and nobody keeps the tensor.
    with Behind():
        dist.all_reduce(on_device_late(rank), async_op=True)
        others = [torch.empty(COUNT, device="cuda").fill_(-5) for _ in range(4)]
    dist.barrier()
    assert all(other.eq(-5).all() for other in others)


def on_device_late(rank: int) -> torch.Tensor:
    return late(mine(rank, dist.get_world_size(), COUNT, F32))


def both_memories() -> None:
    """Calls in host memory pass those that wait for a stream."""
    rank, size = here()
    wanted = reduced(size, COUNT, F32, "SUM")
    with Behind():
        x = on_device_late(rank)
        dist.all_reduce(x)
        for asynchronous in (False, True):
            y = mine(rank, size, COUNT, F32)
            work = dist.all_reduce(y, async_op=asynchronous)
            if asynchronous:
                work.wait()
            assert_same(y, wanted)
    assert_same(x.cpu(), wanted)
    with pytest.raises(ArgumentError, match=r"not on cpu, cuda:0; use to\(\)"):
        dist.all_gather_into_tensor(torch.empty(size * COUNT, device="cuda"), x.cpu())
    with pytest.raises(ArgumentError, match="integers have no exact average"):
        dist.all_reduce(torch.ones(3, dtype=torch.int32, device="cuda"), dist.ReduceOp.AVG)
    dist.all_reduce(x)


def barriers() -> None:
    """They wait for the stream."""
    dist.all_reduce(torch.ones(1, device="cuda"))
    order: list[str] = []
    gate = parts.Gate()

    def open_soon() -> None:
        time.sleep(0.2)
        order.append("opened")
        gate.open()

    opening = threading.Thread(target=open_soon)
    opening.start()
    dist.barrier()
    order.append("passed")
    opening.join()
    assert order == ["opened", "passed"]


def futures() -> None:
    rank, size = here()
    x = on_device(rank)
    with Behind():
        future = dist.all_reduce(x, async_op=True).get_future()
        assert future.done()  # its readers wait on their streams
        doubled = future.then(lambda done: done.value()[0].clone()).wait()
        future.wait()
        read = x.clone()
    assert_same(read.cpu(), reduced(size, COUNT, F32, "SUM"))
    assert_same(doubled.cpu(), reduced(size, COUNT, F32, "SUM"))


# ---- hosts that wait


def behind_the_stream(asynchronous: bool) -> None:
    """A call begins behind the stream's work, and what the stream is given next does not wait."""
    rank, size = here()
    wanted = reduced(size, COUNT, F32, "SUM")
    for strided in (False, True):
        stream = torch.cuda.current_stream()
        gate = parts.Gate()
        x = torch.empty(COUNT, 2 if strided else 1, device="cuda")[:, -1]
        x.copy_(mine(rank, size, COUNT, F32), non_blocking=True)
        opening = threading.Timer(0.2, gate.open)
        opening.start()
        work = dist.all_reduce(x, async_op=asynchronous)
        if asynchronous:
            assert not stream.query()
            opening.join()
            y = torch.ones(5, device="cuda") + 1
            stream.synchronize()  # although nobody has waited for the call
            assert y.tolist() == [2] * 5
            work.wait()
            assert work.is_success()
        opening.join()
        assert_same(x.cpu(), wanted)


def memory_of_dropped_works() -> None:
    """Tensors of which nobody keeps anything are not given to others before the call is over."""
    rank, size = here()
    for _ in range(10):
        dist.all_reduce(on_device(rank), async_op=True)
        others = [torch.empty(COUNT, device="cuda").fill_(-5) for _ in range(4)]
        dist.barrier()
        assert all(other.eq(-5).all() for other in others)


def futures_of_waiting_hosts() -> None:
    rank, size = here()
    wanted = reduced(size, COUNT, F32, "SUM")
    x = on_device(rank)
    future = dist.all_reduce(x, async_op=True).get_future()
    doubled = future.then(lambda done: 2 * done.value()[0])
    assert_same(doubled.wait().cpu(), 2 * wanted)
    assert_same(future.wait()[0].cpu(), wanted)
