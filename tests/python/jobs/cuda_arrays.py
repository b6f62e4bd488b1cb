# SPDX-License-Identifier: BSD-3-Clause
"""Arrays in the device memory of the simulated CUDA driver, as other libraries have them."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

import numpy as np

CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "complex": 5, "bool": 6}  # of DLPack
KINDS = {"int": "i", "uint": "u", "float": "f", "bfloat": "V", "complex": "c", "bool": "b"}

LEGACY = 1  # the default stream of all threads
NON_BLOCKING = 1  # the default stream does not wait for the stream


def kind_and_bits(dtype: str) -> tuple[str, int]:
    kind = dtype.rstrip("0123456789")
    return kind, int(dtype[len(kind) :] or 8)


def encode(numbers: np.ndarray, dtype: str) -> np.ndarray:
    """As the elements lie in memory; bfloat16 as whole numbers of 16 bits."""
    if dtype == "bfloat16":
        return (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return numbers.astype(dtype)


class Driver:
    SYNCHRONIZATIONS = 9  # its place among the counts

    def __init__(self, path: str):
        self.library = ctypes.CDLL(path)
        self.words = self.pinned(4096, c_uint32)
        self.handed: list[ctypes.Structure] = []
        self.used = 0
        self.waiting: list[int] = []  # gates that are closed, in their order
        self.held = 0  # the stream of the last one

    def call(self, name: str, *arguments: object) -> None:
        context = c_void_p()
        self.library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        self.library.cuCtxSetCurrent(context)
        assert getattr(self.library, name)(*arguments) == 0, name

    def pinned(self, count: int, of: type) -> ctypes.Array:
        memory = c_void_p()
        self.call("cuMemHostAlloc", ctypes.byref(memory), c_uint64(count * ctypes.sizeof(of)), 0)
        return (of * count).from_address(memory.value)

    def made(self, name: str, *arguments: object) -> int:
        handle = c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle.value

    def synchronizations(self) -> int:
        counts = (c_uint64 * 32)()  # room for all
        self.library.simulated_cuda_counts(ctypes.byref(counts))
        return counts[self.SYNCHRONIZATIONS]

    def close_gate(self, stream: int) -> None:
        """What comes next on the stream happens when somebody waits for it."""
        if self.waiting and self.held == stream:
            return  # it comes behind that gate
        self.held = stream
        self.used += 1
        self.waiting.append(self.used)
        self.words[self.used] = 0
        word = ctypes.addressof(self.words) + 4 * self.used
        self.call("cuStreamWaitValue32_v2", c_void_p(stream), c_uint64(word), 1, 0)

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """The body waits for the work of each gate, in their order, and for nothing else."""
        gates, self.waiting = self.waiting, []
        before, over = self.synchronizations(), threading.Event()

        def open_gates() -> None:
            for k, gate in enumerate(gates):
                while self.synchronizations() - before <= k and not over.is_set():
                    time.sleep(0)
                self.words[gate] = 1

        opener = threading.Thread(target=open_gates)
        opener.start()
        try:
            yield
            assert self.synchronizations() - before == len(gates)
        finally:
            over.set()
            opener.join()


class DlTensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device", c_int32 * 2),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", ctypes.POINTER(c_int64)),
        ("strides", ctypes.POINTER(c_int64)),
        ("offset", c_uint64),
    ]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", DlTensor), ("context", c_void_p), ("deleter", c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("version", c_uint32 * 2),
        ("context", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", DlTensor),
    ]


def capsule(structure: ctypes.Structure, name: bytes) -> object:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [c_void_p, ctypes.c_char_p, c_void_p]
    return new(ctypes.addressof(structure), name, None)


class Array:
    """Written by a stream of its own, when somebody waits for it if it is `late`."""

    def __init__(
        self,
        driver: Driver,
        values: np.ndarray,
        dtype: str,
        late: bool = False,
        read_only: bool = False,
        strides: tuple[int, ...] | None = None,
    ):
        self.driver, self.dtype, self.values = driver, dtype, values
        self.read_only, self.strides = read_only, strides  # of elements
        self.stream = driver.made("cuStreamCreate", NON_BLOCKING)
        self.data = driver.made("cuMemAlloc_v2", c_uint64(max(values.nbytes, 1)))
        self.fill(late)

    def fill(self, late: bool) -> None:
        driver, size = self.driver, self.values.nbytes
        self.source = driver.pinned(max(size, 1), c_uint8)
        ctypes.memmove(self.source, self.values.ctypes.data, size)
        if late:
            driver.close_gate(self.stream)
        driver.call(
            "cuMemcpyAsync",
            c_uint64(self.data),
            c_uint64(ctypes.addressof(self.source)),
            c_uint64(size),
            c_void_p(self.stream),
        )
        if not late:
            driver.call("cuStreamSynchronize", c_void_p(self.stream))

    def get(self) -> np.ndarray:
        found = np.empty_like(self.values)
        self.driver.call(
            "cuMemcpy", c_uint64(found.ctypes.data), c_uint64(self.data), c_uint64(found.nbytes)
        )
        return found

    def tensor(self, device: int) -> DlTensor:
        kind, bits = kind_and_bits(self.dtype)
        dimensions = self.values.ndim
        shape = (c_int64 * dimensions)(*self.values.shape)
        strides = (c_int64 * dimensions)(*self.strides) if self.strides else None
        return DlTensor(self.data, (device, 0), dimensions, CODES[kind], bits, 1, shape, strides)

    def free(self) -> None:
        self.driver.call("cuMemFree_v2", c_uint64(self.data))


class ByInterface(Array):
    """As CuPy has them."""

    version, mask = 3, None

    @property
    def work(self) -> int | None:
        """What the protocol calls the stream."""
        return self.stream

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        kind, bits = kind_and_bits(self.dtype)
        size = bits // 8
        return {
            "shape": self.values.shape,
            "typestr": f"{'<' if size > 1 else '|'}{KINDS[kind]}{size}",
            "data": (self.data, self.read_only),
            "strides": self.strides and tuple(size * stride for stride in self.strides),
            "version": self.version,
            "mask": self.mask,
            "stream": self.work,
        }


class OfDefaultStream(ByInterface):
    """As Numba's to_device leaves them: no stream is named, and the copy may not have ended."""

    @property
    def work(self) -> None:
        return None

    def fill(self, late: bool) -> None:
        if late:
            self.driver.close_gate(LEGACY)
        source, size = c_uint64(self.values.ctypes.data), c_uint64(self.values.nbytes)
        self.driver.call("cuMemcpy", c_uint64(self.data), source, size)


