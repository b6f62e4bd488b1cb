# SPDX-License-Identifier: BSD-3-Clause
"""Arrays and requests that outlive what they were made of."""

from __future__ import annotations

import gc

import numpy as np
import stretto

with stretto.init() as comm:
    kept = comm.alloc((3, 5), np.float64)
    assert kept.shape == (3, 5)
    assert not kept.any()
    kept[:] = comm.rank
    view = comm.alloc(1000, np.int32)[10:20]
    view[:] = 5
    for _ in range(200):  # freed with the array, or the machine would soon be full
        comm.alloc(1 << 20, np.float64)
    gc.collect()
    total = comm.allreduce(kept)
    assert (total == comm.size * (comm.size - 1) / 2).all()
    request = comm.iallreduce(np.ones(100_000, np.float32))

# The communicator is finalized, and waited for the request.
assert request.test()
assert (request.wait() == comm.size).all()
assert (kept == comm.rank).all()
assert (view == 5).all()
for use in (comm.barrier, comm.stats, lambda: comm.alloc(4), lambda: comm.allreduce(kept)):
    try:
        use()
    except stretto.ArgumentError as error:
        assert "finalized" in str(error)
    else:
        raise SystemExit("a finalized communicator was used")
comm.finalize()  # a second time changes nothing
if comm.rank == 0:
    print("ended well")
