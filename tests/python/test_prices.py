# SPDX-License-Identifier: BSD-3-Clause
"""Prices of schedules over a network, and the equations of Kolmakov and Zhang."""

from __future__ import annotations

import pytest
from stretto import ArgumentError, _core

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


def test_counts_of_removed_steps():
    assert len(_core.kolmakov_zhang(127, 1e6, ALPHA, BETA, GAMMA)["exact"]) == 8
    assert _core.kolmakov_zhang_counts(127, 3) == {
        "steps": 11,
        "sent": 294,
        "reduced": 210,
        "results": 8,
    }


def test_refused():
    with pytest.raises(ArgumentError, match="slices"):
        price("ring", 4, 4000, 0)
    with pytest.raises(ArgumentError, match="r = 4 at 8 ranks"):
        _core.kolmakov_zhang_counts(8, 4)
