# SPDX-License-Identifier: BSD-3-Clause
"""What the Python API refuses, and how: in this process, a job of one rank."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest
import stretto
from stretto import IN_PLACE


@pytest.fixture(scope="module")
def comm():
    with stretto.init(rank=0, size=1, job="test-arguments") as comm:
        yield comm


def read_only() -> np.ndarray:
    array = np.zeros(4, np.float32)
    array.flags.writeable = False
    return array


FOUR = np.zeros(4, np.float32)
NOT_AN_ARRAY = (
    "send: an array is wanted (NumPy, the buffer protocol, DLPack or __cuda_array_interface__), "
    "not list"
)
MASKED = np.ma.masked_array(np.zeros(4, np.float32), [False, True, False, False])


@pytest.mark.parametrize(
    ("send", "recv", "message"),
    [
        ([1, 2], FOUR, NOT_AN_ARRAY),
        ([1, 2], None, NOT_AN_ARRAY),
        (FOUR, [1.0] * 4, "recv: an array is wanted"),
        (np.zeros(4, "g"), None, "are not supported; int8, int16"),
        (np.zeros(4, "S1"), None, "S1 are not supported"),
        (np.zeros(4, "M8[s]"), None, "datetime64[s] are not supported"),
        (np.zeros(4, "f4,f4"), None, "are not supported"),
        (np.zeros(4, ">f4"), None, ">f4 are not supported"),
        (np.zeros(8, np.float32)[::2], None, "send: the array is not C-contiguous"),
        (np.asfortranarray(np.zeros((2, 3), np.float32)), None, "not C-contiguous"),
        (FOUR, np.zeros(8, np.float32)[::2], "recv: the array is not C-contiguous"),
        (FOUR, read_only(), "recv: the array is read-only"),
        (FOUR, np.zeros(5, np.float32), "recv: 5 x float32 does not fit 4 x float32 of send"),
        (FOUR, np.zeros(4, np.float64), "recv: 4 x float64 does not fit 4 x float32 of send"),
        (IN_PLACE, None, "recv: IN_PLACE needs an array"),
        (MASKED, None, "send: a masked array is not taken"),
        (FOUR, MASKED, "recv: a masked array is not taken"),
    ],
)
def test_arrays_that_do_not_fit(comm, send, recv, message):
    for call in (comm.allreduce, comm.iallreduce, comm.allreduce_init):
        with pytest.raises(stretto.ArgumentError) as error:
            call(send, recv)
        assert message in str(error.value)


def test_parts_that_do_not_fit(comm):
    with pytest.raises(stretto.ArgumentError, match="5 x float32 does not fit 4 x float32 of send"):
        comm.gather(FOUR, np.zeros(5, np.float32))
    with pytest.raises(stretto.ArgumentError, match="send: 4 x float32 does not fit the counts; 3"):
        comm.allgatherv(FOUR, [3])
    with pytest.raises(stretto.ArgumentError, match="recv: 4 x float32 does not fit the counts; 3"):
        comm.allgatherv(IN_PLACE, [3], np.zeros(4, np.float32))
    with pytest.raises(stretto.ArgumentError, match="counts: 2 for 1 ranks"):
        comm.reduce_scatterv(FOUR, [3, 1])
    with pytest.raises(stretto.ArgumentError, match="not negative"):
        comm.allgatherv(FOUR, [-4])
    with pytest.raises(stretto.ArgumentError, match="the root scatters an array"):
        comm.scatter(None)
    with pytest.raises(stretto.ArgumentError, match="the root scatters an array"):
        comm.scatter(IN_PLACE, np.zeros(4, np.float32))
    with pytest.raises(stretto.ArgumentError, match="overlap"):
        comm.alltoall(FOUR[:3], FOUR[1:])


def test_overlapping_arrays(comm):
    array = np.zeros(10, np.float32)
    with pytest.raises(stretto.ArgumentError, match="overlap"):
        comm.allreduce(array[:6], array[4:])
    comm.allreduce(array[:5], array[5:])
    comm.allreduce(array, array)  # the same array: in place


def test_names_that_do_not_exist(comm):
    with pytest.raises(stretto.ArgumentError, match="no op 'mean'; sum, prod, .* and avg"):
        comm.allreduce(FOUR, op="mean")
    with pytest.raises(stretto.ArgumentError, match="ring"):
        comm.force_algorithm("rink")
    with pytest.raises(stretto.ArgumentError, match="allreduce"):
        comm.chosen_algorithm("allreduced", 4)
    with pytest.raises(stretto.ArgumentError, match="datetime64"):
        comm.chosen_algorithm("allreduce", 4, np.dtype("datetime64[s]"))


@pytest.mark.parametrize("root", [-1, 1])
def test_a_root_that_is_no_rank(comm, root):
    with pytest.raises(stretto.ArgumentError, match=f"root {root}"):
        comm.broadcast(FOUR, root)


def test_errors_are_errors_of_python_too(comm):
    with pytest.raises(ValueError):
        comm.allreduce(FOUR, op="mean")
    with pytest.raises(stretto.Error):
        comm.allreduce(FOUR, op="mean")


def test_init_takes_all_or_nothing():
    with pytest.raises(stretto.ArgumentError, match="together"):
        stretto.init(rank=0)
    with pytest.raises(stretto.ArgumentError, match="size"):
        stretto.init(rank=2, size=2, job="test-init")


def test_one_rank_gets_what_it_gave(comm):
    assert (comm.rank, comm.size) == (0, 1)
    array = np.arange(12, dtype=np.int32).reshape(3, 4)
    result = comm.allreduce(array)
    assert result.shape == array.shape
    assert np.array_equal(result, array)
    assert result is not array
    assert np.array_equal(comm.reduce(array), array)
    assert comm.allgather(array).shape == (1, 3, 4)
    assert np.array_equal(comm.reduce_scatter(array), array.reshape(-1))
    assert comm.gather(array).shape == (1, 3, 4)
    assert np.array_equal(comm.scatter(array), array.reshape(-1))
    assert np.array_equal(comm.scatter(array, stretto.IN_PLACE), array.reshape(-1))
    assert np.array_equal(comm.alltoall(array), array)
    assert np.array_equal(comm.allgatherv(array, [12]), array.reshape(-1))
    assert np.array_equal(comm.reduce_scatterv(array, [12], op="max"), array.reshape(-1))
    assert comm.broadcast(array) is array
    assert comm.barrier() is None


def test_any_shape_and_any_length(comm):
    for shape in ((), (0,), (0, 3), (2, 1, 5)):
        assert comm.allreduce(np.ones(shape)).shape == shape
        assert comm.alloc(shape).shape == shape


def test_alloc_is_aligned_zeroed_and_writable(comm):
    array = comm.alloc((4, 25), np.int64)
    assert array.ctypes.data % 64 == 0
    assert array.dtype == np.int64
    assert not array.any()
    array += 1
    assert comm.allreduce(array).sum() == 100


def test_persistent_requests_are_started_and_waited_for_in_turn(comm):
    request = comm.allreduce_init(np.ones(3), np.zeros(3))
    assert request.test()  # not started: nothing to wait for
    request.start()
    with pytest.raises(stretto.ArgumentError, match="runs already"):
        request.start()
    assert np.array_equal(request.wait(), np.ones(3))


def test_a_python_program_sees_the_types():
    from importlib.resources import files

    assert (files("stretto") / "py.typed").is_file()
    assert (files("stretto") / "_core.pyi").is_file()


@pytest.mark.parametrize("counts", [[4.0], [3.5], ["4"], [np.float64(4)], 4])
def test_counts_are_whole_numbers(comm, counts):
    for call in (comm.allgatherv, comm.reduce_scatterv, comm.gatherv):
        with pytest.raises(stretto.ArgumentError, match="counts and displacements are whole"):
            call(FOUR, counts)


def test_counts_may_be_of_numpy(comm):
    assert (comm.allgatherv(FOUR, np.array([4])) == FOUR).all()
    assert (comm.allgatherv(FOUR, [np.uint8(4)]) == FOUR).all()


def test_arrays_of_other_subclasses_are_taken(comm):
    matrix = np.arange(4, dtype=np.float32).reshape(2, 2).view(np.matrix)
    assert (comm.allreduce(matrix, np.zeros(4, np.float32)) == [0, 1, 2, 3]).all()


def test_a_root_broadcasts_what_nobody_can_write(comm):
    array = np.arange(4, dtype=np.float32)
    array.flags.writeable = False
    assert comm.broadcast(array) is array
    assert comm.ibroadcast(array).wait() is array
    constant = bytes(range(8))
    assert comm.broadcast(constant) is constant


def test_type_hints_take_every_array_that_is_taken():
    """All arrays that calls take are AnyArray, or the type of the one that they return."""
    named = ("send", "recv", "buffer")
    seen = 0
    for name, call in inspect.getmembers(stretto.Communicator, inspect.isfunction):
        if name.startswith("_"):
            continue
        for parameter in inspect.signature(call).parameters.values():
            if parameter.name in named:
                seen += 1
                assert re.search(r"\b(AnyArray|Given)\b", parameter.annotation), (name, parameter)
                assert "ndarray" not in parameter.annotation
    assert seen > 30
