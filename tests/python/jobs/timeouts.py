# SPDX-License-Identifier: BSD-3-Clause
"""Rank 0 gives up a call by its own limit; rank 1 comes only then, and is told."""

from __future__ import annotations

import os
import sys
import time

import numpy as np
import stretto


def main(call: str, mark: str) -> None:
    comm = stretto.init()
    x, y = np.ones(10), np.ones(20)
    counts = [4, 6]
    calls = {
        "allreduce": lambda: comm.allreduce(x, timeout=0.2),
        "reduce": lambda: comm.reduce(x, timeout=0.2),
        "broadcast": lambda: comm.broadcast(x, root=1, timeout=0.2),
        "barrier": lambda: comm.barrier(timeout=0.2),
        "reduce_scatter": lambda: comm.reduce_scatter(y, timeout=0.2),
        "reduce_scatterv": lambda: comm.reduce_scatterv(x, counts, timeout=0.2),
        "allgather": lambda: comm.allgather(x, timeout=0.2),
        "allgatherv": lambda: comm.allgatherv(x[:4], counts, timeout=0.2),
        "gather": lambda: comm.gather(x, timeout=0.2),
        "scatter": lambda: comm.scatter(None, np.ones(5), root=1, timeout=0.2),
        "alltoall": lambda: comm.alltoall(y, timeout=0.2),
        "gatherv": lambda: comm.gatherv(x[:4], counts, timeout=0.2),
        "scatterv": lambda: comm.scatterv(None, None, x, root=1, timeout=0.2),
        "alltoallv": lambda: comm.alltoallv(x, counts, counts, timeout=0.2),
        "recv": lambda: comm.recv(x, 1, timeout=0.2),
        "send": lambda: comm.send(np.ones(10000), 1, timeout=0.2),
        "probe": lambda: comm.probe(1, timeout=0.2),
        "wait": lambda: comm.iallreduce(x).wait(timeout=0.2),
        "wait_message": lambda: comm.irecv(x, 1).wait(timeout=0.2),
        "set_timeout": lambda: (comm.set_timeout(0.2), comm.barrier()),
    }
    if comm.rank == 0:
        for wrong in (0, -1, float("nan")):
            try:
                comm.barrier(timeout=wrong)
            except stretto.ArgumentError:
                continue
            raise AssertionError(f"timeout={wrong} was taken")
        try:
            calls[call]()
        except TimeoutError as error:
            assert "has not ended within 0.2 s, the limit of this call" in str(error), error
            print("ended well", flush=True)
        finally:
            open(mark, "w").close()
        return
    while not os.path.exists(mark):
        time.sleep(0.01)
    try:
        comm.barrier()
    except stretto.TimeoutError as error:
        assert "rank 0" in str(error), error
        print("ended well", flush=True)


main(*sys.argv[1:])
