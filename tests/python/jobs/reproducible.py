# SPDX-License-Identifier: BSD-3-Clause
"""Mode full: the bits do not depend on the algorithm, nor on how the vector is cut."""

from __future__ import annotations

import numpy as np
import stretto

comm = stretto.init()
rank, size = comm.rank, comm.size
rng = np.random.default_rng(rank)
mine = rng.standard_normal(3001) * 2.0 ** rng.integers(-10, 10, 3001)


def pieces(cuts: list[int]) -> bytes:
    bounds = [0, *cuts, len(mine)]
    parts = [comm.allreduce(mine[a:b].copy()) for a, b in zip(bounds, bounds[1:], strict=False)]
    return np.concatenate(parts).tobytes()


comm.set_reproducible("run")
comm.force_algorithm("direct")
assert pieces([]) == pieces([])
loose = pieces([])

comm.set_reproducible("full")
try:
    comm.allreduce(mine)
    raise AssertionError("direct is not canonical at 5 ranks")
except stretto.UnsupportedError as error:
    assert "direct_canonical" in str(error)
comm.force_algorithm(None)
whole = pieces([])
assert whole != loose  # else nothing here could fail
assert pieces([1, 7, 2000]) == whole
for name in ("binomial", "direct_canonical", "one_shot_canonical"):
    comm.force_algorithm(name)
    assert pieces([1500]) == whole, name
comm.force_algorithm(None)

comm.set_reproducible("off")
try:
    comm.set_reproducible("some")
    raise AssertionError("there is no such mode")
except stretto.ArgumentError as error:
    assert "off, run and full" in str(error)
comm.finalize()
print("ended well")
