# SPDX-License-Identifier: BSD-3-Clause
"""How the programs beside this file join their process group."""

from __future__ import annotations

import os
from datetime import timedelta

import torch.distributed as dist
from stretto.torch import register


def join(seconds: float = 60) -> tuple[int, int]:
    """Returns the rank and the number of ranks.  seconds: the limit of calls."""
    register()
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group(
        "stretto",
        init_method=f"file://{os.environ['STORE']}",
        rank=rank,
        world_size=size,
        timeout=timedelta(seconds=seconds),
    )
    return rank, size
