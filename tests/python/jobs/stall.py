# SPDX-License-Identifier: BSD-3-Clause
"""The last rank comes when the others have heard that it has not."""

import sys
import time
from pathlib import Path

import numpy as np
import stretto

folder = Path(sys.argv[1])
raised = []  # by the callback, as Python tells of it
sys.unraisablehook = raised.append
heard: list[stretto.Stall] = []


def hear(stall: stretto.Stall) -> None:
    heard.append(stall)
    (folder / f"{comm.rank} of {comm.size}, {len(heard)}").touch()
    if len(heard) == 2:
        raise ValueError("what a callback raises is no error of the call")


def call(turn: int) -> None:
    if late:
        while len(list(folder.iterdir())) < turn * (comm.size - 1):
            time.sleep(0.001)
    sums = comm.allreduce(np.arange(9, dtype=np.int32) + 100 * comm.rank)
    expected = comm.size * np.arange(9) + 100 * sum(range(comm.size))
    assert (sums == expected).all(), sums


with stretto.init() as comm:
    late = comm.rank == comm.size - 1
    for wrong in ({"factor": -1}, {"floor": 0}, {"callback": 3}):
        try:
            comm.set_stall_callback(**{"callback": hear, **wrong})
        except stretto.ArgumentError:
            continue
        raise AssertionError(wrong)
    if not late:
        comm.set_stall_callback(hear, factor=0, floor=1e-4)
    call(1)
    call(2)
    comm.set_stall_callback(None)
    if late:
        time.sleep(0.05)
    call(2)
    if not late:
        assert len(heard) == 2, heard
        for stall in heard:
            assert comm.size - 1 in stall.ranks and not stall.all_came, stall
            assert stall.collective == "allreduce(9 x int32, sum)", stall
            assert "not come" in stall.text, stall
        assert [each.exc_type for each in raised] == [ValueError]
print("heard" if heard else "came late", flush=True)
