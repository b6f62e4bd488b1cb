# SPDX-License-Identifier: BSD-3-Clause
"""A job in which one rank comes late to the calls of one site, and none to those of another.

late.py CALLS MILLISECONDS [dies RANK FOLDER]: by the last rank.  With "dies" that rank dies after
them, once every other rank has left a file in the folder: a rank that is still in a call when
another learns of a death gets the error in that call.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

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
    dying, folder = int(sys.argv[-2]), Path(sys.argv[-1])
    if comm.rank == dying:
        end = time.monotonic() + 60
        while len(list(folder.iterdir())) < comm.size - 1:
            assert time.monotonic() < end, "the other ranks have not ended their calls"
            time.sleep(0.001)
        os._exit(0)  # without a word; a signal would make the launcher end the others
    (folder / f"{comm.rank}").touch()
    try:
        comm.allreduce(x)
        raise SystemExit("no error")
    except stretto.PeerError:
        pass
comm.finalize()
print("ended well")