class ByDlpack(Array):
    """As PyTorch and CuPy have them."""

    device, versions = 2, True
    consumer = 1  # the stream that is to wait for this array's

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0

    def __dlpack__(self, *, stream: int | None = None, **options: object) -> object:
        if options and not self.versions:
            raise TypeError("no options are known")
        assert stream == self.consumer  # it waits for what this array's stream has to do
        event = self.driver.made("cuEventCreate", 2)
        self.driver.call("cuEventRecord", c_void_p(event), c_void_p(self.stream))
        self.driver.call("cuStreamWaitEvent", c_void_p(stream), c_void_p(event), 0)
        tensor = self.tensor(self.device)
        if self.versions:
            handed = Versioned((1, 0), None, None, int(self.read_only), tensor)
        else:
            handed = Managed(tensor)
        self.driver.handed.append(handed)  # it has to outlive this array
        return capsule(handed, b"dltensor_versioned" if self.versions else b"dltensor")


class ByOldDlpack(ByDlpack):
    versions = False


class ByManagedMemory(ByDlpack):
    """In memory that the driver moves."""

    device = 13


Describe = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DlTensor))
CurrentStream = ctypes.CFUNCTYPE(ctypes.c_int, c_int32, c_int32, ctypes.POINTER(c_void_p))


class ExchangeApi(ctypes.Structure):
    _fields_ = [
        ("version", c_uint32 * 2),
        ("previous", c_void_p),
        ("others", c_void_p * 3),
        ("describe", Describe),
        ("current_stream", CurrentStream),
    ]


class ByDescription(Array):
    """As PyTorch has them since DLPack 1.3: its functions in C tell of an array and of the stream
    on which the program works."""

    last: ByDescription

    @Describe
    def describe(array: ByDescription, into: object) -> int:
        ByDescription.last = array
        array.described = array.tensor(2)  # shape and strides are the array's own
        into[0] = array.described
        return 0

    @CurrentStream
    def current_stream(device: int, number: int, into: object) -> int:
        into[0] = ByDescription.last.stream
        return 0

    api = ExchangeApi((1, 3), None, (None, None, None), describe, current_stream)
    name = b"dlpack_exchange_api"  # which the capsule does not keep
    __dlpack_c_exchange_api__ = capsule(api, name)
