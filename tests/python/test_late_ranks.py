# SPDX-License-Identifier: BSD-3-Clause
"""What bench/hosts/proficz.py makes of measurements: what is left to do, tables beside the paper's
numbers and the model's; no times."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path += [str(BENCH), str(BENCH / "peers"), str(BENCH / "hosts")]

import late_model  # noqa: E402
import late_page  # noqa: E402
import late_ranks  # noqa: E402
import late_risks  # noqa: E402
import launching  # noqa: E402
import published_late  # noqa: E402
from stretto.cli import arrival_tables  # noqa: E402

SIZE = 4 << 20


def row(ms: int, name: str = "ring", took: float = 60.0, speedup: float = 1.0, **more) -> dict:
    return {
        "mode": "one-late", "bytes": SIZE, "delay_us": ms * 1000.0, "algorithm": name,
        "elapsed_us": took * 1e3, "speedup": speedup, "elapsed_bound_us": 50e3,
        "buffered_bound_us": 45e3, "sigma_us": 1e3, "wrong": 0, "part": "tables", "edge": "right",
        "calls": 2, "call_elapsed_us": [took * 1e3 - 500, took * 1e3 + 500], **more,
    }  # fmt: skip


# ---- going on where it ended


def options(folder: Path, **changed) -> argparse.Namespace:
    given = {
        "rate": "1gbit", "congestion": "reno", "algorithms": "ring,chain", "iters": None,
        "modes": "one-late,rand-late", "sizes": [64 << 10, SIZE], "delays": [0, 50],
        "output": folder, "anew": False, "parts": "tables",
    }  # fmt: skip
    return argparse.Namespace(**{**given, **changed})


class Jobs:
    """In the place of the lab: writes what `bench arrival` would, and breaks off in one of them."""

    def __init__(self, monkeypatch, breaks_at: int | None = None):
        self.seen: list[tuple[str, int, str]] = []
        self.breaks_at = breaks_at
        monkeypatch.setattr(late_ranks, "made", lambda *_: contextlib.nullcontext(self))

    def command(self, _verb: str, *arguments: object) -> list[str]:
        return list(map(str, arguments))

    def lines(self, command: list[str], _environment: dict, _limit: float):
        if "bench" not in command:
            yield {"links": {"between": {"byte": 8e-9}}}
            return
        given = dict(zip(command, command[1:], strict=False))
        if len(self.seen) == self.breaks_at:
            raise launching.LaunchError("broken off")
        mode, size, delays = given["--mode"], int(given["--sizes"]), given["--delays"]
        self.seen.append((mode, size, delays))
        rows = [row(int(ms.removesuffix("ms")), mode=mode, bytes=size) for ms in delays.split(",")]
        meta = {"ranks": 3, "link": {"alpha": 1e-4, "beta": 8e-9}}
        Path(given["--json"]).write_text(json.dumps({"meta": meta, "rows": rows}))


def test_what_was_measured_is_not_measured_again(monkeypatch, tmp_path):
    broken = Jobs(monkeypatch, breaks_at=1)
    with pytest.raises(launching.LaunchError):
        late_ranks.Sweep(3, options(tmp_path)).run()
    assert broken.seen == [("one-late", 64 << 10, "0ms,50ms")]
    rest = Jobs(monkeypatch)
    late_ranks.Sweep(3, options(tmp_path)).run()
    assert rest.seen == [
        ("one-late", SIZE, "0ms,50ms"),
        ("rand-late", 64 << 10, "0ms,50ms"),
        ("rand-late", SIZE, "0ms,50ms"),
    ]
    more = Jobs(monkeypatch)
    late_ranks.Sweep(3, options(tmp_path, delays=[0, 10, 50], sizes=[SIZE])).run()
    assert more.seen == [("one-late", SIZE, "10ms"), ("rand-late", SIZE, "10ms")]
    (stored,) = late_ranks.stored(tmp_path, late_ranks.file_of("*", "*"))
    assert len(stored["rows"]) == 10
    assert stored["profile"] == {"links": {"between": {"byte": 8e-9}}}
    assert stored["meta"]["link"] == {"alpha": 1e-4, "beta": 8e-9}
    assert not list(tmp_path.glob("*.job"))


def test_parts_have_their_own_algorithms(monkeypatch, tmp_path):
    """And what is measured for one is not another's."""
    Jobs(monkeypatch)
    late_ranks.Sweep(3, options(tmp_path, sizes=[SIZE], modes="one-late")).run()
    jobs = Jobs(monkeypatch)
    late_ranks.Sweep(3, options(tmp_path, parts="together,wrong")).run()
    assert jobs.seen == [
        ("one-late", SIZE, "0ms,1ms"),
        ("moving-late", SIZE, "50ms"),
        ("any-late", SIZE, "50ms"),
        ("one-late", SIZE, "50ms"),
        ("rand-late", SIZE, "50ms"),
    ]
    (stored,) = late_ranks.stored(tmp_path, late_ranks.file_of("*", "*"))
    kinds = [(row["part"], row["mode"], row["edge"]) for row in stored["rows"]]
    assert kinds == [
        *[("tables", "one-late", "right")] * 2, *[("together", "one-late", "right")] * 2,
        ("wrong", "moving-late", "none"), ("wrong", "any-late", "none"),
        ("wrong", "one-late", "wrong"), ("wrong", "rand-late", "wrong"),
    ]  # fmt: skip


