# SPDX-License-Identifier: BSD-3-Clause
"""Functions that are called when requests end; batches; an abort while another thread waits."""

from __future__ import annotations

import logging
import os
import threading

import numpy as np
import stretto

LONG = 60  # seconds: no wait that ends takes so long

comm = stretto.init()
rank, size = comm.rank, comm.size
logging.getLogger("stretto").disabled = True  # of the function that raises


def result_of(request, waits: bool):
    """What functions get that are called when the request has ended."""
    called, results, done = [], [], threading.Event()

    def raises(_):
        called.append("raises")
        raise ValueError("of the program")

    def keeps(ended):
        called.append("keeps")
        results.append(ended.wait())
        done.set()

    request.add_done_callback(raises)
    request.add_done_callback(keeps)
    if waits:
        request.wait()
    assert done.wait(LONG)
    late = []
    request.add_done_callback(lambda ended: late.append(ended))
    assert called == ["raises", "keeps"] and late == [request]
    return results[0]


for waits in (False, True):
    for count in (1, 100_000):
        assert result_of(comm.iallreduce(np.ones(count)), waits)[-1] == size
    received = np.zeros(3)
    receive = comm.irecv(received, (rank - 1) % size)
    sent = comm.isend(np.full(3, float(rank)), (rank + 1) % size)
    message = result_of(receive, waits)
    assert result_of(sent, waits) is None
    assert message.source == (rank - 1) % size and received[0] == message.source

total = np.zeros(2)
persistent = comm.allreduce_init(np.ones(2), total)
for _ in range(3):
    ends = threading.Event()
    persistent.start()
    persistent.add_done_callback(lambda _, ends=ends: ends.set())
    assert ends.wait(LONG)
    persistent.wait()
    assert total[0] == size

# The request that nobody keeps still calls.
ends = threading.Event()
comm.iallreduce(np.ones(2)).add_done_callback(lambda _: ends.set())
assert ends.wait(LONG)

arrays = [np.full(n, rank + n, dtype="float32") for n in (1, 0, 1000)]
comm.allreduce_batch(arrays)
assert arrays[0][0] == sum(range(size)) + size and arrays[2][-1] == sum(range(size)) + 1000 * size
comm.iallreduce_batch(arrays[:1], op="max").wait()
try:
    comm.allreduce_batch([np.ones(1), np.ones(1, dtype="int32")])
except stretto.ArgumentError as error:
    assert "arrays[1] holds int32" in str(error)
else:
    raise AssertionError("arrays of two types")

child = os.fork()
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0

# One thread waits for what never comes; another one aborts.
errors: list[stretto.Error] = []


def wait_in_vain() -> None:
    try:
        comm.recv(np.zeros(1), rank, 7)
    except stretto.AbortedError as error:
        errors.append(error)


other = comm.dup()
waiting = threading.Thread(target=wait_in_vain)
waiting.start()
if rank == 0:
    comm.abort("the loss is NaN")
waiting.join()
assert "rank 0 aborted the communicator: the loss is NaN" in str(errors[0])
left, _ = comm.shrink()
assert left.allreduce(np.ones(1))[0] == size
left.finalize()
other.finalize()
# What still runs at the end calls nothing.
comm.finalize()
if rank == 0:
    print("ended well")
