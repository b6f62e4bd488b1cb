# SPDX-License-Identifier: BSD-3-Clause
"""What the other ranks are told when one dies, leaves, or calls something else.

    failure.py dies|leaves|differs

The last rank misbehaves.  Its exit status is 0, so that it is not the launcher that ends the job:
the others must be told by Stretto itself.
"""

from __future__ import annotations

import os
import sys

import numpy as np
import stretto

how = sys.argv[1]
comm = stretto.init()
culprit = comm.size - 1
expected = stretto.PeerError
if how == "differs":
    expected = stretto.MismatchError
elif comm.rank == culprit:
    comm.allreduce(np.ones(10))
    if how == "leaves":
        comm.finalize()
        sys.exit(0)
    os._exit(0)  # without a word to the others

count = 20 if how == "differs" and comm.rank == culprit else 10
try:
    comm.allreduce(np.ones(10))
    comm.allreduce(np.ones(count))
except expected as error:
    print(f"told: {error}", flush=True)
else:
    raise SystemExit(f"rank {comm.rank}: no error")
try:
    comm.barrier()
except stretto.Error:
    print("ended well")
else:
    raise SystemExit(f"rank {comm.rank}: the communicator works after a failure")
