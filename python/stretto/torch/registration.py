# SPDX-License-Identifier: BSD-3-Clause
"""How PyTorch comes to know the backend, and makes process groups of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from stretto.communicator import Communicator
from stretto.errors import ArgumentError, UnsupportedError
from stretto.torch import cuda
from stretto.torch.bootstrap import join
from stretto.torch.collectives import Collectives
from stretto.torch.recorded import recorded
from stretto.torch.shrinking import Origin, set_origin

NAME = "stretto"
_RELEASE = tuple(int(part) for part in torch.__version__.split(".")[:2])
HAS_PYTHON_BACKENDS = _RELEASE >= (2, 14)
"""Whether a `Backend` can be written in Python, beside which a group has backends for other
devices.  Before, only a whole `ProcessGroup` can."""


def register() -> None:
    """Registers the backend by its name: the entry point `stretto` of the group
    `torch.distributed.backends`."""
    if NAME.upper() not in dist.Backend._plugins:
        dist.Backend.register_backend(NAME, create, extended_api=True, devices=cuda.device_types())


def replace_gloo() -> None:
    """Puts Stretto in Gloo's place: process groups that a program makes from now on, and calls
    "gloo", are Stretto's.  For programs and frameworks that say "gloo" themselves.

    Raises UnsupportedError before PyTorch 2.14, which has the name built in.
    """
    if not HAS_PYTHON_BACKENDS:
        raise UnsupportedError(
            f"PyTorch {torch.__version__} has the name gloo built in; Stretto can take its place "
            "from PyTorch 2.14 on. Ask for the backend by its own name: "
            'init_process_group("stretto")'
        )
    dist.Backend.register_backend(
        "gloo",
        create,
        extended_api=True,
        devices=cuda.device_types(),
        # Not of the type GLOO: DDP takes what has it for PyTorch's own, by a cast.
        _backend_type=dist.ProcessGroup.BackendType.CUSTOM,
    )


def replace_by_setting() -> None:
    """Does what STRETTO_TORCH_REPLACE asks for: gloo, or nothing."""
    wanted = os.environ.get("STRETTO_TORCH_REPLACE", "")
    if wanted not in ("", "gloo"):
        raise ArgumentError(
            f"STRETTO_TORCH_REPLACE={wanted}: only gloo can be replaced; unset it otherwise"
        )
    register()
    if wanted:
        replace_gloo()


def create(options: Any, backend_options: Any = None) -> Any:
    """Makes the backend of one process group; PyTorch calls this on each of its ranks.

    options: PyTorch's `_DistributedBackendOptions`.  backend_options: what the program passed as
    `pg_options`; there are none.
    """
    if backend_options is not None:
        raise ArgumentError(
            "the stretto backend has no options; settings are variables (docs/settings.md)"
        )
    mode = os.environ.get("STRETTO_TORCH_MODE", "")
    if getattr(options, "enable_reconfigure", False):
        return _reconfigurable(options, mode)
    if options.global_ranks_in_group and not getattr(dist.group.WORLD, "joined", True):
        from stretto.torch.reconfiguring import no_members

        raise no_members()
    make = _maker(mode)
    comm = join(options)
    observed = recorded(comm._core, options)
    made = make(comm, options.group_rank, options.group_size, observed)
    set_origin(made, Origin.of(options))
    return made


def _reconfigurable(options: Any, mode: str) -> Any:
    if mode not in ("", "group"):
        raise UnsupportedError(
            f"STRETTO_TORCH_MODE={mode}: only groups of the mode group change their members "
            "(enable_reconfigure=True); unset it"
        )
    if options.global_ranks_in_group:
        raise UnsupportedError(
            "only the default group changes its members (enable_reconfigure=True); make other "
            "groups anew when it has"
        )
    from stretto.torch.reconfiguring import ReconfigurableGroup

    return ReconfigurableGroup(options)


def _maker(mode: str) -> Callable[[Communicator, int, int, Any], Any]:
    """What makes backends of this mode; a mode is a matter of each rank."""
    if mode == "compiled":
        from stretto.torch.compiled import backend

        return backend
    if mode == "group" or (not mode and not HAS_PYTHON_BACKENDS):
        from stretto.torch.process_group import ProcessGroup

        return ProcessGroup
    if mode in ("", "backend") and HAS_PYTHON_BACKENDS:
        from stretto.torch.backend import Backend

        return Backend
    if mode == "backend":
        raise UnsupportedError(
            f"STRETTO_TORCH_MODE=backend: PyTorch {torch.__version__} takes no backends that are "
            "written in Python (2.14 does); group and compiled are possible"
        )
    raise ArgumentError(f"STRETTO_TORCH_MODE={mode}: backend, group and compiled exist")


def communicator(group: Any = None) -> Communicator:
    """The communicator behind a process group (None: the default group), as for `stats()` or
    `force_algorithm`.  Raises ArgumentError if no backend of the group is Stretto's."""
    return backend_of(dist.group.WORLD if group is None else group).communicator


def backend_of(group: Any) -> Collectives:
    """The Stretto backend of a process group.  Raises ArgumentError if it has none."""
    found = group
    if group is not None and not isinstance(group, Collectives):
        backends = [_backend_for(group, device) for device in cuda.device_types()]
        found = next((each for each in backends if isinstance(each, Collectives)), None)
    if not isinstance(found, Collectives):
        raise ArgumentError("this process group has no stretto backend")
    return found


def _backend_for(group: Any, device: str) -> Any:
    try:
        found = group._get_backend(torch.device(device))
    except RuntimeError:  # it has none
        return None
    return getattr(found, "calls", found)  # of a compiled backend
