# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of a library in CUDA memory, on a GPU.  The library's name is the argument."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import stretto
from stretto import IN_PLACE

COUNTS = [0, 1, 7, 1009, 100_003]
TYPES = ["int32", "float32", "float64", "uint8"]


def contribution(rank: int, count: int, dtype: str) -> np.ndarray:
    return ((5 * rank + 3 * np.arange(count)) % 11).astype(dtype)


class OfTorch:
    """Arrays that are written late, by the library's own kernels, and read by them."""

    def __init__(self) -> None:
        import torch

        self.torch = torch
        self.stream = torch.cuda.Stream()

    def late(self, values: np.ndarray) -> Any:
        device = self.torch.from_numpy(values).cuda()
        for _ in range(20):  # what takes a while
            self.torch.zeros(1 << 22, device="cuda").add_(1)
        return device.clone()

    def read(self, array: Any) -> np.ndarray:
        return array.clone().cpu().numpy()

    def on_stream(self) -> Any:
        return self.torch.cuda.stream(self.stream)


class OfCupy:
    def __init__(self) -> None:
        import cupy

        self.cupy = cupy
        self.stream = cupy.cuda.Stream(non_blocking=True)

    def late(self, values: np.ndarray) -> Any:
        device = self.cupy.asarray(values)
        for _ in range(20):
            self.cupy.zeros(1 << 22, np.float32).__iadd__(1)
        return device + device.dtype.type(0)

    def read(self, array: Any) -> np.ndarray:
        return self.cupy.asnumpy(array + array.dtype.type(0))

    def on_stream(self) -> Any:
        return self.stream


class OfNumba:
    """Its arrays name no stream if there is nothing to wait for."""

    def __init__(self) -> None:
        from numba import cuda

        self.cuda = cuda
        self.stream = None

    def late(self, values: np.ndarray) -> Any:
        return self.cuda.to_device(values)

    def read(self, array: Any) -> np.ndarray:
        return array.copy_to_host()


class OfJax:
    """Its arrays are read-only, and float64 is off: results go to host memory."""

    def __init__(self) -> None:
        import jax

        jax.config.update("jax_enable_x64", True)
        self.jax = jax
        self.stream = None

    def late(self, values: np.ndarray) -> Any:
        device = self.jax.device_put(values)
        big = self.jax.numpy.ones((1024, 1024))
        for _ in range(20):
            big = big @ big * 1e-3
        return self.jax.numpy.where(big[0, 0] > -1, device, 0).astype(values.dtype)

    def read(self, array: Any) -> np.ndarray:
        return np.asarray(array)


LIBRARIES = {"torch": OfTorch, "cupy": OfCupy, "numba": OfNumba, "jax": OfJax}
library = LIBRARIES[sys.argv[1]]()
comm = stretto.init()
RANK, SIZE = comm.rank, comm.size
checked = 0


def check(found: Any, expected: np.ndarray) -> None:
    global checked
    values = found if isinstance(found, np.ndarray) else library.read(found)
    assert np.array_equal(values, expected), (values, expected)
    checked += 1


for dtype in TYPES:
    for count in COUNTS:
        mine = contribution(RANK, count, dtype)
        total = np.sum([contribution(rank, count, dtype) for rank in range(SIZE)], axis=0).astype(
            dtype
        )
        flat = np.concatenate([contribution(rank, count, dtype) for rank in range(SIZE)])
        host = np.empty(count, dtype)
        check(comm.allreduce(library.late(mine), host), total)
        check(comm.allgather(library.late(mine), np.empty(count * SIZE, dtype)), flat)
        if sys.argv[1] == "jax":
            continue
        check(comm.allreduce(library.late(mine), library.late(np.zeros_like(mine))), total)
        check(comm.allreduce(IN_PLACE, library.late(mine)), total)
        check(comm.allreduce(mine, library.late(np.zeros_like(mine))), total)
        check(comm.broadcast(library.late(mine), SIZE - 1), contribution(SIZE - 1, count, dtype))
        request = comm.iallreduce(IN_PLACE, array := library.late(mine))
        request.wait()
        check(array, total)
        if SIZE > 1:
            sending = comm.isend(library.late(mine), (RANK + 1) % SIZE)
            comm.recv(array := library.late(np.zeros_like(mine)), (RANK - 1) % SIZE)
            sending.wait()
            check(array, contribution((RANK - 1) % SIZE, count, dtype))
        if library.stream is None:
            continue
        with library.on_stream():
            arrays = [library.late(mine) for _ in range(3)]
            for array in arrays:
                comm.iallreduce(IN_PLACE, array, stream=library.stream)
            library.stream.synchronize()  # before a copy for which the host waits (docs/gpu.md)
            for array in arrays:
                check(array, total)
comm.finalize()
print(f"rank {RANK}: {checked} of {sys.argv[1]}, all right")
