# SPDX-License-Identifier: BSD-3-Clause
"""What bench/peers/queues.py makes of the rates that its program prints."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path += [str(BENCH), str(BENCH / "peers")]

import deep_queues  # noqa: E402


def record(pattern: str, wrong: int = 0) -> dict:
    """Three turns; in the second one the machine was busy."""
    return {
        "pattern": pattern, "ranks": 64, "messages": 1000,
        "peer": {"wrong": 0, "rates": [100_000, 10_000, 200_000]},
        "list": {"wrong": 0, "rates": [200_000, 30_000, 300_000], "looks": 125.26,
                 "scheme": "list"},
        "adaptive": {"wrong": wrong, "rates": [800_000, 60_000, 1_500_000], "looks": 0.74,
                     "scheme": "hash"},
    }  # fmt: skip


def test_ratios_are_those_of_a_turn():
    row = deep_queues.summarize(record("random", wrong=2))
    assert row["rates"] == {"peer": 100_000, "list": 200_000, "adaptive": 800_000}
    assert row["over_list"] == pytest.approx(4)  # 4, 2, 5
    assert row["over_peer"] == pytest.approx(7.5)  # 8, 6, 7.5
    assert row["wrong"] == 2


def test_the_table_has_all_libraries_of_a_pattern_together():
    rows = [
        {"library": library, **deep_queues.summarize(record(pattern))}
        for library in ("openmpi", "mpich")
        for pattern in ("reverse", "in-order")
    ]
    lines = deep_queues.markdown(rows).splitlines()
    assert len(lines) == 2 + 4
    assert lines[2] == (
        "| in-order | Open MPI | 100 | 200 | 800 | 4.00 | 7.50 | 125.3 | 0.7 | hash |"
    )
    assert [line.split(" | ")[:2] for line in lines[3:]] == [
        ["| in-order", "MPICH"], ["| reverse", "Open MPI"], ["| reverse", "MPICH"],
    ]  # fmt: skip


def test_the_program_knows_all_patterns():
    source = (BENCH / "peers" / "queues_bench.c").read_text()
    for pattern in deep_queues.PATTERNS:
        assert f'{{"{pattern}", ' in source
