# SPDX-License-Identifier: BSD-3-Clause
"""Types of elements, arrays of other libraries, operations of one's own: in a job of one rank."""

from __future__ import annotations

import array
import ctypes
from pathlib import Path

import numpy as np
import pytest
import stretto
from stretto import IN_PLACE, _core

DOCS = Path(__file__).parents[2] / "docs" / "data.md"
NUMPY_TYPES = [name for name in _core.supported() if name != "bfloat16"]


@pytest.fixture(scope="module")
def comm():
    with stretto.init(rank=0, size=1, job="test-data") as comm:
        yield comm


def some(dtype: str) -> np.ndarray:
    return np.array([0, 1, 2, 3, 100, 7]).astype(dtype)


def test_the_page_says_what_the_library_does():
    page = DOCS.read_text()
    rows = [
        [cell.strip() for cell in line.strip("| \n").split("|")]
        for line in page.splitlines()
        if line.startswith("|")
    ]
    ops, told = rows[0][1:], {}
    for types, *cells in rows[2:]:
        for dtype in types.split(", "):
            told[dtype] = [op for op, cell in zip(ops, cells, strict=True) if cell == "yes"]
    assert told == {dtype: sorted(can, key=ops.index) for dtype, can in _core.supported().items()}


@pytest.mark.parametrize("dtype", NUMPY_TYPES)
def test_every_type_of_numpy(comm, dtype):
    send = some(dtype)
    for op in _core.supported()[dtype]:
        if op == "premul_sum":
            continue
        result = comm.allreduce(send, op=op)
        truth = dtype == "bool" or op in ("land", "lor", "lxor")
        assert result.dtype == send.dtype
        assert np.array_equal(result, send != 0 if truth else send)
    assert np.array_equal(comm.allgather(send)[0], send)
    assert isinstance(comm.chosen_algorithm("allreduce", 4, dtype), str)


@pytest.mark.parametrize(
    ("dtype", "op", "has"),
    [("int32", "avg", "lxor"), ("float16", "bxor", "avg"), ("bool", "sum", "lor")],
)
def test_what_a_type_cannot_do(comm, dtype, op, has):
    with pytest.raises(stretto.ArgumentError, match=f"no {op} of {dtype}; there are: .*{has}"):
        comm.allreduce(some(dtype), op=op)


def test_op_is_a_name_or_an_operation(comm):
    with pytest.raises(stretto.ArgumentError, match="op: a name or a stretto.Op"):
        comm.allreduce(some("int32"), op=np.add)


# ---- arrays that are not NumPy's


def test_anything_with_a_buffer(comm):
    result = comm.allreduce(array.array("h", [1, -2]))
    assert isinstance(result, np.ndarray)
    assert result.dtype == np.int16
    assert result.tolist() == [1, -2]
    target = array.array("d", [0, 0])
    assert comm.allreduce(memoryview(np.array([1.5, 2.5])), target) is target
    assert target.tolist() == [1.5, 2.5]
    shaped = comm.allreduce(memoryview(np.ones((2, 3), np.uint8)))
    assert shaped.shape == (2, 3)
    assert comm.allreduce(b"abc", op="max").tolist() == [97, 98, 99]
    with pytest.raises(stretto.ArgumentError, match="recv: the array is read-only"):
        comm.allreduce(b"abc", b"abc")
    assert comm.reduce_scatter(IN_PLACE, target) is target


class OnlyDlpack:
    """An array as PyTorch has them: nothing but DLPack."""

    def __init__(self, array: np.ndarray, device: int = 1, versions: bool = True):
        self.array, self.device, self.versions = array, device, versions

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0

    def __dlpack__(self, **options: object) -> object:
        if options and not self.versions:
            raise TypeError("no options are known")
        return self.array.__dlpack__(**options)


@pytest.mark.parametrize("versions", [True, False])
def test_arrays_by_dlpack(comm, versions):
    for dtype in NUMPY_TYPES:
        send, recv = some(dtype).reshape(2, 3), np.zeros((2, 3), dtype)
        result = comm.allgather(OnlyDlpack(send, versions=versions))
        assert result.shape == (1, 2, 3)
        assert np.array_equal(result[0], send)
        target = OnlyDlpack(recv, versions=versions)
        op = "max" if dtype == "bool" else "prod"
        assert comm.allreduce(OnlyDlpack(send, versions=versions), target, op) is target
        assert np.array_equal(recv, send)


