# SPDX-License-Identifier: BSD-3-Clause
"""What the benchmarks between hosts make of measurements: rows, gains, tables; no times."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import pytest
from stretto import _core

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path += [str(BENCH), str(BENCH / "peers"), str(BENCH / "hosts")]

import gains  # noqa: E402
import jobs  # noqa: E402
import neighbours  # noqa: E402
import paper_page  # noqa: E402
import registration_steps  # noqa: E402
import salar_model  # noqa: E402
import salar_scale  # noqa: E402
import summary  # noqa: E402
from placement import Placement, placements  # noqa: E402

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
    job = type("Job", (), {"placement": Placement.parse("3")})
    recipe = type("Recipe", (), {"name": "openmpi"})
    variant = type("Variant", (), {"name": ""})
    found = list(jobs.measured(job, recipe, variant, record(auto=[1e-6], peer=[2e-6])))
    assert [(each.who, each.us, each.chosen) for each in found] == [
        ("stretto", [1.0], "g"),
        ("peer", [2.0], ""),
    ]


@pytest.mark.parametrize(
    ("text", "per_host", "slots", "hosts"),
    [
        ("3", (1, 1, 1), "h1:1,h2:1,h3:1", "1,2,3"),
        ("2x3", (3, 3), "h1:3,h2:3", "1,1,1,2,2,2"),
        ("3+1+2", (3, 1, 2), "h1:3,h2:1,h3:2", "1,1,1,2,3,3"),
    ],
)
def test_a_placement_is_what_its_text_says(text, per_host, slots, hosts):
    placement = Placement.parse(text)
    assert placement.per_host == per_host
    assert str(placement) == text
    assert (placement.hosts, placement.ranks) == (len(per_host), sum(per_host))
    assert placement.shares_hosts == (text != "3")
    assert (placement.slots(), placement.host_of_ranks()) == (slots, hosts)


def test_equal_numbers_of_ranks_are_one_placement():
    assert placements("2+2,2x2,4x1,4") == [Placement((2, 2))] * 2 + [Placement((1,) * 4)] * 2


@pytest.mark.parametrize("text", ["", "0", "3+0", "x2", "4x", "3+", "two"])
def test_no_placement(text):
    with pytest.raises(ValueError):
        Placement.parse(text)


def test_rows_go_by_placement():
    measured = [
        jobs.Measured(Placement.parse(text), size, "openmpi", "", who, us, [1.0], 0)
        for text, us in (("3+1", [4.0]), ("2x2", [2.0]), ("2", [1.0]))
        for size in (4, 1 << 20)
        for who in ("stretto", "peer")
    ]
    found = summary.rows(measured, {"3+1": [1e9], "2x2": [2e9], "2": [1e9]})
    assert [(row["placement"], row["hosts"], row["bytes"], row["stretto"]["p50_us"])
            for row in found] == [
        ("2", 2, 4, 1.0), ("2", 2, 1 << 20, 1.0),
        ("2x2", 2, 4, 2.0), ("2x2", 2, 1 << 20, 2.0),
        ("3+1", 2, 4, 4.0), ("3+1", 2, 1 << 20, 4.0),
    ]  # fmt: skip
    large = {row["placement"]: row["bound_us"] for row in found if "bound_us" in row}
    assert large["3+1"] == large["2"] == pytest.approx(2 * large["2x2"], rel=1e-5)


# ---- gains of a choice


def test_those_near_the_cheapest_and_those_that_the_paper_draws():
    prices = {"g": 1.0, "near": 1.1, "far": 2.0, "ring": 5.0, "rabenseifner": 7.0,
              "generalized(r=7)": 3.0}  # fmt: skip
    assert gains.wanted(prices, 127, 1.3, 6) == ["g", "near", "generalized(r=7)", "ring"]
    assert gains.wanted(prices, 127, 1, 8)[-1] == "rabenseifner"
    assert "generalized(r=7)" not in gains.wanted(prices, 64, 1.3, 6)


def test_a_gain_is_that_over_the_fastest_rival():
    prices = {"g": 1.0, "ring": 4.0, "rabenseifner": 3.0, "h": 1.1}
    row = gains.row(
        record(auto=[2, 1, 3], g=[2, 2, 2], h=[1, 1, 1], ring=[5, 5, 9], rabenseifner=[6, 6, 6],
               peer=[8, 8, 8]),
        prices, 1.4,
    )  # fmt: skip
    found = gains.gain(row)
    assert (found.chosen, found.seconds) == ("g", 2)
    assert (found.best, found.to_best) == ("h", 2)
    assert (found.rival, found.gain) == ("ring", 2.5)
    assert found.predicted == 3.0
    assert found.reached == pytest.approx(2.5 / 3)
    assert (found.peer, found.paper) == (4, 1.4)
    assert gains.contestant(row, gains.AUTO)["min"] == 1


def test_a_size_without_rivals_has_no_gain():
    found = gains.gain(gains.row(record(auto=[1]), {}, 1.0))
    assert (found.best, found.rival, found.gain, found.predicted, found.peer) == (None,) * 5
    cells = paper_page.line(found, 5, 400)
    assert cells[2:8] == ["`g`", "2.5 ms", "–", "–", "–", "–"]
    assert len(cells) == len(paper_page.HEADER)


def test_which_of_the_figures_has_a_size():
    assert paper_page.figure(127, 64) == "7, 10"
    assert paper_page.figure(127, 9 << 10) == "7, 10, 12"
    assert paper_page.figure(127, 64 << 10) == "9, 10"
    assert paper_page.figure(127, 1 << 20) == "8, 10"
    assert paper_page.figure(96, 428) == "11"
    assert paper_page.figure(96, 64) == "–"


def test_a_section_is_written_between_its_marks():
    page = f"before\n{paper_page.BEGIN}\nold\n{paper_page.END}\nafter\n"
    once = paper_page.put(page, "new\n")
    assert once == f"before\n{paper_page.BEGIN}\n\nnew\n\n{paper_page.END}\nafter\n"
    assert paper_page.put(once, "new") == once
    with pytest.raises(ValueError, match="the page has no"):
        paper_page.put("nothing", "new")
    paper_page.put(paper_page.PAGE.read_text(), "it has the marks")


def test_tables_of_several_numbers_of_ranks():
    row = gains.row(record(auto=[0.04], ring=[0.08]), {"g": 1.0, "ring": 2.5}, 1.4)
    results = {
        "ranks": 96, "dilate": 400.0, "dtype": "int32", "rows": [row],
        "meta": {"date": "today", "cpu": "one", "cores": 2},
        "link": {"latency": 0.01, "overhead": 0.002, "byte": 4e-6, "common": 8e-6},
    }  # fmt: skip
    shown = paper_page.markdown([results])
    assert "### P = 96" in shown
    assert "α = 30.0 µs, β = 10.00 ns" in shown
    assert "that all share, 20.0 ns." in shown
    assert (
        "| 428 B | 11 | `g` | 100 µs | `ring` | 0.50 | `ring` | 2.00 | 2.50 | 0.80 | 1.40 | – |"
        in shown
    )


def test_lines_of_figures():
    figures = pytest.importorskip("paper_figures", reason="figures need matplotlib")
    assert figures.removed("generalized") == 0
    assert figures.removed("generalized(group=2x3, r=3)") == 3
    assert figures.removed("ring") is None
    made: dict = {"bytes": 428, "calls": 1, "together": False}
    for name, seconds in (("generalized", 8), ("generalized(r=1)", 6),
                          ("generalized(group=2x3, r=1)", 4), ("ring", 2)):  # fmt: skip
        made[f"stretto={name}"] = {"wrong": 0, "ns": [seconds * 1e9], "cpu_ns": [1], "chosen": name}
    results = {"dilate": 2, "rows": [gains.row(made, {}, 1.0)]}
    assert figures.series(results, "ring") == [(428, 1.0)]
    assert figures.series(results, "bruck") == []
    assert figures.best_series(results) == [(428, 2.0)]
    assert figures.version_series(results) == {0: [(428, 4.0)], 1: [(428, 2.0)]}


# ---- SALaR's model


def test_the_validation_figure_of_salar():
    model = salar_model.Model()
    row, more = salar_model.rows(model, [1 << 20, 64 << 20])
    assert salar_model.cells(row) == [
        "1 MiB", "0.2806", "0.5341", "0.3226", "0.8568", "0.8377", "0.978", "1.137",
    ]  # fmt: skip
    assert salar_model.cells(more)[:5] == ["64 MiB", "17.96", "34.18", "20.65", "54.83"]
    assert [line.count("|") for line in salar_model.table([row])] == [9, 9, 9]
    # The cost of an iteration by which chunks of 8 MiB are best, whatever the vector.
    fitted = model.fitted()
    assert fitted == pytest.approx(2028.3, rel=1e-4)
    for size in (64 << 20, 1 << 30):
        assert model.best_chunk(size, fitted) == pytest.approx(8 << 20, rel=0.15)
    assert salar_model.Model(gap=1.0).fitted() == 0
    assert salar_model.chunk_sizes(1 << 20) == [256 << 10, 512 << 10, 1 << 20]


def test_the_page_has_the_table_of_the_model():
    page = salar_model.PAGE.read_text()
    found = salar_model.rows(salar_model.Model(), salar_model.parse_sizes("1M:256M"))
    text = "\n".join([f"{salar_model.headline(salar_model.Model())}; times in ms.", "",
                      *salar_model.table(found)])  # fmt: skip
    assert paper_page.put(page, text, salar_model.BEGIN, salar_model.END) == page


# ---- the paper's scales by simulation


def test_a_small_scale(tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="the command draws")
    arguments = ["--scales", "2x4,3x2", "--sizes", "4K,512K", "--times-only"]
    files = ["--json", str(tmp_path / "n.json"), "--plot", str(tmp_path / "n.png")]
    assert salar_scale.main([*arguments, *files]) == 0
    assert capsys.readouterr().out.startswith("Simulation, nothing is measured.")
    assert (tmp_path / "n.png").stat().st_size > 0
    made = json.loads((tmp_path / "n.json").read_text())
    assert set(made) == {"network", "rows", "dependence", "formula"}
    rows = made["rows"]
    assert {row["family"] for row in rows} == set(salar_scale.FAMILIES)
    assert set(rows[0]) == {"scale", "bytes", "family", "form", "algorithm", "seconds"}
    times = {(row["scale"], row["form"], row["bytes"]): row["seconds"] for row in rows}
    for (scale, form, size), seconds in times.items():
        if size == 4 << 10 and (scale, form, 512 << 10) in times:
            assert seconds < times[scale, form, 512 << 10]
    for scale in ("2x4", "3x2"):
        for inter in ("recursive_doubling", "rabenseifner"):
            for size in (4 << 10, 512 << 10):
                assert times[scale, f"l = 1, {inter}", size] == times[scale, f"{inter}, direct",
                                                                     size]  # fmt: skip
    # Without chunks that are large enough, SALaR has one.
    assert ("2x4", "I = 16, K = 1", 512 << 10) in times
    assert ("2x4", "I = 4, K = 1", 4 << 10) not in times
    lines = salar_scale.times_table(rows)
    assert len(lines) == 6 and len({line.count("|") for line in lines}) == 1


def simulated(network: salar_scale.Network, algorithm: str, scale: str, size: int) -> float:
    nodes, ranks = salar_scale.shape(scale)
    placed = _core.Topology(scale, nodes * ranks)
    schedule = _core.schedule("allreduce", algorithm, nodes * ranks, 0, placed)
    return network.price(schedule, placed, size)


def test_a_simulated_time_is_its_formula():
    size = 1 << 20
    network = salar_scale.Network().times(0)
    outside, inside, compute = (
        size * 1e-6 * each for each in (network.gap, network.gap_inside, network.compute)
    )
    # A leader takes three vectors and adds them, exchanges one with the other node and adds that;
    # then three ranks read the result, at once or one after another.
    two_level = "hierarchical(intra=direct, inter=recursive_doubling, leaders=1)"
    first = 3 * inside + 3 * compute + outside + compute
    assert simulated(network, two_level, "2x4", size) == pytest.approx(first + inside)
    messages = dataclasses.replace(network, reads=False)
    assert simulated(messages, two_level, "2x4", size) == pytest.approx(first + 3 * inside)
    # A flat schedule meets the same nodes: both ranks of a node send by its port.
    flat = simulated(network, "recursive_doubling", "2x2", size)
    assert flat == pytest.approx(inside + compute + 2 * outside + compute)


def test_latencies_and_overheads_together():
    twice = salar_scale.Network().times(2)
    assert (twice.latency, twice.overhead, twice.latency_inside, twice.overhead_inside) == (
        1.6, 0.4, 0.6, 0.2,
    )  # fmt: skip
    assert twice.gap == salar_scale.Network().gap


def test_the_page_has_what_the_simulation_computes():
    page = salar_scale.PAGE.read_text()
    assert salar_scale.headline(salar_scale.Network()) in page
    for line in salar_scale.formula_table(salar_scale.formula_rows((1, 4))):
        assert line in page
    found = salar_scale.simulate(salar_scale.Network(), "16x28", [4 << 10])
    for line in salar_scale.times_table(found):
        assert line in page


# ---- numbers of hosts between powers of two


def row(hosts: int, size: int, us: float, **peers: float) -> dict:
    return {
        "hosts": hosts, "placement": str(hosts), "bytes": size, "stretto": {"p50_us": us},
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


# ---- registration in counted steps


@pytest.mark.parametrize("slices", [1, 4, 64])
@pytest.mark.parametrize("register", [1, 2, 3])
def test_a_first_touch_costs_one_slice_where_registration_keeps_up(slices, register):
    stages = registration_steps.Stages(register, wire=3, reduce=1)
    steps = registration_steps.counted(slices, stages)
    assert steps["known"] == 3 * slices + 1
    assert steps["first touch"] == steps["known"] + register
    assert steps["up front"] == steps["known"] + register * slices
    assert steps["in one piece"] == (register + 4) * slices


def test_where_registration_is_the_slowest_stage_the_wire_waits_for_it():
    steps = registration_steps.counted(10, registration_steps.stages_of("5:2:1"))
    assert steps["first touch"] == 5 * 10 + 2 + 1
    assert steps["up front"] == 5 * 10 + 2 * 10 + 1
