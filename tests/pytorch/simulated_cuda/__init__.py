# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch with CUDA tensors, without a GPU: over the simulated driver of tests/cpp/device.

PyTorch's build for CPUs knows CUDA tensors, but nothing that makes them.  `install` fills that in:
memory, streams, events and kernels in C++, and torch.cuda as far as the backend and DDP ask for it.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
DRIVER = ROOT / "tests/cpp/device"
NAME = "simulated_torch_cuda"
STRETTO = "libstretto.so.0"


def _folder() -> Path:
    import torch

    return ROOT / "build" / f"simulated-torch-{torch.__version__}"


def build() -> Path:
    """Compiles the driver and PyTorch's parts, where that is not done yet.  Gives the folder from
    which processes install them."""
    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "building", "w") as building:
        fcntl.flock(building, fcntl.LOCK_EX)
        (folder / "lock").unlink(missing_ok=True)  # PyTorch's, of a build that was interrupted
        _build_driver(folder / "libcuda.so.1")
        _link_library(folder)
        program = "import sys, simulated_cuda; simulated_cuda.compile_parts(sys.argv[1])"
        tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # ninja
        subprocess.run(
            [sys.executable, "-c", program, folder],
            check=True,
            cwd=HERE.parent,
            env={**os.environ, "PATH": tools},
        )
    return folder


def _build_driver(driver: Path) -> None:
    sources = [DRIVER / "simulated_cuda.cpp", DRIVER / "host_kernels.cpp"]
    changed = max(source.stat().st_mtime for source in [*sources, *DRIVER.glob("*.hpp")])
    if driver.exists() and driver.stat().st_mtime > changed:
        return
    options = ["-std=c++20", "-shared", "-fPIC", "-pthread", "-Wl,-soname,libcuda.so.1"]
    command = ["c++", *options, f"-I{ROOT / 'src'}", *sources, "-o", driver]
    subprocess.run(command, check=True)


def _link_library(folder: Path) -> None:
    """Beside it the library finds its kernels: those of the driver."""
    found = importlib.util.find_spec("stretto")
    assert found is not None and found.submodule_search_locations
    (folder / "stretto_cuda.fatbin").write_text("simulated kernels")
    (folder / STRETTO).unlink(missing_ok=True)
    (folder / STRETTO).symlink_to(Path(found.submodule_search_locations[0], "lib", STRETTO))


def load_library(folder: Path) -> None:
    """Before stretto is imported: the library as it lies beside the driver's kernels."""
    if (folder / STRETTO).exists():
        ctypes.CDLL(str(folder / STRETTO))


def compile_parts(folder: str) -> None:
    from torch.utils import cpp_extension

    ctypes.CDLL(f"{folder}/libcuda.so.1")  # which the parts need when they are loaded
    cpp_extension.load(
        name=NAME,
        sources=[str(HERE / "guard.cpp"), str(HERE / "tensors.cpp")],
        extra_include_paths=[str(DRIVER)],
        extra_cflags=["-O0", "-std=c++20"],
        extra_ldflags=[f"{folder}/libcuda.so.1"],
        build_directory=folder,
    )


def _load(folder: Path) -> Any:
    """What `compile_parts` has made."""
    found = importlib.util.spec_from_file_location(NAME, folder / f"{NAME}.so")
    assert found is not None and found.loader is not None
    parts = importlib.util.module_from_spec(found)
    found.loader.exec_module(parts)
    return parts


def preload(folder: Path) -> None:
    """Before PyTorch is imported: lets it find the device at its import.  Autograd needs that."""
    found = importlib.util.find_spec("torch")
    assert found is not None and found.submodule_search_locations
    libraries = Path(found.submodule_search_locations[0], "lib")
    names = ["libc10.so", "libtorch_cpu.so", "libtorch.so", "libtorch_python.so"]
    for path in [folder / "libcuda.so.1", *(libraries / name for name in names)]:
        ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
    ctypes.CDLL(str(folder / f"{NAME}.so"))
    load_library(folder)


def install(folder: Path) -> Any:
    """Makes CUDA tensors possible in this process."""
    import torch

    ctypes.CDLL(str(folder / "libcuda.so.1"))
    parts = _load(folder)
    # Of torch.Tensor, which DLPack's C functions describe: the stream on which the program works.
    torch.Tensor.__dlpack_c_exchange_api__ = parts.exchange_api()
    torch.version.cuda = "simulated"

    class Stream(torch.Stream):
        """As torch.cuda.Stream."""

        def __new__(cls, device: Any = None, priority: int = 0, **known: int) -> Stream:
            if known:
                return super().__new__(cls, **known)
            return super().__new__(cls, torch.device("cuda", 0), priority=priority)

        @property
        def cuda_stream(self) -> int:
            return self.stream_id

    def current_stream(device: Any = None) -> Stream:
        return Stream(stream_id=parts.current_stream(), device_index=0, device_type=1)

    @contextlib.contextmanager
    def working_on(stream: Stream) -> Iterator[None]:
        before = parts.current_stream()
        parts.set_stream(stream.cuda_stream)
        try:
            yield
        finally:
            parts.set_stream(before)

    class MemPool:
        """Takes memory by a function of a library, or of the driver."""

        def __init__(self, allocator: tuple[int, int] | None = None) -> None:
            self.source = 0 if allocator is None else allocator[0]

    @contextlib.contextmanager
    def use_mem_pool(pool: MemPool, device: Any = None) -> Iterator[None]:
        parts.set_source(pool.source)
        try:
            yield
        finally:
            parts.set_source(0)

    replaced = {
        "MemPool": MemPool,
        "Stream": Stream,
        "current_device": lambda: 0,
        "current_stream": current_stream,
        "device": lambda device: contextlib.nullcontext(),
        "device_count": lambda: 1,
        "get_device_capability": lambda device=None: (8, 0),
        "init": lambda: None,
        "_lazy_init": lambda: None,
        "is_available": lambda: True,
        "set_device": lambda device: None,
        "stream": working_on,
        "synchronize": lambda device=None: current_stream().synchronize(),
        "use_mem_pool": use_mem_pool,
    }
    for name, value in replaced.items():
        setattr(torch.cuda, name, value)
    torch._C._cuda_customAllocator = lambda alloc, free: (alloc, free)
    torch.cuda.memory._set_allocator_settings = lambda text: parts.set_expandable_segments(
        text == "expandable_segments:True"
    )
    device = torch.device("cuda")
    torch._C._get_accelerator = lambda check=None: device
    torch.accelerator.current_accelerator = lambda check_available=False: device
    torch.accelerator.device_count = lambda: 1
    return parts


# Ranks import this before stretto.
if "torch" in sys.modules and sys.modules["torch"].version.cuda is None:
    load_library(_folder())
