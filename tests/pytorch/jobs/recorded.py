# SPDX-License-Identifier: BSD-3-Clause
"""Makes calls, then goes wrong in the way that its argument names, or dumps its flight record."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from joined import join
from stretto.torch import dump_flight_record

kind = sys.argv[1]
rank, size = join(seconds=4 if kind in ("late", "silent") else 60)
last = size - 1
group = dist.new_group([0, 1], group_desc="tensor parallel")
four = torch.ones(4)
each = [torch.ones(4) for _ in range(size)]

dist.all_reduce(four)
dist.all_reduce(torch.ones(4, dtype=torch.bool))  # of which the core knows no sum at first
dist.all_reduce(four, async_op=True).wait()
dist.all_reduce_coalesced([torch.ones(4), torch.ones(2)])
dist.reduce(four, 0)
dist.broadcast(four, last)
dist.all_gather(each, four)
dist.all_gather([torch.empty(1 + r) for r in range(size)], torch.ones(1 + rank))  # uneven
dist.all_gather_into_tensor(torch.empty(4 * size), four)
dist.reduce_scatter_tensor(torch.empty(2), torch.ones(2 * size))
dist.gather(four, each if rank == 0 else None)
dist.scatter(four, each if rank == 0 else None)
dist.all_to_all_single(torch.empty(size), torch.ones(size))
dist.barrier()
if rank < 2:
    dist.all_reduce(four, group=group)
# Both ways at once, of several tags, and from anybody.
after, before = (rank + 1) % size, (rank - 1) % size
sent = [dist.isend(four, after, tag=tag) for tag in (5, 6)]
dist.recv(torch.empty(4), before, tag=6)
dist.recv(torch.empty(4), before, tag=5)
for work in sent:
    work.wait()
if rank == 0:
    dist.send(four, last)
elif rank == last:
    dist.recv(four)


def compute() -> None:
    """Makes no call until another rank has dumped its record, and then for long enough."""
    dumps, end = Path(os.environ["TORCH_FR_DUMP_TEMP_FILE"]).parent, time.monotonic() + 60
    while not dumps.exists() and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(2)


if kind == "late" and rank == last:  # and hears of nothing
    compute()
elif kind == "silent" and rank == 0:
    dist.recv(four, 1, tag=9)
elif kind == "silent":
    compute()
elif kind == "mismatch" and rank == last:
    dist.broadcast(torch.ones(4), 0)
elif kind in ("late", "mismatch"):
    dist.all_reduce(torch.ones(4))
else:
    dump_flight_record(sys.argv[2] + str(rank) if len(sys.argv) > 2 else None)
    dist.destroy_process_group()
