# SPDX-License-Identifier: BSD-3-Clause
"""What `stretto bench` checks before it measures, of every type with every operation; and that it
would notice."""

from __future__ import annotations

import itertools

import numpy as np
import stretto
from stretto import _core
from stretto.cli import measure
from stretto.cli.catalog import COLLECTIVES, REDUCING
from stretto.cli.values import FOLDS
from stretto.data import dtype_named

comm = stretto.init()
collectives = itertools.cycle(REDUCING)


def wrong(collective: str, dtype: str, op: str, algorithm: str = "auto", size: int = 5000) -> int:
    case = measure.Case(collective, algorithm, size, dtype_named(dtype), op, False, False)
    return measure.Bench(comm, case).wrong()


for dtype, ops in _core.supported().items():
    for op in filter(FOLDS.__contains__, ops):
        assert wrong("allreduce", dtype, op, "ring") == 0, (dtype, op)
        collective = next(collectives)
        assert wrong(collective, dtype, op) == 0, (collective, dtype, op)
    for collective in COLLECTIVES:
        if collective not in REDUCING and collective != "barrier":
            assert wrong(collective, dtype, ops[0]) == 0, (collective, dtype)

honest = measure.given


def slip(case, rank, ranks, first, count):
    """The last rank gives its neighbour's values instead of its own."""
    if comm.rank == ranks - 1:
        rank = (rank + 1) % ranks
    return honest(case, rank, ranks, first, count)


def sabotaged(dtype: str, op: str) -> int:
    """The last rank's input is off, its idea of what is right is not."""
    case = measure.Case("allreduce", "auto", 5000, dtype_named(dtype), op, False, False)
    bench = measure.Bench(comm, case)
    measure.given = slip
    try:
        return bench.wrong()
    finally:
        measure.given = honest


if comm.size > 1:
    for dtype, ops in _core.supported().items():
        for op in filter(FOLDS.__contains__, ops):
            if op != "avg":  # whose halves cancel out
                assert sabotaged(dtype, op) > 0, (dtype, op)
assert np.array_equal(comm.allreduce(np.ones(1)), [comm.size])
print("fine")
