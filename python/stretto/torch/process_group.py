# SPDX-License-Identifier: BSD-3-Clause
"""The process group of PyTorch 2.13, whose groups take only whole process groups from Python."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from stretto.communicator import Communicator
from stretto.torch import cuda
from stretto.torch.collectives import Collectives
from stretto.torch.work import Work


class ProcessGroup(Collectives, dist.ProcessGroup):
    """A process group, all of it in Python: PyTorch calls it without a way through C++."""

    _name = _description = ""
    supports_reconfigure = supports_splitting = False

    def __init__(self, comm: Communicator, rank: int, size: int, core: Any = None):
        dist.ProcessGroup.__init__(self, rank, size)
        self._open(comm, rank, size, core)

    # ---- what c10d asks of a group

    def getBackendName(self) -> str:
        return "stretto"

    name = _get_backend_name = getBackendName

    def _set_group_name(self, name: str) -> None:
        self._name = name

    def _set_group_desc(self, description: str) -> None:
        self._description = description

    setGroupName, setGroupDesc = _set_group_name, _set_group_desc

    def getGroupName(self) -> str:
        return self._name

    def getGroupDesc(self) -> str:
        return self._description

    @property
    def group_name(self) -> str:
        return self._name

    @property
    def group_desc(self) -> str:
        return self._description

    @property
    def pg_name(self) -> str:
        return self._name

    @property
    def _device_types(self) -> list[torch.device]:
        return [torch.device(name) for name in cuda.device_types()]

    def _get_backend(self, device: torch.device) -> ProcessGroup:
        return self

    def _start_coalescing(self, device: Any = None) -> None:
        self.start_coalescing()

    def _end_coalescing(self, device: Any = None) -> Work:
        return self.end_coalescing()


def _shrunk(made: Any, ranks: Any, facts: Any, is_default: bool) -> Any:
    """What `shrink_group` makes of the shrunk backend: PyTorch's own puts it into a process group,
    and this one is a process group."""
    if not isinstance(made, ProcessGroup):
        return _shrunk_by_pytorch(made, ranks, facts, is_default)
    made._set_group_name(facts["new_group_name"])
    made._set_group_desc(
        "default:shrunken" if is_default else f"{facts['original_group_name']}:shrunk"
    )
    return made


_shrunk_by_pytorch = c10d._create_shrunk_process_group
c10d._create_shrunk_process_group = _shrunk
