# SPDX-License-Identifier: BSD-3-Clause
"""Threads of a rank call one communicator at the same time, and run while others wait."""

from __future__ import annotations

import threading
import time

import numpy as np
import stretto

THREADS, CALLS = 4, 50

comm = stretto.init()


def sum_ones() -> None:
    for _ in range(CALLS):  # all calls are alike, so they may come in any order
        assert comm.allreduce(np.ones(100))[0] == comm.size


threads = [threading.Thread(target=sum_ones) for _ in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

# Rank 0 starts the second call while another thread waits for the first, which the other ranks
# make when they have heard of that.
first, second = np.ones(3), np.ones(5)
if comm.rank == 0:
    request = comm.iallreduce(first)
    waiting = threading.Thread(target=request.wait)
    waiting.start()
    time.sleep(0.1)
    other = comm.iallreduce(second)
    for rank in range(1, comm.size):
        comm.send(np.zeros(0), rank)
    other.wait()
    waiting.join()
    print("went on beside a waiting thread", flush=True)
else:
    comm.recv(np.zeros(0), source=0)
    requests = [comm.iallreduce(first), comm.iallreduce(second)]
    for request in requests:
        request.wait()
comm.finalize()
if comm.rank == 0:
    print("ended well")
