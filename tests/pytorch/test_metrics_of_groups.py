# SPDX-License-Identifier: BSD-3-Clause
"""STRETTO_METRICS holds for process groups as well."""

from __future__ import annotations

import pytest
from started import run

pytest.importorskip("torch", reason="PyTorch is not there")


def test_a_process_group_has_metrics(tmp_path):
    target = tmp_path / "metrics"
    settings = {"STRETTO_METRICS": str(target), "STRETTO_METRICS_INTERVAL": "0.2"}
    first, second = run(2, "metered", tmp_path, **settings)
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    for rank in "01":
        assert f'rank="{rank}"' in first.stdout
    assert 'collective="AllReduce"' in first.stdout
    assert list(target.iterdir()) == []
