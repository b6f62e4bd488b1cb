# SPDX-License-Identifier: BSD-3-Clause
"""Whether all ranks are of the job that the argument names."""

from __future__ import annotations

import sys
import time

import numpy as np
import stretto

mine = float(sys.argv[1])
with stretto.init() as comm:
    for _ in range(10):  # so that jobs that are started together overlap
        found = comm.allgather(np.full(3, mine))
        assert (found == mine).all(), f"rank {comm.rank} of job {mine} is among {found}"
        time.sleep(0.02)
    print(f"job {mine:g} has {comm.size} ranks" if comm.rank == 0 else "", end="", flush=True)
