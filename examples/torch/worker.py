# SPDX-License-Identifier: BSD-3-Clause
"""What all examples need: a worker's place in the job, and its say."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from datetime import timedelta

import torch
import torch.distributed as dist

TIMEOUT = timedelta(minutes=5)


def join(backend: str) -> tuple[int, int]:
    """Makes the default process group, as torchrun's variables say; without them, of this process
    alone.  Returns rank and size."""
    torch.set_num_threads(1)  # together the workers already fill the machine
    if "RANK" in os.environ:
        dist.init_process_group(backend, timeout=TIMEOUT)
    else:
        dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    return dist.get_rank(), dist.get_world_size()


def say() -> Callable[..., None]:
    """`print`, of rank 0 alone."""

    def print_now(*what: object) -> None:
        if dist.get_rank() == 0:
            print(*what, flush=True)

    return print_now


def check_replicas(model: torch.nn.Module) -> None:
    """All ranks must hold the same model, to the last bit."""
    for name, parameter in model.named_parameters():
        least, most = parameter.detach().clone(), parameter.detach().clone()
        dist.all_reduce(least, dist.ReduceOp.MIN)
        dist.all_reduce(most, dist.ReduceOp.MAX)
        if not torch.equal(least, most):
            raise SystemExit(f"rank {dist.get_rank()}: {name} differs between ranks after training")


def add_backend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--backend", default="stretto", choices=["stretto", "gloo"], help="of torch.distributed"
    )


def rank_and_number(text: str) -> tuple[int, float]:
    """Turns "2:20" into rank 2, 20."""
    rank, number = text.split(":")
    return int(rank), float(number)