def test_other_settings_do_not_mix(monkeypatch, tmp_path):
    Jobs(monkeypatch)
    late_ranks.Sweep(3, options(tmp_path)).run()
    with pytest.raises(SystemExit, match="has other settings"):
        late_ranks.Sweep(3, options(tmp_path, iters=7))
    anew = late_ranks.Sweep(3, options(tmp_path, iters=7, anew=True))
    assert anew.results["rows"] == []
    assert late_ranks.Sweep(3, options(tmp_path, rate="100mbit")).results["rows"] == []


# ---- the paper and the model


def test_the_papers_tables():
    ring, chain = (published_late.table_3(name) for name in ("ring", "chain"))
    assert chain("one-late", SIZE, 50) == pytest.approx((101.0, 101.0 - 115.9, 1.15))
    assert ring("one-late", SIZE, 50).speedup == 1
    assert chain("rand-late", SIZE, 50) is chain("one-late", SIZE, 7) is None
    assert published_late.table_3("auto")("one-late", SIZE, 0) is None
    assert published_late.table_4("rand-late", 512 << 12, 10) == (None, -9.3, 1.35)
    assert published_late.table_4("one-late", 3 << 20, 10) is None
    # Speed-ups are those of the times, as far as those have digits.
    for name, speedups in published_late.SPEEDUP.items():
        of = np.array(published_late.ELAPSED["ring"]) / np.array(published_late.ELAPSED[name])
        assert of == pytest.approx(speedups, abs=0.0065)
    for tables in published_late.AGAINST_RING.values():
        for each in tables.values():
            assert [len(line) for line in each] == [len(published_late.DELAYS)] * 2


# As docs/papers/proficz.md has them.
MODEL = [
    ("ring", 0, 67.8), ("ring", 50, 116.7), ("ring", 1000, 1046.9), ("chain", 10, 85.8),
    ("chain", 50, 101.4), ("pre_reduced_ring", 10, 70.0), ("pre_reduced_ring", 100, 150.3),
    ("late_rooted", 50, 81.9), ("late_rooted", 1000, 1012.1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "ms", "expected"), MODEL)
def test_the_model(name, ms, expected):
    found = late_model.elapsed(name)("one-late", SIZE, ms)
    assert found.ms == pytest.approx(expected, abs=0.051)
    ring = late_model.elapsed("ring")("one-late", SIZE, ms)
    assert found.more == pytest.approx(found.ms - ring.ms)
    assert found.speedup == pytest.approx(ring.ms / found.ms)


def test_the_model_of_random_arrivals():
    ring, some = (late_model.elapsed(name) for name in ("ring", "pre_reduced_ring"))
    assert ring("rand-late", SIZE, 0) == ring("one-late", SIZE, 0)
    assert some("rand-late", SIZE, 50).speedup > 1
    assert late_model.elapsed("auto")("rand-late", SIZE, 0) is None


# ---- the page


def results(ranks: int, *rows: dict, rate: str = "1gbit") -> dict:
    link = {"alpha": 1e-4, "beta": 8.5e-9}
    meta = {"ranks": ranks, "date": "today", "cpu": "one", "cores": 2, "link": link}
    return {"rate": rate, "meta": meta, "rows": list(rows)}


FOUND = [
    results(4, row(0), row(50, took=120), row(0, "chain", 75, 0.8), row(50, "chain", 100, 1.2)),
    results(8, row(0, took=70), row(0, "chain", 70, 1.0)),
]


def test_measured_beside_published_and_modelled():
    shown = late_page.markdown(FOUND)
    assert "### Links of 1gbit, 4 MiB\n" in shown
    assert "- 4 hosts: today, one, 2 cores for all; α = 100 µs, β = 8.50 ns a byte" in shown
    for line in (
        "| late by, ms | 0 | 50 |",
        "| `chain`, 4 hosts | 75.0 (0.80) | **100.0 (1.20)** |",
        "| `chain`, 8 hosts | 70.0 (1.00) | – |",
        "| `chain`, paper | 90.3 (0.75) | **101.0 (1.15)** |",
        "| `chain`, model | 86.0 (0.79) | **101.4 (1.15)** |",
        "| bound, 4 hosts | 50.0 / 45.0 | 50.0 / 45.0 |",
        "| bound, 8 hosts | 50.0 / 45.0 | – |",
    ):
        assert line in shown
    assert "(table 4)" not in shown  # of the pre-reduced ring, which is not there


