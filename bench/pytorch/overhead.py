#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The processor time of calls of torch.distributed in a job of one rank, in microseconds: with
PyTorch's *fake* backend, which does nothing, and with Stretto's; and that of Stretto's own call.

    python bench/pytorch/overhead.py [MODE...]        modes: group backend compiled
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial

import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore

TURNS, CALLS = 20, 3000


def microseconds(call: Callable[[], object]) -> float:
    """Of a call, at best: the time of this thread alone, which other programs do not lengthen."""
    best = float("inf")
    for _ in range(TURNS):
        start = time.thread_time()
        for _ in range(CALLS):
            call()
        best = min(best, time.thread_time() - start)
    return best / CALLS * 1e6


def calls() -> dict[str, Callable[[], object]]:
    one, other = torch.ones(1), torch.empty(1)
    return {
        "all_reduce": lambda: dist.all_reduce(one),
        "asynchronous": lambda: dist.all_reduce(one, async_op=True).wait(),
        "broadcast": lambda: dist.broadcast(one, 0),
        "reduce_scatter": lambda: dist.reduce_scatter_single(other, one),
        "all_gather": lambda: dist.all_gather_single(other, one),
        "all_to_all": lambda: dist.all_to_all_single(other, one),
        "barrier": dist.barrier,
    }


def row(name: str) -> None:
    times = [microseconds(call) for call in calls().values()]
    print(f"{name:>18}" + "".join(f"{each:16.2f}" for each in times), flush=True)


def main() -> int:
    modes = sys.argv[1:] or ["group", "compiled"]
    print(f"{'torch ' + torch.__version__:>18}" + "".join(f"{name:>16}" for name in calls()))
    dist.init_process_group("fake", rank=0, world_size=1, store=FakeStore())
    row("fake")
    dist.destroy_process_group()
    for mode in modes:
        os.environ["STRETTO_TORCH_MODE"] = mode
        with tempfile.TemporaryDirectory() as folder:
            dist.init_process_group(
                "stretto", init_method=f"file://{folder}/store", rank=0, world_size=1
            )
            row(mode)
            if mode == modes[-1]:
                from stretto.torch import communicator

                play = communicator()._core.play
                arguments = ("allreduce", None, torch.ones(1), "sum", 0, None)
                own = microseconds(partial(play, *arguments))
                print(f"Stretto's own call from Python: {own:.2f}")
            dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
