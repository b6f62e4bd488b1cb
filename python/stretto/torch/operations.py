# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's reduce operations and Stretto's."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch.distributed import ReduceOp

from stretto.errors import ArgumentError
from stretto.operation import AnyOp, premul_sum

_Kinds = ReduceOp.RedOpType

_NAMES: dict[Any, str] = {
    _Kinds.SUM: "sum",
    _Kinds.AVG: "avg",
    _Kinds.PRODUCT: "prod",
    _Kinds.MIN: "min",
    _Kinds.MAX: "max",
    _Kinds.BAND: "band",
    _Kinds.BOR: "bor",
    _Kinds.BXOR: "bxor",
}
NAMES = [_NAMES.get(_Kinds(number)) for number in range(len(_Kinds.__members__))]
"""Names of operations without an operand, by the number of their kind: a kind is an index."""

# A sum of truth values says whether any is true, a product whether all are, as with NCCL.
_OF_BOOL = {"sum": "lor", "prod": "land"}


def op_for(reduce_op: Any, tensor: torch.Tensor) -> AnyOp:
    """The operation for a call on elements like those of `tensor`."""
    kind = getattr(reduce_op, "op", reduce_op)
    if kind == _Kinds.PREMUL_SUM:
        return _premul_sum(float(reduce_op.factor), tensor.dtype)
    name = _NAMES.get(kind)
    if name is None:
        raise ArgumentError(f"the stretto backend has no reduce operation {kind}")
    if tensor.dtype == torch.bool:
        return _OF_BOOL.get(name, name)
    if name == "avg" and not (tensor.is_floating_point() or tensor.is_complex()):
        raise ArgumentError(
            f"ReduceOp.AVG of {tensor.dtype} elements: integers have no exact average; reduce with "
            "SUM and divide, or convert to a floating-point type"
        )
    return name


@lru_cache(maxsize=64)
def _premul_sum(factor: float, dtype: torch.dtype) -> AnyOp:
    name = str(dtype).removeprefix("torch.")
    return premul_sum(np.float64(factor), name)
