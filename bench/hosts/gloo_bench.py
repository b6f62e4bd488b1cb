# SPDX-License-Identifier: BSD-3-Clause
"""Times the allreduce (floats, sum) of Gloo, by torch.distributed, and of Stretto's Python API, in
turns, in the same processes, on hosts of the lab.  Started by torchrun or `lab/cluster run
--launcher torchrun`:

    gloo_bench.py FILE PLAN

FILE, PLAN and what is printed are as in hosts_bench.c.  Gloo works in place; Stretto from one
buffer into the other.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
import time

import numpy as np
import stretto
import torch
import torch.distributed as dist

CONTESTANTS = ("peer", "stretto")


class Meeting:
    """A barrier of ranks that see one file; each writes its own line of it."""

    def __init__(self, path: str, rank: int, size: int) -> None:
        self.rank, self.now = rank, 0
        with open(path, "r+b") as file:
            file.truncate(64 * size)
            self.memory = mmap.mmap(file.fileno(), 64 * size)
        self.arrived = np.frombuffer(self.memory, np.int64)[::8]

    def _arrive(self) -> None:
        self.now += 1
        self.arrived[self.rank] = self.now

    def _gather(self) -> None:
        """Ranks that wait sleep: if they only yielded, they would take the time from the others."""
        self._arrive()
        while self.arrived.min() < self.now:
            time.sleep(0.0002)

    def barrier(self) -> int:
        """All leave together.  Returns the thread's CPU time in it, in ns, which counts for no
        contestant."""
        before = time.thread_time_ns()
        self._gather()
        self._arrive()
        while self.arrived.min() < self.now:
            os.sched_yield()
        return time.thread_time_ns() - before


class Bench:
    def __init__(self, path: str, largest: int) -> None:
        torch.set_num_threads(1)
        dist.init_process_group("gloo")
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.meeting = Meeting(path, self.rank, self.size)
        self.comm = stretto.init()
        index = np.arange(largest // 4, dtype=np.uint32)
        # Sums are exact in a float, and depend on rank and index.
        self.pattern = ((index * np.uint32(2654435761)) >> np.uint32(24)).astype(np.float32)
        self.send = self.pattern * np.float32(self.rank + 1)
        self.recv = np.empty_like(self.send)
        self.tensor = torch.from_numpy(self.recv)

    def prepare(self, who: str, count: int) -> None:
        if who == "peer":
            self.recv[:count] = self.send[:count]
        else:
            self.recv[:count] = np.nan

    def call(self, who: str, count: int) -> None:
        if who == "peer":
            dist.all_reduce(self.tensor[:count])
        else:
            self.comm.allreduce(self.send[:count], self.recv[:count])

    def wrong(self, who: str, count: int) -> int:
        """Elements of a call that is not timed: in place, only the first call has a known sum."""
        self.prepare(who, count)
        self.call(who, count)
        factor = np.float32(self.size * (self.size + 1) // 2)
        return int(np.count_nonzero(self.recv[:count] != factor * self.pattern[:count]))

    def turn(self, who: str, count: int, calls: int, together: bool) -> tuple[list[int], float]:
        """Nanoseconds of each call here, and CPU time of a call."""
        self.prepare(who, count)
        self.meeting.barrier()
        cpu = -time.process_time_ns()
        times = []
        for number in range(calls):
            if number == 0 or not together:
                cpu -= self.meeting.barrier()
                start = time.perf_counter_ns()
            self.call(who, count)
            if not together:
                times.append(time.perf_counter_ns() - start)
        if together:
            times.append((time.perf_counter_ns() - start) / calls)
        return times, (cpu + time.process_time_ns()) / calls

    def over_ranks(self, values: list[float], operation: dist.ReduceOp) -> list[int]:
        tensor = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(tensor, operation)
        return [round(value) for value in tensor.tolist()]

    def item(self, size: int, warmup: int, turns: int, calls: int, together: bool) -> dict:
        count = size // 4
        for who in CONTESTANTS:
            if warmup:
                self.turn(who, count, warmup, together)
        times = {who: [] for who in CONTESTANTS}
        cpu = {who: [] for who in CONTESTANTS}
        wrong = dict.fromkeys(CONTESTANTS, 0)
        for turn in range(turns):
            for who in CONTESTANTS[:: 1 - 2 * (turn % 2)]:
                taken, cost = self.turn(who, count, calls, together)
                times[who] += taken
                cpu[who].append(cost)
                if turn == 0:
                    wrong[who] += self.wrong(who, count)
        record = {"bytes": size, "calls": calls, "together": together}
        for who in CONTESTANTS:
            record[who] = {
                "wrong": self.over_ranks([wrong[who]], dist.ReduceOp.SUM)[0],
                "ns": self.over_ranks(times[who], dist.ReduceOp.MAX),
                "cpu_ns": self.over_ranks(cpu[who], dist.ReduceOp.SUM),
            }
        return record


def main() -> None:
    plan = []
    for text in sys.argv[2].split(","):
        numbers = map(int, text.rstrip("+").split("/"))
        plan.append((*numbers, text.endswith("+")))
    bench = Bench(sys.argv[1], max(size for size, *_ in plan))
    for each in plan:
        record = bench.item(*each)
        if bench.rank == 0:
            print(json.dumps(record), flush=True)
    bench.meeting.barrier()
    bench.comm.finalize()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
