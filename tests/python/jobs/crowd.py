# SPDX-License-Identifier: BSD-3-Clause
"""More ranks than cores: exact results by every algorithm, and no core for those that wait."""

from __future__ import annotations

import itertools
import time

import numpy as np
import stretto
from exact import DTYPES, FOLDS, data, reduced, same

comm = stretto.init()
rank, size = comm.rank, comm.size
counts = (1, size - 1, size, size + 1, 100_003)
rotation = itertools.cycle(itertools.product(DTYPES, FOLDS))

for name in (*stretto.algorithms("allreduce", size), "auto"):
    comm.force_algorithm(name)
    for count in counts:
        dtype, op = next(rotation)
        what = f"rank {rank}: {name}, {count} x {dtype.__name__}, {op}"
        mine = data(rank, size, count, op, dtype)
        same(comm.allreduce(mine, op=op), reduced(size, count, op), what)

# The others are in the call while rank 0 sleeps.  It was planned before.
comm.allreduce(np.ones(1000))
comm.barrier()
if rank == 0:
    time.sleep(2.0)
before = time.process_time()
comm.allreduce(np.ones(1000))
used = comm.allgather(np.array([time.process_time() - before]))
if rank == 0:
    others = used[1:, 0]
    print(f"processor seconds of the others: {others.max():.3f} at most, {others.sum():.3f} in all")
    assert others.max() < 0.1, others
    assert others.sum() < 2.0, others  # less than one core's for all of them together
comm.finalize()
if rank == 0:
    print("ended well")
