# SPDX-License-Identifier: BSD-3-Clause
"""Calls until another rank dies; says so when it has begun, and what the error was."""

from __future__ import annotations

import os

import numpy as np
import stretto

comm = stretto.init()
comm.barrier()
print(f"rank {comm.rank} of {comm.size} is process {os.getpid()}", flush=True)
try:
    while True:
        comm.allreduce(np.full(1000, comm.rank + 1.0))
except stretto.PeerError as error:
    print(error, flush=True)
