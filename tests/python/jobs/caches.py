# SPDX-License-Identifier: BSD-3-Clause
"""Each rank may use the processors that its argument lists; what it then knows of caches."""

import os
import sys

import numpy as np
import stretto

os.sched_setaffinity(0, map(int, sys.argv[1 + int(os.environ["STRETTO_RANK"])].split(",")))
with stretto.init() as comm:
    rank, size = comm.rank, comm.size
    for inter in ("direct", "ring", "recursive_doubling"):
        for leaders in ("", ",leaders=1"):
            comm.force_algorithm(f"hierarchical(level=cache,inter={inter}{leaders})")
            for count in (1, 7, 1009, 70_001):
                index = np.arange(count, dtype=np.int64)
                sums = comm.allreduce(index * (rank + 1) + 1000 * rank)
                assert (sums == index * sum(range(size + 1)) + 1000 * sum(range(size))).all()
    found = []
    # Operands stay in order only where the ranks of a group are neighbours.
    comm.force_algorithm("hierarchical(level=cache,inter=direct)")
    last = stretto.Op(lambda _, higher: higher, commutative=False)
    try:
        kept = comm.allreduce(np.arange(101) + 1000 * rank, op=last)
        assert (kept == np.arange(101) + 1000 * (size - 1)).all()
        found.append("ordered")
    except stretto.UnsupportedError as error:
        assert "does not keep the order of ranks" in str(error), error
    # The tree is the canonical one only if each group but the last has the same power of two.
    comm.force_algorithm("hierarchical(level=cache,inter=direct_canonical,intra=direct_canonical)")
    comm.set_reproducible("full")
    try:
        comm.allreduce(np.ones(101))
        found.append("canonical")
    except stretto.UnsupportedError as error:
        assert "not the canonical tree" in str(error), error
    print(f"rank {rank}: {' '.join(found)}")
