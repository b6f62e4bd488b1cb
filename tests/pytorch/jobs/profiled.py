# SPDX-License-Identifier: BSD-3-Clause
"""Makes calls under torch.profiler and prints, as JSON, those of Stretto's that it shows."""

from __future__ import annotations

import json
import sys

import torch
import torch.distributed as dist
from joined import join
from torch.profiler import ProfilerActivity, profile

rank, size = join()
few = torch.ones(4)
dist.all_reduce(few)  # not profiled
with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as seen:
    dist.all_reduce(torch.ones(3, 4))
    dist.all_reduce(few, async_op=True).wait()
    dist.all_reduce_coalesced([torch.ones(4), torch.ones(2)])
    dist.all_gather([torch.empty(4) for _ in range(size)], few)
    dist.reduce_scatter_tensor(torch.empty(2), torch.ones(2 * size))
    dist.all_to_all_single(torch.empty(2 * size), torch.ones(2 * size), [2] * size, [2] * size)
    dist.broadcast(torch.ones(8)[::2], 0)
    dist.barrier()
    if rank == 0:
        dist.send(few, 1, tag=3)
    elif rank == 1:
        dist.recv(few, 0, tag=3)
dist.all_reduce(few)
seen.export_chrome_trace(sys.argv[1] + str(rank))
dist.destroy_process_group()
with open(sys.argv[1] + str(rank)) as file:
    events = json.load(file)["traceEvents"]
spans = [each for each in events if each.get("name", "").startswith("stretto:")]
print("SPANS", json.dumps(sorted(spans, key=lambda each: each["ts"])))