def test_arrays_by_dlpack_that_do_not_fit(comm):
    with pytest.raises(stretto.ArgumentError, match="send: its memory is neither the processor's"):
        comm.allreduce(OnlyDlpack(np.zeros(4), device=10))
    with pytest.raises(stretto.ArgumentError, match="not C-contiguous"):
        comm.allreduce(OnlyDlpack(np.zeros((4, 4))[:, :2]))
    read_only = np.zeros(4)
    read_only.flags.writeable = False
    with pytest.raises(stretto.ArgumentError, match="recv: the array is read-only"):
        comm.allreduce(np.ones(4), OnlyDlpack(read_only))
    with pytest.raises(stretto.ArgumentError, match="recv: it cannot be handed over"):
        comm.allreduce(np.ones(4), OnlyDlpack(read_only, versions=False))
    with pytest.raises(stretto.ArgumentError, match="recv: 3 x float64 does not fit"):
        comm.allreduce(np.ones(4), OnlyDlpack(np.zeros(3)))


def test_an_array_by_dlpack_is_given_back():
    import gc
    import weakref

    class Owned(np.ndarray):
        pass

    with stretto.init(rank=0, size=1, job="test-given-back") as comm:
        mine = np.ones(5).view(Owned)
        alive = weakref.ref(mine)
        request = comm.iallreduce(OnlyDlpack(mine), np.zeros(5))
        del mine
        request.wait()
        del request
        gc.collect()
        assert alive() is None


# ---- bfloat16, which NumPy does not have


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class Bfloat16s:
    """Numbers of 16 bits, handed over as bfloat16."""

    def __init__(self, values: list[float]):
        self.bits = (np.array(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)
        self.shape = (ctypes.c_int64 * 1)(len(values))
        bfloat = 4
        self.tensor = Tensor(self.bits.ctypes.data, (1, 0), 1, bfloat, 16, 1, self.shape)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self) -> object:
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)

    def tolist(self) -> list[float]:
        return (self.bits.astype(np.uint32) << 16).view(np.float32).tolist()


def test_bfloat16_by_dlpack(comm):
    send, recv = Bfloat16s([1.5, -2, 0.0078125]), Bfloat16s([0, 0, 0])
    assert comm.allreduce(send, recv, "avg") is recv
    assert recv.tolist() == [1.5, -2, 0.0078125]
    assert comm.chosen_algorithm("allreduce", 3, "bfloat16") == "one_shot"
    comm.allreduce(send, recv, stretto.premul_sum(2.5, "bfloat16"))
    assert recv.tolist() == [3.75, -5, 0.01953125]


def test_bfloat16_of_numpy_with_ml_dtypes(comm):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    send = np.array([1.5, -2, 3], ml_dtypes.bfloat16)
    result = comm.allreduce(send)
    assert result.dtype == ml_dtypes.bfloat16
    assert np.array_equal(result, send)
    assert comm.chosen_algorithm("allreduce", 3, send.dtype) == "one_shot"
    comm.allreduce(send, result, stretto.premul_sum(2.5, send.dtype))
    assert result.tolist() == [3.75, -5, 7.5]
    assert comm.allreduce(Bfloat16s([1.5, -2, 3])).dtype == ml_dtypes.bfloat16


def test_bfloat16_rounds_to_the_nearest():
    from stretto.operation import _bfloat16

    for value, bits in (
        (1.0, 0x3F80),
        (1 + 2**-8, 0x3F80),
        (1 + 3 * 2**-8, 0x3F82),
        (-0.0, 0x8000),
    ):
        assert int.from_bytes(_bfloat16(value), "little") == bits
    assert _bfloat16(float("nan")) == _bfloat16(-float("nan")) == b"\xc0\x7f"
    assert int.from_bytes(_bfloat16(float("inf")), "little") == 0x7F80


# ---- operations


def test_a_premultiplied_sum_of_one(comm):
    for dtype, scalar, right in (
        ("float16", 0.5, [0, 0.5, 1]),
        ("int8", 100, [0, 100, -56]),
        ("complex64", 2j, [0, 2j, 4j]),
    ):
        send = np.arange(3).astype(dtype)
        result = comm.allreduce(send, op=stretto.premul_sum(scalar, dtype))
        assert result.tolist() == right
        assert np.array_equal(send, np.arange(3).astype(dtype))
    with pytest.raises(stretto.ArgumentError, match="the scalar of this premul_sum is a float64"):
        comm.allreduce(np.ones(3, np.float32), op=stretto.premul_sum(2, np.float64))
    with pytest.raises(stretto.ArgumentError, match="no premul_sum of bool"):
        stretto.premul_sum(True, bool)
