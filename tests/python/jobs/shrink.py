# SPDX-License-Identifier: BSD-3-Clause
"""Ranks die one after the other, by their number from the highest; the others go on."""

from __future__ import annotations

import os
import signal

import numpy as np
import stretto

comm = stretto.init()
rank, size = comm.rank, comm.size
try:
    comm.shrink()
    raise SystemExit("a communicator that has not failed has shrunk")
except stretto.ArgumentError as error:
    assert "has not failed" in str(error), error

for left in range(size - 1, 0, -1):
    calls = 0
    try:
        while True:
            own = (rank + 1) * np.arange(1, 1001)
            total = comm.allreduce(own)
            assert np.array_equal(total, np.arange(1, 1001) * (comm.size * (comm.size + 1) // 2))
            calls += 1
            if rank == left and calls == 3:
                os.kill(os.getpid(), signal.SIGKILL)
    except stretto.PeerError as error:
        assert f"rank {left}" in str(error), error
    old = comm
    comm, completed = old.shrink()
    # One call more or less than others; and each has counted the same.
    assert calls - 1 <= completed <= calls, (completed, calls)
    assert (comm.rank, comm.size) == (rank, left)
    assert [comm.parent_rank(each) for each in range(left)] == list(range(left))
    try:
        old.barrier()
        raise SystemExit("the old communicator still takes calls")
    except stretto.RevokedError:
        pass
    try:
        old.shrink()
        raise SystemExit("the old communicator has shrunk twice")
    except stretto.ArgumentError as error:
        assert "has shrunk already" in str(error), error
    old.finalize()

comm.barrier()
comm.finalize()
print("ended well")
