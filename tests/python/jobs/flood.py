# SPDX-License-Identifier: BSD-3-Clause
"""Rank 1 sends rank 0 many messages with tags of their own, which rank 0 receives from the last."""

from __future__ import annotations

import sys

import numpy as np
import stretto

count = int(sys.argv[1])
comm = stretto.init()
for tag in range(count if comm.rank == 1 else 0):
    comm.send(np.array([tag]), 0, tag)
comm.barrier()
if comm.rank == 0:
    into = np.empty(1, np.int64)
    comm.probe(1, count - 1)
    for tag in reversed(range(count)):
        comm.recv(into, 1, tag)
        assert into[0] == tag
comm.finalize()
