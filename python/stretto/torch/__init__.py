# SPDX-License-Identifier: BSD-3-Clause
"""Stretto as a backend of torch.distributed, for tensors in the memory of the CPU.

    import torch.distributed as dist

    dist.init_process_group("stretto")       # or "cpu:stretto,cuda:nccl" (PyTorch >= 2.14)

Nothing of Stretto need be imported: PyTorch finds the backend by its entry point.  Where a program
or framework says "gloo" itself, STRETTO_TORCH_REPLACE=gloo, or `replace_gloo()` before
`init_process_group`, puts Stretto in Gloo's place (PyTorch >= 2.14).

See docs/pytorch.md.
"""

from __future__ import annotations

from stretto.torch.memory import empty
from stretto.torch.recorded import dump_flight_record
from stretto.torch.registration import (
    communicator,
    register,
    replace_by_setting,
    replace_gloo,
)

__all__ = [
    "communicator",
    "dump_flight_record",
    "empty",
    "register",
    "replace_by_setting",
    "replace_gloo",
]
