# SPDX-License-Identifier: BSD-3-Clause
"""A job whose ranks meet by files: init_by_exchange.  What its function does wrong is raised."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
import stretto

folder = Path(sys.argv[1])
rank, size = int(os.environ["STRETTO_RANK"]), int(os.environ["STRETTO_SIZE"])
rounds = 0


def allgather(mine: bytes) -> bytes:
    global rounds
    mark, rounds = f"{rounds}", rounds + 1
    unfinished = folder / f"{mark}.{rank}.part"
    unfinished.write_bytes(mine)
    unfinished.rename(folder / f"{mark}.{rank}")
    names = [folder / f"{mark}.{each}" for each in range(size)]
    while not all(name.exists() for name in names):
        time.sleep(0.001)
    return b"".join(name.read_bytes() for name in names)


def fails(_: bytes) -> bytes:
    raise KeyError("no such store")


for function, error, text in (
    (fails, KeyError, "no such store"),
    (lambda mine: mine * (size + 1), stretto.ArgumentError, "allgather returned"),
    (lambda mine: "text", RuntimeError, ""),
):
    try:
        stretto.init_by_exchange(rank, size, function)
    except error as raised:
        assert text in str(raised), raised
    else:
        raise AssertionError(f"no {error.__name__}")

comm = stretto.init_by_exchange(rank, size, allgather)
assert (comm.rank, comm.size, comm.finalized) == (rank, size, False)
assert comm.allreduce(np.array([rank + 1])).tolist() == [size * (size + 1) // 2]

# A contribution that lies where it belongs in the result.
whole = np.full((size, 3), -1)
whole[rank] = rank
assert comm.allgather(whole[rank], whole) is whole
assert (whole == np.arange(size)[:, None]).all()
uneven = np.full(size * (size + 1) // 2, -1)
counts = list(range(1, size + 1))
start = rank * (rank + 1) // 2
uneven[start : start + rank + 1] = rank
comm.allgatherv(uneven[start : start + rank + 1], counts, uneven)
assert uneven.tolist() == [each for each in range(size) for _ in range(each + 1)]
if size > 1:
    try:
        comm.allgather(whole[(rank + 1) % size], whole)
    except stretto.ArgumentError as error:
        assert "overlap" in str(error)
    else:
        raise AssertionError("another rank's place is no place for a contribution")

comm.finalize()
assert comm.finalized
if rank == 0:
    print("ended well")
