# SPDX-License-Identifier: BSD-3-Clause
"""Training on CUDA tensors.  Arguments: the folder of simulated_cuda (empty: on a GPU), and what
waits for calls."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import simulated_cuda

FOLDER = Path(sys.argv[1]) if sys.argv[1] else None
if FOLDER is not None:
    simulated_cuda.preload(FOLDER)
import on_cuda  # noqa: E402
import on_cuda_groups  # noqa: E402
import torch.distributed as dist  # noqa: E402
import worlds  # noqa: E402

on_cuda.prepare(FOLDER, sys.argv[2])
worlds.begin(os.environ["STORE"], int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
on_cuda_groups.ddp()
dist.destroy_process_group()
print("all right")
