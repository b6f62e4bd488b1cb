# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of CUDA tensors need on a machine with a GPU, in place of simulated_cuda."""

from __future__ import annotations

import ctypes
import threading

import torch

WATCHED_S = 5.0
AT_LEAST = 0  # CU_STREAM_WAIT_VALUE_GEQ


class Gate:
    """Holds up the current stream until it is opened, or for five seconds, which is an error."""

    def __init__(self) -> None:
        self._word = torch.zeros(1, dtype=torch.int32).pin_memory()
        self._stream = torch.cuda.current_stream()
        self._late = False
        self._watch = threading.Timer(WATCHED_S, self._give_up)
        self._watch.daemon = True
        self._watch.start()
        driver = ctypes.CDLL("libcuda.so.1")
        status = driver.cuStreamWaitValue32_v2(
            ctypes.c_void_p(self._stream.cuda_stream),
            ctypes.c_uint64(self._word.data_ptr()),
            ctypes.c_uint32(1),
            ctypes.c_uint(AT_LEAST),
        )
        assert status == 0, f"cuStreamWaitValue32: CUDA error {status}"

    def _give_up(self) -> None:
        self._late = True
        self._word[0] = 1

    def open(self) -> None:
        self._watch.cancel()
        self._word[0] = 1
        assert not self._late, f"the gate was open before: the host waited for {WATCHED_S} s"
