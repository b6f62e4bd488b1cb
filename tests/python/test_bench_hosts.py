# SPDX-License-Identifier: BSD-3-Clause
"""What the benchmarks between hosts make of measurements: rows, gains, tables; no times."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path += [str(BENCH), str(BENCH / "peers"), str(BENCH / "hosts")]

import jobs  # noqa: E402
import neighbours  # noqa: E402

RATES = {str(hosts): [1e9, 1e9] for hosts in (2, 3, 4, 5, 8)}


# ---- plans and records


def test_a_plan_warms_up_all_but_the_largest():
    assert jobs.plan([4, 1 << 20, 64 << 20]) == "4/60/10/40,1048576/60/4/8+,67108864/0/3/1"
    assert jobs.plan([4], patience=0.1) == "4/60/1/40"


def record(**seconds: list[float]) -> dict:
    """What hosts_bench prints; `auto` is Stretto's choice, g, and names are its algorithms."""
    made: dict = {"bytes": 428, "calls": 1, "together": False}
    for name, each in seconds.items():
        who = {"auto": "stretto", "peer": "peer"}.get(name, f"stretto={name}")
        made[who] = {"wrong": 0, "ns": [s * 1e9 for s in each], "cpu_ns": [1e9]}
        if who != "peer":
            made[who]["chosen"] = "g" if name == "auto" else name
    return made


def test_measured_goes_by_what_a_record_holds():
    job = type("Job", (), {"hosts": 3, "ranks_per_host": 1})
    recipe = type("Recipe", (), {"name": "openmpi"})
    variant = type("Variant", (), {"name": ""})
    found = list(jobs.measured(job, recipe, variant, record(auto=[1e-6], peer=[2e-6])))
    assert [(each.who, each.us, each.chosen) for each in found] == [
        ("stretto", [1.0], "g"),
        ("peer", [2.0], ""),
    ]


# ---- numbers of hosts between powers of two


def row(hosts: int, size: int, us: float, **peers: float) -> dict:
    return {
        "hosts": hosts, "ranks_per_host": 1, "bytes": size, "stretto": {"p50_us": us},
        "peers": {name: {"p50_us": each} for name, each in peers.items()},
    }  # fmt: skip


def test_the_powers_around():
    assert neighbours.powers_around(3) == (2, 4)
    assert neighbours.powers_around(12) == (8, 16)
    assert [neighbours.steps(hosts) for hosts in (2, 3, 4, 5, 8, 12)] == [1, 2, 2, 3, 3, 4]


def test_times_as_the_bound_says_are_1():
    # 4 bytes are next to nothing at a petabit: the latency is a time over its steps.
    rates = {hosts: [1e15] for hosts in RATES}
    rows = [row(hosts, 4, 10.0 * neighbours.steps(hosts)) for hosts in (2, 3, 4, 5, 8)]
    summary = neighbours.summarise(rows, rates)
    assert summary["latency_us"] == 10
    assert [(each["hosts"], each["relative"]) for each in summary["rows"]] == [(3, 1), (5, 1)]


def test_who_is_slow_between_powers_shows_beside_who_is_not():
    rates = {hosts: [1e15] for hosts in RATES}
    rows = [
        row(4, 4, 20, openmpi=40), row(5, 4, 30, openmpi=120), row(8, 4, 30, openmpi=60),
    ]  # fmt: skip
    summary = neighbours.summarise(rows, rates)
    assert [(each["who"], each["us"], each["over_bound"], each["around"], each["relative"])
            for each in summary["rows"]] == [
        ("stretto", 30, 1.0, [1.0, 1.0], 1.0),
        ("openmpi", 120, 4.0, [2.0, 2.0], 2.0),
    ]  # fmt: skip
    shown = neighbours.markdown(summary)
    assert "| 5 | 4 B | 1.00 (30.0) | 2.00 (120.0) |" in shown
    assert "| all | geometric mean | 1.00 | 2.00 |" in shown


def test_without_a_neighbour_there_is_nothing_to_say():
    assert neighbours.summarise([row(3, 4, 1.0), row(4, 4, 1.0)], RATES)["rows"] == []


def test_the_bound_has_the_bytes_of_the_link():
    # 1 MB over 4 hosts: 2 * 3/4 of 8 Mbit at 1 Gbit/s.
    assert neighbours.bytes_us(4, 1_000_000, 1e9) == pytest.approx(12_000)
