# SPDX-License-Identifier: BSD-3-Clause
"""A job whose trace is known: so many calls of so many bytes, one rank late.

traced.py CALLS [dies RANK]
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np
import stretto

comm = stretto.init()
x = np.ones(25_000, np.float32)
for call in range(int(sys.argv[1])):
    if call == 1 and comm.rank == comm.size - 1:
        time.sleep(0.3)
    assert comm.allreduce(x)[0] == comm.size
if "dies" not in sys.argv:
    comm.barrier()
elif comm.rank == int(sys.argv[-1]):
    comm.barrier()
    os._exit(0)  # without a word; a signal would make the launcher end the others
else:
    try:
        comm.barrier()  # may still wait when another rank already knows of the death
        comm.allreduce(x)
        raise SystemExit("no error")
    except stretto.PeerError:
        pass
comm.finalize()
print("ended well")
