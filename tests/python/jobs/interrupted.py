# SPDX-License-Identifier: BSD-3-Clause
"""Rank 0 gets a signal while it waits in a call for rank 1, which comes only when it is over."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import numpy as np
import stretto


class Stop(Exception):
    pass


def handler(number: int, frame: object) -> None:
    raise Stop(f"signal {number}")


def main(how: str, call: str, mark: str) -> None:
    comm = stretto.init()
    x = np.ones(9)
    calls = {
        "allreduce": lambda: comm.allreduce(x),
        "barrier": lambda: comm.barrier(),
        "recv": lambda: comm.recv(x, 1),
        "wait": lambda: comm.iallreduce(x).wait(),
        "alltoallv": lambda: comm.alltoallv(x, [4, 5], [4, 5]),
        "split": lambda: comm.split(0),
        "dup": lambda: comm.dup(),
        "finalize": lambda: (comm.iallreduce(x), comm.finalize()),
    }
    if comm.rank == 1:
        while not os.path.exists(mark):
            time.sleep(0.01)
        if how == "goes_on":
            comm.barrier()
            print("ended well", flush=True)
            return
        try:
            # Rank 0 may have entered a barrier before its interrupt, and over a network that may be
            # known here before the interrupt is: such a barrier ends well.  The next one cannot.
            comm.barrier()
            comm.barrier()
        except stretto.InterruptedError as error:
            assert "rank 0 was interrupted" in str(error), error
            print("ended well", flush=True)
        return
    if how == "goes_on":
        ran = []
        signal.signal(signal.SIGALRM, lambda *_: (ran.append(1), open(mark, "w").close()))
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        comm.barrier()
        assert ran == [1]
        print("ended well", flush=True)
        return
    number = signal.SIGINT if how == "INT" else signal.SIGALRM
    if how == "ALRM":
        signal.signal(number, handler)
    threading.Timer(0.2, os.kill, (os.getpid(), number)).start()
    try:
        calls[call]()
    except (KeyboardInterrupt, Stop) as error:
        assert isinstance(error, KeyboardInterrupt) == (how == "INT")
        print("ended well", flush=True)
    finally:
        open(mark, "w").close()


main(*sys.argv[1:])
