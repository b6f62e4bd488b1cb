# SPDX-License-Identifier: BSD-3-Clause
"""torch.profiler shows the calls, with their sizes."""

from __future__ import annotations

import json

import pytest
from started import run

pytest.importorskip("torch", reason="PyTorch is not there")


@pytest.fixture(scope="module")
def spans(tmp_path_factory) -> list[list[dict]]:
    """Stretto's, by rank, in the order of their beginning."""
    folder = tmp_path_factory.mktemp("profiled")
    found = []
    for rank in run(2, "profiled", folder, folder / "trace."):
        assert rank.returncode == 0, rank.stderr
        line = next(each for each in rank.stdout.splitlines() if each.startswith("SPANS "))
        found.append(json.loads(line.removeprefix("SPANS ")))
    return found


def test_calls_have_pytorchs_names_and_their_tensors_sizes(spans):
    seen = [(each["name"], each["args"].get("Input Dims", [])) for each in spans[1]]
    assert seen == [
        ("stretto:all_reduce", [[3, 4]]),
        ("stretto:all_reduce", [[4]]),
        ("stretto:wait", []),
        ("stretto:allreduce_coalesced", [[4], [2]]),
        ("stretto:all_gather", [[4], [8]]),
        ("stretto:reduce_scatter", [[4], [2]]),
        ("stretto:all_to_all", [[4], [4]]),
        ("stretto:wait", []),
        ("stretto:broadcast", [[4]]),
        ("stretto:barrier", []),
        ("stretto:recv", [[4]]),
        ("stretto:wait", []),
    ]


def test_spans_say_the_operation_and_the_other_rank(spans):
    about = {each["name"]: each["args"] for each in spans[0]}
    assert about["stretto:all_reduce"]["op"] == "sum"
    assert about["stretto:broadcast"]["root"] == 0
    assert (about["stretto:send"]["peer"], about["stretto:send"]["tag"]) == (1, 3)


def test_a_call_in_flight_ends_where_a_thread_has_waited_for_it(spans):
    start, end = spans[0][1:3]
    assert start["ts"] + start["dur"] <= end["ts"]
