# SPDX-License-Identifier: BSD-3-Clause
"""Calls in flight that fail say so, in every way that a program may ask."""

from __future__ import annotations

from pathlib import Path

from programs import outputs, start_workers


def test_a_worker_dies_meanwhile() -> None:
    workers = start_workers(2, Path(__file__).with_name("failing_work.py"))
    lines = outputs(workers, killed=[1])[0].splitlines()
    assert "ended True True None" in lines
    assert any(line.startswith("wait PeerError: rank 1 has died") for line in lines), lines
    assert any(line.startswith("future ") and "PeerError" in line for line in lines), lines
    assert "failed True False True" in lines
