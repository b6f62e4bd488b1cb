# SPDX-License-Identifier: BSD-3-Clause
"""Tensors in calls of Stretto's own Python API."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import stretto
import torch
from stretto import IN_PLACE


@pytest.fixture(scope="module")
def comm() -> Iterator[stretto.Communicator]:
    with stretto.init(rank=0, size=1, job="test-torch-tensors") as comm:
        yield comm


def test_a_tensor_is_taken_where_it_lies(comm: stretto.Communicator) -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64):
        tensor = torch.tensor([0, 1, 1, 0]).to(dtype)
        assert comm.allreduce(IN_PLACE, tensor, "lor" if dtype == torch.bool else "sum") is tensor
        assert tensor.tolist() == torch.tensor([0, 1, 1, 0]).to(dtype).tolist()
    parameter = torch.nn.Parameter(torch.ones(3))
    comm.allreduce(IN_PLACE, parameter)
    assert parameter.tolist() == [1, 1, 1]
    assert comm.allreduce(torch.ones(2, 3)).shape == (2, 3)


def test_what_cannot_be_taken_says_so(comm: stretto.Communicator) -> None:
    numbers = torch.tensor([1 + 2j])
    with pytest.raises(stretto.ArgumentError, match="resolve_conj"):
        comm.allreduce(IN_PLACE, numbers.conj())
    with pytest.raises(stretto.ArgumentError, match="resolve_neg"):
        comm.allreduce(IN_PLACE, numbers.conj().imag)
    with pytest.raises(stretto.ArgumentError, match="not C-contiguous"):
        comm.allreduce(IN_PLACE, torch.zeros(4, 4).t())
    with pytest.raises(stretto.ArgumentError, match="cannot be handed over"):
        comm.allreduce(IN_PLACE, torch.eye(2).to_sparse())
    with pytest.raises(stretto.ArgumentError, match="recv: 3 x float32 does not fit"):
        comm.allreduce(torch.ones(4), torch.ones(3))
    with pytest.raises(stretto.ArgumentError, match="float8_e4m3fn|not supported"):
        comm.allreduce(IN_PLACE, torch.zeros(2, dtype=torch.float8_e4m3fn))
