# SPDX-License-Identifier: BSD-3-Clause
"""Arrays in device memory that are refused.  The argument is the simulated driver, or none."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import stretto
from cuda_arrays import ByDlpack, ByInterface, Driver

FOUR = np.arange(4, dtype=np.float32)
comm = stretto.init()


def refused(message: str, send: object, recv: object = None, error: type = stretto.ArgumentError):
    for call in (comm.allreduce, comm.iallreduce):
        with pytest.raises(error) as raised:
            call(send, recv)
        assert message in str(raised.value)


if len(sys.argv) == 1:

    class Claims:
        """That host memory is a device's."""

        __cuda_array_interface__ = {
            "shape": (4,),
            "typestr": "<f4",
            "data": (FOUR.ctypes.data, False),
            "version": 3,
            "stream": 1,
        }

    refused(
        "send: there is a stream to wait for, but this process has not loaded the CUDA driver",
        Claims(),
        np.zeros_like(FOUR),
        stretto.UnsupportedError,
    )
else:
    driver = Driver(sys.argv[1])
    for kind in (ByInterface, ByDlpack):
        good = kind(driver, FOUR, "float32")
        refused("send: the array is in CUDA memory, and new arrays for results are NumPy's", good)
        with pytest.raises(stretto.ArgumentError, match="pass an array for the result"):
            comm.allgather(good)
        with pytest.raises(stretto.ArgumentError, match="read-only|host memory") as raised:
            comm.allreduce(FOUR, kind(driver, FOUR, "float32", read_only=True))
        assert "recv: the array is read-only" in str(raised.value)
        strided = kind(driver, FOUR, "float32", strides=(2,))
        refused("send: the array is not C-contiguous; cupy.ascontiguousarray, or", strided, FOUR)
        refused("recv: 4 x float64 does not fit", FOUR, kind(driver, FOUR.astype("f8"), "float64"))
        for send, recv in ((good, FOUR.copy()), (FOUR, good)):
            with pytest.raises(stretto.ArgumentError, match="call iallreduce for each step"):
                comm.allreduce_init(send, recv)
    assert comm.allreduce(FOUR, good) is good  # what was refused has left nothing behind
    assert np.array_equal(good.get(), FOUR)

    class Other(ByDlpack):
        device = 10

    refused(
        "send: its memory is neither the processor's nor CUDA's (DLPack device 10)",
        Other(driver, FOUR, "float32"),
        FOUR,
    )

    def interface(**changed: object) -> object:
        array = ByInterface(driver, FOUR, "float32")
        given = {**array.__cuda_array_interface__, **changed}
        return type("Given", (), {"__cuda_array_interface__": given, "array": array})()

    refused("names stream 0, which the protocol forbids; 1 is", interface(stream=0), FOUR)
    refused("handed over by version 1 of", interface(version=1), FOUR)
    refused("a masked array is not taken", interface(mask=FOUR), FOUR)
    refused("elements of type >f4 are not supported", interface(typestr=">f4"), FOUR)
    refused("elements of type <V2 are not supported", interface(typestr="<V2"), FOUR)
    refused("has 1 dimensions and 2 strides", interface(strides=(4, 4)), FOUR)
    refused("is not as the protocol says", interface(data=None), FOUR)
    refused("is not as the protocol says", interface(data=("here", False)), FOUR)
    for stream in (1, 2, None):
        result = np.zeros_like(FOUR)
        comm.allreduce(interface(stream=stream), result)
        assert np.array_equal(result, FOUR)
comm.finalize()
