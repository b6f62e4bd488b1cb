# SPDX-License-Identifier: BSD-3-Clause
"""Prices of schedules over a network, the equations of Kolmakov and Zhang, and SALaR's model."""

from __future__ import annotations

import pytest
from stretto import ArgumentError, UnsupportedError, _core

ALPHA, BETA, GAMMA = 3e-5, 1e-8, 2e-10


def price(algorithm: str, ranks: int, count: int, slice: int | None) -> dict:
    schedule = _core.schedule("allreduce", algorithm, ranks, 0)
    return _core.price(schedule, count, 4, slice, 0.0, ALPHA, BETA, GAMMA)


def test_an_uncut_price_is_the_equation():
    equations = _core.kolmakov_zhang(12, 48_000, ALPHA, BETA, GAMMA)
    assert price("ring", 12, 12_000, None)["seconds"] == pytest.approx(equations["ring"])
    circulant = price("circulant", 12, 12_000, None)
    assert circulant["seconds"] == pytest.approx(equations["proposed"][0])
    assert circulant["messages"] == 8
    assert circulant["bytes_sent"] == circulant["bytes_received"] == 2 * 11 * 4000
    assert circulant["bytes_reduced"] == 11 * 4000


def test_slices_cost_their_overhead():
    assert price("ring", 4, 4000, 1000)["seconds"] > price("ring", 4, 4000, None)["seconds"]


def broadcast(**more) -> float:
    """From rank 0 to three others, one after another; 1000 elements of 4 bytes."""
    schedule = _core.schedule("broadcast", "linear", 4, 0)
    return _core.price(schedule, 1000, 4, None, 1e-6, ALPHA, BETA, GAMMA, **more)["seconds"]


def test_ranks_of_a_host_have_a_link_of_their_own():
    between = ALPHA + BETA * 4000
    assert broadcast() == pytest.approx(3 * between + 1e-6)
    # Without a link inside, it is the one between.
    assert broadcast(host_of=[0, 0, 1, 1]) == pytest.approx(3 * between + 1e-6)
    inside = (5e-7, 2e-6, 3e-9, GAMMA)
    held = 2e-6 + 3e-9 * 4000
    assert broadcast(inside=inside) == pytest.approx(3 * between + 1e-6)  # hosts of one rank
    found = broadcast(host_of=[0, 0, 1, 1], inside=inside)
    assert found == pytest.approx(held + 2 * between + 1e-6)
    assert broadcast(host_of=[7] * 4, inside=inside) == pytest.approx(3 * held + 5e-7)
    with pytest.raises(ArgumentError, match="3 positions have hosts, of 4"):
        broadcast(host_of=[0, 0, 1])
    with pytest.raises(ArgumentError, match="finite and not negative"):
        broadcast(inside=(0.0, 0.0, -1.0, 0.0))
    with pytest.raises(UnsupportedError, match="has more than 3 blocks and pieces"):
        broadcast(work=3)


def test_readers_of_one_rank_do_not_wait_for_each_other():
    inside = (5e-7, 2e-6, 3e-9, GAMMA)
    held = 2e-6 + 3e-9 * 4000
    assert broadcast(host_of=[7] * 4, inside=inside, reads=True) == pytest.approx(held + 5e-7)
    # Rank 1 reads while 0 sends to the other host.
    found = broadcast(host_of=[0, 0, 1, 1], inside=inside, reads=True)
    assert found == pytest.approx(2 * (ALPHA + BETA * 4000) + 1e-6)
    # A rank that reads from three others still reads one after another.
    gathered = _core.schedule("gather", "linear", 4, 0)
    for reads in (False, True):
        found = _core.price(gathered, 4000, 4, None, 0.0, ALPHA, BETA, 0.0, host_of=[7] * 4,
                            inside=(*inside[:3], 0.0), reads=reads)  # fmt: skip
        assert found["seconds"] == pytest.approx(3 * held + 5e-7)


def test_counts_of_removed_steps():
    assert len(_core.kolmakov_zhang(127, 1e6, ALPHA, BETA, GAMMA)["exact"]) == 8
    assert _core.kolmakov_zhang_counts(127, 3) == {
        "steps": 11,
        "sent": 294,
        "reduced": 210,
        "results": 8,
    }


def test_the_model_of_salar():
    found = _core.salar(8, 28, 1 << 20)  # the costs of the paper's validation figure
    assert found["inter"] == pytest.approx(280.599e-6, rel=1e-5)
    assert found["intra"] == pytest.approx(534.137e-6, rel=1e-5)
    assert found["distribution"] == pytest.approx(322.647e-6, rel=1e-5)
    assert found["total"] == pytest.approx(found["intra"] + found["distribution"])
    assert found["simplified"] == pytest.approx(837.707e-6, rel=1e-5)
    assert found["pipelined"] == found["total"] + found["filling"]
    assert found["network_bound"] == pytest.approx(2 * 7 / 8 * 8.41e-11 * (1 << 20))
    assert found["node_bound"] == pytest.approx(2 * 27 / 28 * 3.077e-10 * (1 << 20))
    # Each parameter has its place: n = 4, p = 2, l = 16, K = 2, I = 4, G = 2, G' = 8, C = 1,
    # C' = 0.5.
    found = _core.salar(4, 2, 16, 2, 4, 2, 8, 1, 0.5)
    assert (found["inter"], found["intra"], found["distribution"]) == (44, 288, 128)
    assert (found["total"], found["filling"]) == (416, 11)
    # b = 18, a = 2.625: I = (b - a) l / C' = 492, above the square root of b l / C'.
    assert _core.salar_chunks(4, 2, 1600, 2, 10**6, 2, 8, 1, 50) == {"best": 492, "free": 492}
    assert _core.salar_chunks(4, 2, 1600, 2, 77, 2, 8, 1, 50) == {"best": 77, "free": 77}
    with pytest.raises(ArgumentError, match="2 nodes or more"):
        _core.salar(1, 28, 100)


def test_refused():
    with pytest.raises(ArgumentError, match="slices"):
        price("ring", 4, 4000, 0)
    with pytest.raises(ArgumentError, match="r = 4 at 8 ranks"):
        _core.kolmakov_zhang_counts(8, 4)
