# SPDX-License-Identifier: BSD-3-Clause
"""Calls to which the last rank comes late, until the metrics of all of them are in a folder; prints
the file then.  Arguments: the folder, and the number of calls."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import stretto

folder, calls = Path(sys.argv[1]), int(sys.argv[2])
comm = stretto.init()
vector = np.ones(2048, np.float32)
for _ in range(calls):
    if comm.rank == comm.size - 1:
        time.sleep(0.05)
    comm.allreduce(vector)
comm.broadcast(np.ones(3 << 18))
comm.iallreduce(vector).wait()
limit = time.monotonic() + 60
content, ended = "", 0
while ended < comm.size and time.monotonic() < limit:
    time.sleep(0.05)
    content = "".join(each.read_text() for each in folder.glob("*.prom"))
    ended = sum(
        line.startswith("stretto_collectives_total") and line.endswith(f" {calls + 2}")
        for line in content.splitlines()
    )
comm.barrier()
if comm.rank == 0:
    print(content, end="")
comm.finalize()
