# SPDX-License-Identifier: BSD-3-Clause
"""The backend compiled for the PyTorch that is installed, on demand: STRETTO_TORCH_MODE=compiled.

PyTorch's interface in C++ changes with every release, so none of this can be shipped as a library.
The calls that most programs make run without Python; the others are those of `Collectives`.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import torch

from stretto import _core
from stretto.communicator import Communicator
from stretto.errors import UnsupportedError
from stretto.torch.collectives import Collectives

HERE = Path(__file__).parent


class Calls(Collectives):
    """What the compiled backend leaves to Python."""

    def __init__(self, comm: Communicator, rank: int, size: int, core: Any):
        self._open(comm, rank, size, core)

    def _alike(self, comm: Communicator) -> Any:
        return backend(comm, comm.rank, comm.size, comm._core)


def backend(comm: Communicator, rank: int, size: int, core: Any) -> Any:
    """A backend over this communicator; compiles it first, once for each PyTorch (a minute).

    core: that of the communicator, or what observes it: then all calls go by way of Python.
    """
    address = comm._core.address if core is comm._core else 0
    return _module().Backend(Calls(comm, rank, size, core), address, rank, size)


@functools.cache
def _module() -> Any:
    from torch.utils import cpp_extension

    root = Path(_core.__file__).parent
    libraries = root / "lib"
    try:
        return cpp_extension.load(
            name=f"stretto_torch_{torch.__version__.replace('.', '_').replace('+', '_')}",
            sources=[str(HERE / "backend.cpp"), str(HERE / "work.cpp")],
            extra_include_paths=[str(root / "include")],
            extra_cflags=["-O2", "-std=c++20"],
            extra_ldflags=[f"-L{libraries}", "-l:libstretto.so.0", f"-Wl,-rpath,{libraries}"],
        )
    except (RuntimeError, OSError) as error:
        raise UnsupportedError(
            "STRETTO_TORCH_MODE=compiled: the backend cannot be compiled here. It needs a C++ "
            "compiler and ninja (pip install ninja); without STRETTO_TORCH_MODE the backend needs "
            f"neither. {error}"
        ) from error
