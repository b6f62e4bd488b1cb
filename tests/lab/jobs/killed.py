# SPDX-License-Identifier: BSD-3-Clause
"""One rank is killed in the middle of a job; the others say how they hear of it."""

from __future__ import annotations

import os
import signal
import sys

import numpy as np
import stretto

victim = int(sys.argv[1])
comm = stretto.init()
data = np.ones(10_000, np.float32)
try:
    for turn in range(1_000_000):
        if turn == 20 and comm.rank == victim:
            os.kill(os.getpid(), signal.SIGKILL)
        assert comm.allreduce(data)[-1] == comm.size
except stretto.Error as error:
    print(type(error).__name__, error)