def test_table_4_beside_the_papers():
    rows = [row(0), row(0, "pre_reduced_ring", 75, 0.8)]
    rows += [{**each, "bytes": 20 << 20} for each in rows]
    grid = late_page.against_ring([results(4, *rows)], "one-late")
    first = [[cell.text for cell in line] for line in grid.lines]
    assert first[:3] == [
        ["4 MiB, 4 hosts", "15.0 (0.80)"],
        ["4 MiB, paper", "2.9 (0.96)"],
        ["4 MiB, model", "0.0 (1.00)"],
    ]
    assert [line[0] for line in first[3:]] == ["20 MiB, 4 hosts", "20 MiB, model"]


def compared(part: str, name: str, ms: int, times: list[float], **more) -> dict:
    times = [each * 1e3 for each in times]
    took = sum(times) / len(times) / 1e3
    return row(ms, name, took, part=part, calls=len(times), call_elapsed_us=times, **more)


def test_together_each_is_compared_in_pairs():
    """Whatever disturbs both calls of a turn is in neither interval."""
    rows = [compared("together", "auto", 0, [66, 33]), compared("together", "ring", 0, [60, 30])]
    rows += [compared("together", "direct", 0, [33, 66])]
    four, eight = results(4, *rows), results(8, *rows[:2])
    grid = late_risks.together([four, eight])
    lines = arrival_tables.markdown(grid)
    assert lines[0] == "| | `auto`, ms | `ring` | `direct` |".replace("| |", "|  |")
    assert lines[2].startswith("| 4 hosts, 0 ms | 49.5 | 1.100 ± 0.000 | 1.000 ± ")
    assert not lines[2].endswith("± 0.000 |")
    assert lines[3] == "| 8 hosts, 0 ms | 49.5 | 1.100 ± 0.000 | – |"


def test_what_wrong_estimates_cost_at_most():
    some = {"mode": "rand-late", "edge": "wrong"}
    rows = [
        compared("wrong", "balanced", 50, [60, 30], **some),
        compared("wrong", "auto", 50, [60, 36], **some),
        compared("wrong", "balanced", 10, [50, 50], mode="moving-late", edge="none"),
        compared("wrong", "auto", 10, [50, 50], mode="moving-late", edge="none"),
    ]
    lines = arrival_tables.markdown(late_risks.wrong([results(4, *rows)]))
    assert lines[0] == "| late by, ms | 10 | 50 |"
    assert lines[2].startswith("| 4 hosts, all late at random, wrong announced | – | 1.067 ± ")
    assert lines[2].endswith("(1.20) |")
    what = "another rank late after every 8 calls, none announced"
    assert lines[3] == f"| 4 hosts, {what} | 1.000 ± 0.000 (1.00) | – |"
    page = late_page.markdown([results(4, *rows)])
    assert "**4 MiB, wrong estimates**" in page
    assert "together**" not in page and "(table 3)" not in page and "Figures" not in page


def test_each_rate_and_size_has_a_figure(tmp_path):
    pytest.importorskip("matplotlib")
    small = [{**row(ms), "bytes": 512 << 10} for ms in (0, 50)]
    both = [*FOUND, results(4, row(0), row(50), *small, rate="100mbit")]
    drawn = late_page.draw(both, tmp_path)
    names = ["1gbit-4MiB", "100mbit-512KiB", "100mbit-4MiB"]
    assert [path.name for path in drawn] == [f"proficz-{name}.png" for name in names]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn)


def test_the_page_keeps_what_was_not_measured_again():
    """Over other links, or of other sizes."""
    slow = results(4, row(0), rate="100mbit")
    page = late_page.put(late_page.PAGE.read_text(), late_page.markdown(FOUND), late_page.BEGIN)
    both = late_page.put(page, late_page.markdown([slow], page), late_page.BEGIN)
    assert both.count("### Links of 1gbit, 4") == both.count("### Links of 100mbit") == 1
    for whole in (late_page.markdown(FOUND), late_page.markdown([slow])):
        assert whole.partition("###")[2].strip() in both
    again = late_page.markdown(FOUND[:1], both)
    assert "8 hosts" not in again.partition("100mbit")[0]  # that was measured anew
    larger = late_page.markdown([results(4, {**row(0), "bytes": 20 << 20})], both)
    assert "| `ring`, 8 hosts | 70.0" in larger and "### Links of 1gbit, 20 MiB\n" in larger


def test_the_page_has_a_place_for_it():
    text = late_page.PAGE.read_text()
    assert late_page.put(text, "found", late_page.BEGIN).count("\n\nfound\n\n") == 1
