# SPDX-License-Identifier: BSD-3-Clause
"""A job in which one rank comes late to the calls of one site, and none to those of another.

late.py CALLS MILLISECONDS [dies RANK]: by the last rank.  With "dies" that rank dies after them.
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np
import stretto

calls, late = int(sys.argv[1]), float(sys.argv[2]) * 1e-3
comm = stretto.init()
x = np.ones(1000, np.float32)
for _ in range(calls):
    comm.barrier()
    if comm.rank == comm.size - 1:
        time.sleep(late)
    assert comm.allreduce(x)[0] == comm.size
if "dies" in sys.argv:
    if comm.rank == int(sys.argv[-1]):
        os._exit(0)  # without a word; a signal would make the launcher end the others
    try:
        comm.allreduce(x)
        raise SystemExit("no error")
    except stretto.PeerError:
        pass
comm.finalize()
print("ended well")
