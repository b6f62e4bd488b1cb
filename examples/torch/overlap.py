# SPDX-License-Identifier: BSD-3-Clause
"""How much of the communication of DDP is hidden behind the pass backwards."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Overlap(NamedTuple):
    """Medians of the slowest rank, in seconds."""

    step: float
    computing: float
    """The same step without communication."""
    communicating: float
    """The gradients' all_reduces without computing."""

    @property
    def hidden(self) -> float:
        """The share of the communication by which steps do not get longer, 0 to 1."""
        if not self.communicating:
            return 1.0
        return min(1.0, max(0.0, 1 - (self.step - self.computing) / self.communicating))

    def __str__(self) -> str:
        return (
            f"step {self.step * 1e3:.2f} ms, computing alone {self.computing * 1e3:.2f} ms, "
            f"communicating alone {self.communicating * 1e3:.2f} ms: {self.hidden:.0%} hidden"
        )


def measure(model: DistributedDataParallel, step: Callable[[], None], rounds: int) -> Overlap:
    """Times a step whole and in parts, in turn.  Collective.

    step: the passes forwards and backwards.  The model keeps its parameters.
    """
    sizes = bucket_sizes(model)
    buckets = [torch.zeros(size) for size in sizes]

    def compute() -> None:
        with model.no_sync():
            step()

    def communicate() -> None:
        for work in [dist.all_reduce(bucket, async_op=True) for bucket in buckets]:
            work.wait()

    parts = [step, compute, communicate]
    seconds: list[list[float]] = [[] for _ in parts]
    for _ in range(rounds):
        for part, times in zip(parts, seconds, strict=True):
            dist.barrier()
            began = time.perf_counter()
            part()
            times.append(time.perf_counter() - began)
    medians = torch.tensor([statistics.median(times) for times in seconds], dtype=torch.float64)
    dist.all_reduce(medians, dist.ReduceOp.MAX)
    return Overlap(*medians.tolist())


def bucket_sizes(model: DistributedDataParallel) -> list[int]:
    """Of DDP's buckets, in elements."""
    listed = model._get_ddp_logging_data().get("rebuilt_bucket_sizes", "")
    width = next(model.parameters()).element_size()
    return [int(size) // width for size in listed.split(", ") if size]
