# SPDX-License-Identifier: BSD-3-Clause
"""CUDA tensors: on a GPU if there is one, else of a driver in place of CUDA's, and PyTorch's parts
over it (simulated_cuda)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import on_cuda
import on_cuda_failing
import on_cuda_groups
import on_cuda_messages
import pytest
import simulated_cuda
import started
import test_collectives as collectives
import test_layouts as layouts
import test_works as works
import torch
from worlds import RankError, World, Worlds

BUILT = torch.version.cuda is not None
REAL = BUILT and torch.cuda.is_available()
pytestmark = [
    pytest.mark.skipif(not REAL and shutil.which("c++") is None, reason="needs a C++ compiler"),
    pytest.mark.skipif(
        BUILT and not REAL,
        reason="this build of PyTorch has a CUDA of its own, in whose place no other can be put",
    ),
]


def driver() -> Path | None:
    """The folder of the simulated driver; None: there is a GPU."""
    return None if REAL else simulated_cuda.build()


@pytest.fixture(scope="module")
def worlds() -> Iterator[Worlds]:
    """Their streams wait for calls."""
    with Worlds(on_cuda.prepare, driver()) as made:
        yield made


@pytest.fixture(scope="module")
def waiting_hosts() -> Iterator[Worlds]:
    """Their hosts do."""
    with Worlds(on_cuda.prepare, driver(), "host") as made:
        yield made


@pytest.fixture(params=[1, 2, 3])
def world(request, worlds: Worlds) -> World:
    return worlds[request.param]


def named(function) -> str:
    return function.__name__


COLLECTIVES = [
    collectives.all_reduce,
    collectives.all_reduce_coalesced,
    collectives.reduce,
    collectives.reduce_scatter_tensor,
    collectives.reduce_scatter,
    collectives.premultiplied,
    collectives.broadcast,
    collectives.all_gather,
    collectives.all_gather_uneven,
    collectives.all_gather_into_tensor,
    collectives.gather,
    collectives.scatter,
    collectives.all_to_all,
    collectives.all_to_all_single,
    collectives.all_to_all_single_uneven,
    collectives.barriers,
]
AS_IN_HOST_MEMORY = [
    layouts.all_reduce_of_views,
    layouts.channels_last,
    layouts.movement_of_views,
    layouts.reduce_scatter_of_views,
    layouts.views_in_flight,
    layouts.parts_of_one_tensor,
    layouts.in_place,
    works.waits_on_another_thread,
    works.starts_on_another_thread,
    works.works_are_polled,
    works.works_are_dropped,
    works.all_kinds_in_flight,
    works.wrong_arguments,
]


@pytest.mark.parametrize("case", COLLECTIVES, ids=named)
def test_collective(worlds: Worlds, case) -> None:
    worlds[3].run(on_cuda.of_few, case)


@pytest.mark.parametrize("case", AS_IN_HOST_MEMORY, ids=named)
def test_as_in_host_memory(worlds: Worlds, case) -> None:
    worlds[2].run(on_cuda.by_default, case)


@pytest.mark.parametrize("case", COLLECTIVES, ids=named)
def test_collective_with_waiting_hosts(waiting_hosts: Worlds, case) -> None:
    waiting_hosts[3].run(on_cuda.of_few, case)


@pytest.mark.parametrize("case", AS_IN_HOST_MEMORY, ids=named)
def test_waiting_hosts_as_in_host_memory(waiting_hosts: Worlds, case) -> None:
    waiting_hosts[2].run(on_cuda.by_default, case)


@pytest.mark.parametrize("asynchronous", [False, True], ids=["blocking", "async_op"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_calls_begin_behind_the_stream_and_hold_up_nothing(
    waiting_hosts: Worlds, ranks, asynchronous
) -> None:
    waiting_hosts[ranks].run(on_cuda.behind_the_stream, asynchronous)


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize(
    "case",
    [
        on_cuda.memory_of_dropped_works,
        on_cuda.barriers,
        on_cuda.futures_of_waiting_hosts,
        on_cuda_messages.messages,
        on_cuda_messages.long_messages,
        on_cuda_groups.allocated,
        on_cuda_groups.subgroups,
        on_cuda_messages.behind_the_stream,
        on_cuda_messages.polled,
        on_cuda_messages.of_both_memories,
        on_cuda_messages.from_anybody,
    ],
    ids=named,
)
def test_waiting_hosts(waiting_hosts: Worlds, ranks, case) -> None:
    waiting_hosts[ranks].run(case)


def test_a_rank_that_is_late_for_waiting_hosts(waiting_hosts: Worlds) -> None:
    told = waiting_hosts[3].run(on_cuda_failing.late_for_host)
    assert "rank 1" in told[0] and "rank 1" in told[2], told


@pytest.mark.parametrize("ranks", [1, 3])
def test_memory_that_other_ranks_open(waiting_hosts: Worlds, ranks) -> None:
    waiting_hosts[ranks].run(on_cuda_groups.in_expandable_segments)


@pytest.mark.parametrize("asynchronous", [False, True], ids=["blocking", "async_op"])
def test_no_host_waits(world: World, asynchronous) -> None:
    world.run(on_cuda.warmed, on_cuda.every_form, asynchronous)


@pytest.mark.parametrize(
    "case",
    [
        on_cuda.coalesced,
        on_cuda.beside_the_program,
        on_cuda.memory_stays,
        on_cuda.both_memories,
        on_cuda.barriers,
        on_cuda.futures,
        on_cuda_messages.messages,
        on_cuda_messages.long_messages,
        on_cuda_groups.allocated,
        on_cuda_groups.subgroups,
        on_cuda_messages.no_host_waits,
        on_cuda_messages.in_one_stream,
        on_cuda_messages.parts_of_any_size,
        on_cuda_messages.futures,
        on_cuda_messages.polled,
        on_cuda_messages.of_both_memories,
        on_cuda_messages.from_anybody,
    ],
    ids=named,
)
def test_streams(world: World, case) -> None:
    world.run(on_cuda.warmed, case)


def test_names_of_groups(pair: World, tmp_path) -> None:
    pair.run(on_cuda_groups.named, tmp_path)


# Each takes half a minute: one number of ranks, unless it is make test-full.
@pytest.mark.parametrize("ranks", [1, 2, 3] if os.environ.get("STRETTO_TEST_FULL") else [2])
@pytest.mark.parametrize("waits", ["host", "stream"])
def test_training(ranks, waits, tmp_path) -> None:
    for done in started.run(ranks, "cuda_training", tmp_path, driver() or "", waits):
        assert done.stdout == "all right\n", done.stdout + done.stderr


@pytest.mark.parametrize("asynchronous", [False, True], ids=["blocking", "async_op"])
def test_a_rank_that_is_late(worlds: Worlds, asynchronous) -> None:
    told = worlds[3].run(on_cuda_failing.late_rank, asynchronous)
    for rank in (0, 2):
        of_the_call, by_the_next = told[rank]
        assert "rank 1" in by_the_next or "ranks [1]" in by_the_next, told
        assert not asynchronous or "1" in of_the_call, told


@pytest.mark.parametrize("of", ["worlds", "waiting_hosts"])
def test_a_message_that_is_too_long(request, of) -> None:
    told = request.getfixturevalue(of)[3].run(on_cuda_messages.cut_off)
    assert "which do not fit" in told[1], told


def test_a_message_that_nobody_takes(worlds: Worlds) -> None:
    told = worlds[3].run(on_cuda_messages.late_peer)
    assert "rank 2" in told[0] and "send(" in told[0], told


@pytest.mark.skipif(REAL, reason="a GPU does not fail when it is told to")
def test_an_error_of_the_driver(worlds: Worlds) -> None:
    """On all ranks; their device is broken then."""
    world = worlds[2]
    told = world.run(on_cuda_failing.broken_copy)
    world.broken = True
    world.close()
    assert all("rank 0" in text and "CUDA_ERROR_ILLEGAL_ADDRESS" in text for text in told), told


def test_death_of_a_rank(worlds: Worlds) -> None:
    with pytest.raises(RankError, match=r"rank 0: [\s\S]*rank 1[\s\S]*rank 1: ended"):
        worlds[3].run(on_cuda_failing.dead_rank, timeout=60)
