# SPDX-License-Identifier: BSD-3-Clause
"""Collectives composed over hosts with several ranks: exact on hosts of every shape."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from conftest import Lab

pytest.importorskip("stretto", reason="the package is not installed: make install")

JOB = Path(__file__).parent / "jobs" / "composed.py"
FULL = os.environ.get("STRETTO_TEST_FULL") == "1"
# Ranks of each host.
SMALL = [(3, 1, 4)]
LARGE = [(2, 2), (4,) * 4, (2,) * 8, (4,) * 16, (17, 3, 9)]
SHAPES = SMALL + LARGE if FULL else SMALL
CHOICES = [
    "",
    "allreduce=hierarchical(inter=ring, leaders=2)",
    "allreduce=hierarchical(inter=circulant)",
    "allreduce=salar",
]
COUNTS = [0, 1, 1009, 70_001]


@pytest.fixture(scope="module", params=SHAPES, ids=lambda shape: "+".join(map(str, shape)))
def cluster(make_lab, request) -> tuple[Lab, tuple[int, ...]]:
    return make_lab(len(request.param)), request.param


def blocks(shape: tuple[int, ...]) -> list[int]:
    return [host for host, ranks in enumerate(shape, 1) for _ in range(ranks)]


def in_turn(shape: tuple[int, ...]) -> list[int]:
    """The first rank of each host, then the second of each that has one, and so on."""
    turns = range(max(shape))
    return [host for turn in turns for host, ranks in enumerate(shape, 1) if turn < ranks]


def assert_exact(lab: Lab, hosts: list[int], choice: str) -> None:
    options = ["--no-prefix", "--hosts", ",".join(map(str, hosts))]
    options += ["--env", f"STRETTO_ALGORITHM={choice}"] if choice else []
    done = lab("run", *options, sys.executable, JOB, *COUNTS)
    assert done.stdout.count("ended well") == len(hosts), done.stderr


@pytest.mark.parametrize("choice", CHOICES)
def test_every_rank_gets_exact_answers(cluster, choice):
    lab, shape = cluster
    assert_exact(lab, blocks(shape), choice)


def test_ranks_of_a_host_need_not_be_neighbours(cluster):
    lab, shape = cluster
    assert_exact(lab, in_turn(shape), "allreduce=salar")
