# SPDX-License-Identifier: BSD-3-Clause
"""Operations that a program makes, on real ranks: sums of multiples, functions, one that fails."""

from __future__ import annotations

import sys

import numpy as np
import stretto

comm = stretto.init()
rank, size = comm.rank, comm.size


def maps(of: int, count: int) -> np.ndarray:
    """x -> scale * x + shift modulo 2^32, as pairs in one number each."""
    index = np.arange(count, dtype=np.uint64)
    return ((index * np.uint64(2) + np.uint64(2 * of + 3)) << np.uint64(32)) | (
        index * np.uint64(7919) + np.uint64(of)
    )


def compose(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    scale = (first >> half) * (second >> half) & low
    shift = ((first & low) * (second >> half) + (second & low)) & low
    return scale << half | shift


def in_order(count: int) -> np.ndarray:
    result = maps(0, count)
    for other in range(1, size):
        result = compose(result, maps(other, count))
    return result


if sys.argv[1:] == ["fails"]:

    def broken(lower: np.ndarray, higher: np.ndarray) -> np.ndarray:
        if rank == 1:
            raise KeyError("no such thing")
        return lower + higher

    try:
        comm.iallreduce(np.ones(1000), op=stretto.Op(broken)).wait()
        comm.barrier()
    except stretto.OperationError as error:
        print("told:", error)
        print("ended well")
    sys.exit()

if sys.argv[1:] == ["keeps"]:
    kept = []
    try:
        comm.allreduce(np.ones(10), op=stretto.Op(lambda lower, higher: kept.append(lower[1:])))
        comm.barrier()
    except stretto.OperationError as error:
        assert "kept an array" in str(error)
        print("ended well")
    sys.exit()

ordered = stretto.Op(compose, commutative=False)
for count in (0, 1, 5, 1009, 40_009):
    send, right = maps(rank, count), in_order(count)
    assert np.array_equal(comm.allreduce(send, op=ordered), right)
    assert np.array_equal(comm.iallreduce(send, op=ordered).wait(), right)
    whole = comm.reduce(send, op=ordered, root=size - 1)
    assert rank != size - 1 or np.array_equal(whole, right)
part = comm.reduce_scatter(maps(rank, size * 100), op=ordered)
assert np.array_equal(part, in_order(size * 100)[rank * 100 :][:100])

comm.force_algorithm("ring")
try:
    comm.allreduce(maps(rank, 4), op=ordered)
    assert size <= 2, "an algorithm that does not keep the order has served"
except stretto.UnsupportedError as error:
    assert "recursive_doubling" in str(error)
comm.force_algorithm(None)


def larger(lower: np.ndarray, higher: np.ndarray) -> None:
    np.maximum(lower, higher, out=higher)


for dtype in (np.int8, np.float16, np.complex128, np.bool_):
    values = np.arange(50).astype(dtype)
    if dtype is not np.complex128:
        assert np.array_equal(
            comm.allreduce(values + dtype(rank % 2), op=stretto.Op(larger)),
            values + dtype(size > 1),
        )
assert np.allclose(comm.allreduce(np.full(9, 3.0), op=stretto.Op(np.hypot)), 3 * np.sqrt(size))

# Each rank its own factor; requests that nobody keeps still have their function.
ones = np.ones(1000, np.float32)
total = sum(range(1, size + 1))
assert (comm.allreduce(ones, op=stretto.premul_sum(rank + 1, np.float32)) == total).all()
assert (comm.allreduce(ones * rank, op="avg") == np.float32((size - 1) / 2)).all()
for _ in range(10):
    comm.iallreduce(maps(rank, 5000), op=stretto.Op(compose))
comm.barrier()
comm.iallreduce(maps(rank, 5000), op=stretto.Op(compose))
comm.finalize()
print("ended well")
