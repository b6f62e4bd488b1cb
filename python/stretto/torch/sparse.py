# SPDX-License-Identifier: BSD-3-Clause
"""The sum of sparse tensors, such as gradients of embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.distributed import ReduceOp

from stretto.errors import ArgumentError
from stretto.torch.work import Done, Work

if TYPE_CHECKING:
    from stretto.torch.collectives import Collectives


def allreduce(group: Collectives, tensor: torch.Tensor, opts: Any) -> Work:
    """Sums COO tensors of one shape; each rank has its own indices.

    Ranks exchange how many elements each has, then indices and values of all, and sum those of
    equal indices.  The call has ended when it returns, as it makes several.
    """
    op = getattr(getattr(opts, "reduceOp", None), "op", ReduceOp.SUM)
    if tensor.layout != torch.sparse_coo:
        raise ArgumentError(f"all_reduce of a {tensor.layout} tensor; to_sparse() makes COO")
    if op != ReduceOp.SUM:
        raise ArgumentError(f"all_reduce of a sparse tensor by {op}; only SUM is defined")
    own = tensor.coalesce().cpu()
    indices, values = own.indices().contiguous(), own.values().contiguous()
    core, size = group._core, group._size
    counts = torch.empty(size, dtype=torch.int64, device="cpu")
    own_rows = torch.tensor([values.size(0)], device="cpu")
    core.play("allgather", own_rows, counts, "sum", 0, None)
    rows = counts.tolist()

    def gathered(part: torch.Tensor, width: int) -> torch.Tensor:
        """Rows of `width` elements, of all ranks."""
        whole = torch.empty(sum(rows) * width, dtype=part.dtype, device="cpu")
        lengths = [count * width for count in rows]
        core.play("allgather", part.reshape(-1), whole, "sum", 0, None, lengths)
        return whole

    dims = indices.size(0)
    width = values[0].numel() if values.size(0) else values.new_empty(values.shape[1:]).numel()
    all_indices = gathered(indices.t().contiguous(), dims).view(-1, dims).t()
    all_values = gathered(values, width).view(-1, *values.shape[1:])
    total = torch.sparse_coo_tensor(all_indices, all_values, tensor.shape, device="cpu").coalesce()
    tensor.copy_(total)
    return Done([tensor])
