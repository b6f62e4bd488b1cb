# SPDX-License-Identifier: BSD-3-Clause
"""Worlds of ranks that stay for many tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("torch", reason="PyTorch is not there: make test-torch fetches it")

from worlds import World, Worlds  # noqa: E402


@pytest.fixture(scope="module")
def worlds() -> Iterator[Worlds]:
    """Worlds by their number of ranks; those of a file are started once."""
    with Worlds() as made:
        yield made


@pytest.fixture(params=[1, 2, 3, 5])
def world(request, worlds: Worlds) -> World:
    return worlds[request.param]


@pytest.fixture
def pair(worlds: Worlds) -> World:
    return worlds[2]
