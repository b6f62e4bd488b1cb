# SPDX-License-Identifier: BSD-3-Clause
"""What a collective must move per rank at least, in vectors, by the number of ranks: by this factor
bus bandwidth differs from the bytes of a call per second (as nccl-tests define it)."""

from __future__ import annotations

from collections.abc import Callable

BUS_FACTOR: dict[str, Callable[[int], float]] = {
    "allreduce": lambda ranks: 2 * (ranks - 1) / ranks,
    "reduce_scatter": lambda ranks: (ranks - 1) / ranks,
    "allgather": lambda ranks: (ranks - 1) / ranks,
    "gather": lambda ranks: (ranks - 1) / ranks,
    "scatter": lambda ranks: (ranks - 1) / ranks,
    "alltoall": lambda ranks: (ranks - 1) / ranks,
    "reduce": lambda ranks: 1.0,
    "broadcast": lambda ranks: 1.0,
    "barrier": lambda ranks: 0.0,
}
