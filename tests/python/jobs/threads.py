# SPDX-License-Identifier: BSD-3-Clause
"""Other Python threads run while a rank waits; two inside a communicator are refused."""

from __future__ import annotations

import threading
import time

import numpy as np
import stretto

comm = stretto.init()
entered = threading.Event()


def wait_for_the_others() -> None:
    entered.set()
    comm.barrier()


if comm.rank == 0:
    waiting = threading.Thread(target=wait_for_the_others)
    waiting.start()
    entered.wait()
    refused = False
    while not refused:  # until the other thread is inside
        try:
            comm.chosen_algorithm("allreduce", 1)
        except stretto.ArgumentError as error:
            assert "thread" in str(error)
            refused = True
    print("refused", flush=True)
    waiting.join()
else:
    time.sleep(1.0)  # the others let rank 0 wait
    comm.barrier()
comm.allreduce(np.ones(4))
comm.finalize()
if comm.rank == 0:
    print("ended well")
