# SPDX-License-Identifier: BSD-3-Clause
"""A rank is killed while the others wait for it.

    killed.py recv|recv_any|send|probe|wait|allreduce FOLDER

Rank 1 kills itself; the others write who they are into the folder, and do not end when the launcher
asks them to: it is Stretto that tells them, and they end well.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import numpy as np
import stretto

how, folder = sys.argv[1:]
signal.signal(signal.SIGTERM, signal.SIG_IGN)
comm = stretto.init()
memory = comm.alloc(1000)  # shared memory is in use
(Path(folder) / f"{comm.rank}").write_text(str(os.getpid()))
buffer = np.empty(100_000)
waits = {
    "recv": lambda: comm.recv(buffer, source=1, tag=5),
    "recv_any": lambda: comm.recv(buffer),
    "send": lambda: comm.send(buffer, dest=1),  # so long a message waits for its receive
    "probe": lambda: comm.probe(source=1),
    "wait": lambda: comm.irecv(buffer, source=1).wait(),
    "allreduce": lambda: comm.allreduce(memory),
}
try:
    comm.barrier()  # who is still in it when the others find out is told here
    if comm.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    waits[how]()
except stretto.PeerError as error:
    told = f"told: {error}\nended well\n"
    os.write(1, told.encode())  # at once, or the lines of ranks could mix
else:
    raise SystemExit(f"rank {comm.rank}: no error")
