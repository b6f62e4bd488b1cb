# SPDX-License-Identifier: BSD-3-Clause
"""The benchmarks for PyTorch, small."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from programs import ROOT, run

BENCH = ROOT / "bench" / "pytorch"


@pytest.mark.parametrize("size", [1, 2, 3])
def test_compare(size: int, tmp_path: Path) -> None:
    """All collectives; a table, results and a picture."""
    pytest.importorskip("matplotlib")
    table, picture = tmp_path / "results.json", tmp_path / "results.png"
    short = "--sizes", "4,4K,1M", "--turns", 2, "--calls", 2, "--seconds", 0.01
    printed = run(size, BENCH / "compare.py", *short, "--json", table, "--plot", picture)
    rows = json.loads(table.read_text())["rows"]
    assert len(rows) == 5 * 3
    assert all(row["gloo"] > 0 and row["stretto"] > 0 for row in rows)
    assert printed.count("gloo") == len(rows)
    assert picture.read_bytes().startswith(b"\x89PNG")
