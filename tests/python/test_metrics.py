# SPDX-License-Identifier: BSD-3-Clause
"""Metrics for Prometheus: what is written, and when."""

from __future__ import annotations

import importlib.util
import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import JOBS, TIMEOUT
from stretto import __version__, _core
from stretto.metrics import Writer
from stretto.metrics.measured import Measured, bucket
from stretto.metrics.text import Family, text

MS = 1_000_000
RANKS, CALLS = 3, 20
SAMPLE = re.compile(r'([a-z_]+)\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)*)\} (\S+)')


def read(content: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    """The samples of a file by their metric, of which each has said its kind before."""
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    told = set()
    assert content.endswith("\n")
    for line in content.splitlines():
        if line.startswith("#"):
            told.add(line.split()[2])
            continue
        name, labels, value = SAMPLE.fullmatch(line).groups()
        assert name in told
        pairs = re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', labels)
        found.setdefault(name, []).append((dict(pairs), float(value)))
    return found


def by_rank(samples: list[tuple[dict[str, str], float]], **labels: str) -> dict[int, float]:
    return {
        int(of["rank"]): value
        for of, value in samples
        if all(of[name] == each for name, each in labels.items())
    }


# ---- numbers worked out by hand


def times(*calls: tuple[float, float]) -> list[tuple[int, int, int, int | None]]:
    """Arrivals and ends in milliseconds, as records have them."""
    return [(i, int(begin * MS), int(end * MS), 0) for i, (begin, end) in enumerate(calls)]


def rank(number: int, complete: int, inside_ms: float, kept: list[Any], **kind: Any) -> dict:
    """The record of one of two ranks, which have made calls of one kind."""
    return {
        "job": "a job", "id": 7, "rank": number, "ranks": 2, "host": f"node{number}", "pid": 1,
        "clock": "one", "left_out": 0,
        "kinds": [{
            "communicator": 7, "communicator_name": "a job", "rank": number, "size": 2,
            "collective": "allreduce", "dtype": "float32", "op": "sum", "root": -1,
            "count": 1 << 18, "bytes": 1 << 20, "begun": complete, "complete": complete,
            "inside_ns": int(inside_ms * MS), "outside_ns": 0, "stride": 1, "kept": kept, **kind,
        }],
    }  # fmt: skip


def test_gauges_are_of_the_calls_since_the_last_look_and_counters_of_all():
    measured = Measured({"SLURM_JOB_ID": "42"})
    first = [rank(0, 2, 8, times((0, 4), (10, 14))), rank(1, 2, 2, times((3, 4), (13, 14)))]
    found = read(text(measured.look(first)))
    assert by_rank(found["stretto_collective_exec_time_microseconds"]) == {0: 4000, 1: 1000}
    # 2 (n - 1) / n = 1 vector of 1 MiB in 4 ms, and in 1 ms.
    bandwidth = by_rank(found["stretto_bus_bandwidth_gbs"])
    assert bandwidth == {0: pytest.approx(0.262144), 1: pytest.approx(1.048576)}
    assert by_rank(found["stretto_arrival_skew_seconds"]) == {0: 0, 1: pytest.approx(3e-3)}
    assert by_rank(found["stretto_wait_seconds"]) == {0: pytest.approx(3e-3), 1: 0}
    assert by_rank(found["stretto_late_rank_total"]) == {0: 0, 1: 2}
    assert by_rank(found["stretto_collectives_total"]) == {0: 2, 1: 2}

    later = (20, 21), (30, 36)
    second = [
        rank(0, 3, 9, times((0, 4), (10, 14), later[0])),
        rank(1, 3, 3, times((3, 4), (13, 14), later[0])),
    ]
    second[0]["kinds"][0]["kept"].append((3, 30 * MS, 0, 0))  # runs
    found = read(text(measured.look(second)))
    assert by_rank(found["stretto_collective_exec_time_microseconds"]) == {0: 1000, 1: 1000}
    assert by_rank(found["stretto_arrival_skew_seconds"]) == {0: 0, 1: 0}
    assert by_rank(found["stretto_collectives_total"]) == {0: 3, 1: 3}
    late = sum(by_rank(found["stretto_late_rank_total"]).values())
    assert late == 3

    third = [
        rank(0, 4, 15, times((0, 4), (10, 14), *later)),
        rank(1, 4, 4, times((3, 4), (13, 14), later[0], (35, 36))),
    ]
    found = read(text(measured.look(third)))
    assert by_rank(found["stretto_arrival_skew_seconds"]) == {0: 0, 1: pytest.approx(5e-3)}

    found = read(text(measured.look(third)))  # nothing has happened
    assert set(found) == {"stretto_collectives_total", "stretto_late_rank_total"}


def test_labels_are_those_of_ncclinspector():
    ranks = [rank(0, 1, 1, times((0, 1))), rank(1, 1, 1, times((0, 1)))]
    found = read(text(Measured({"PBS_JOBID": "9"}).look(ranks, {"node1"})))
    ((labels, _),) = found["stretto_bus_bandwidth_gbs"]
    assert labels == {
        "version": __version__, "slurm_job_id": "9", "node": "node1", "rank": "1",
        "comm_name": "a job", "n_nodes": "2", "nranks": "2", "collective": "AllReduce",
        "message_size": "1-2MB", "nonblocking": "false",
    }  # fmt: skip
    ((labels, _),) = read(text(Measured({}).look(ranks, {"node1"})))["stretto_wait_seconds"]
    assert labels["slurm_job_id"] == "unknown"


def test_the_time_in_a_nonblocking_call_is_no_bandwidth():
    kind = {"collective": "nonblocking allreduce"}
    ranks = [rank(r, 1, 1, times((0, 1)), **kind) for r in range(2)]
    found = read(text(Measured({}).look(ranks)))
    assert "stretto_bus_bandwidth_gbs" not in found
    labels, _ = found["stretto_collective_exec_time_microseconds"][0]
    assert (labels["collective"], labels["nonblocking"]) == ("AllReduce", "true")


def test_calls_that_the_records_leave_out_count_as_those_that_they_keep():
    ranks = [rank(r, 40, 40, times((r, 2)), stride=10) for r in range(2)]
    found = read(text(Measured({}).look(ranks)))
    assert by_rank(found["stretto_late_rank_total"]) == {0: 0, 1: 10}


@pytest.mark.parametrize(
    ("size", "name"),
    [
        (0, "0-1KB"),
        (1023, "0-1KB"),
        (1024, "1-2KB"),
        (8 << 20, "8-9MB"),
        ((9 << 20) - 1, "8-9MB"),
        (5 << 30, "5-6GB"),
        (3 << 40, "3072-3073GB"),
    ],
)
def test_sizes_have_buckets(size, name):
    assert bucket(size) == name


def test_labels_with_any_text_can_be_read_again():
    family = Family("stretto_wait_seconds", "gauge", "Two\nlines \\ and")
    family.add({"comm_name": 'a "job"\n\\ of two'}, 0.25)
    content = text([family, Family("stretto_empty", "gauge", "")])
    assert content == (
        "# HELP stretto_wait_seconds Two\\nlines \\\\ and\n# TYPE stretto_wait_seconds gauge\n"
        'stretto_wait_seconds{comm_name="a \\"job\\"\\n\\\\ of two"} 0.25\n'
    )
    parser = pytest.importorskip("prometheus_client.parser")
    (found,) = parser.text_string_to_metric_families(content)
    assert found.samples[0].labels == {"comm_name": 'a "job"\n\\ of two'}


# ---- jobs


def test_a_job_writes_its_metrics_while_it_runs_and_removes_them(stretto, tmp_path):
    done = stretto(
        "run", "--no-prefix", "-n", RANKS, sys.executable, JOBS / "metrics.py", tmp_path, CALLS,
        STRETTO_METRICS=str(tmp_path), STRETTO_METRICS_INTERVAL="200ms",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    check(done.stdout)
    assert list(tmp_path.iterdir()) == []


def test_reports_in_a_folder_of_their_own_stay(stretto, tmp_path):
    late, target = tmp_path / "late", tmp_path / "metrics"
    done = stretto(
        "run", "--no-prefix", "-n", RANKS, sys.executable, JOBS / "metrics.py", target, CALLS,
        STRETTO_METRICS=str(target), STRETTO_METRICS_INTERVAL="200ms", STRETTO_REPORT=str(late),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    check(done.stdout)
    assert list(target.iterdir()) == [] and len(list(late.iterdir())) == RANKS
    # What was before some time need not be read again.
    kinds = _core.read_calls(str(next(late.iterdir())), 1 << 62)["kinds"]
    assert sum(kind["complete"] for kind in kinds) == CALLS + 3  # and a barrier
    assert all(kind["kept"] == [] for kind in kinds)
    # From them the command makes the same, of any program.
    shown = stretto("metrics", late)
    assert shown.returncode == 0, shown.stderr
    found = read(shown.stdout)
    assert set(by_rank(found["stretto_collectives_total"]).values()) == {CALLS + 3}


def check(content: str) -> None:
    found = read(content)
    ended = by_rank(found["stretto_collectives_total"])
    assert ended == dict.fromkeys(range(RANKS), CALLS + 2)
    late = by_rank(found["stretto_late_rank_total"])
    assert late[RANKS - 1] > CALLS // 2 and sum(late.values()) == CALLS + 2
    lines = [line for line in content.splitlines() if not line.startswith("#")]
    assert len({line.rpartition(" ")[0] for line in lines}) == len(lines)  # each once
    if importlib.util.find_spec("prometheus_client"):
        parser = importlib.import_module("prometheus_client.parser")
        families = list(parser.text_string_to_metric_families(content))
        assert sum(len(each.samples) for each in families) == len(lines)


def test_one_process_writes(tmp_path):
    (tmp_path / "reports").mkdir()
    first, second = (Writer(tmp_path / "reports", tmp_path, "0a0b0c0d", {"a"}) for _ in range(2))
    assert first.owns() and not second.owns() and first.owns()
    first.write()
    assert first.path.name == "stretto-0a0b0c0d-a.prom" and first.path.read_text() == ""
    second.remove()
    assert first.path.exists()
    first.remove()
    assert second.owns() and not first.path.exists()
    second.remove()


@pytest.fixture
def reports(stretto, tmp_path) -> Path:
    """The folder with those of a job of two ranks."""
    folder = tmp_path / "late"
    done = stretto(
        "run", "-n", 2, sys.executable, "-c",
        "import stretto, numpy as n; stretto.init().allreduce(n.ones(3))",
        STRETTO_REPORT=str(folder),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def test_the_command_writes_until_it_is_stopped(stretto, tmp_path, reports):
    out = tmp_path / "out"
    process = stretto.start("metrics", reports, "--to", out, "--every", "0.1")
    limit = time.monotonic() + TIMEOUT
    while not list(out.glob("*.prom")) and time.monotonic() < limit:
        time.sleep(0.05)
    (path,) = out.glob("*.prom")
    assert by_rank(read(path.read_text())["stretto_collectives_total"]) == {0: 1, 1: 1}
    process.terminate()
    _, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0, err
    assert list(out.iterdir()) == []


def test_the_command_names_the_process_that_writes(stretto, tmp_path, reports):
    job = next(reports.iterdir()).name.split("-")[1]
    writer = Writer(reports, tmp_path / "out", job)
    assert writer.owns()
    refused = stretto("metrics", reports, "--to", tmp_path / "out")
    assert refused.returncode == 1 and "another process writes" in refused.stderr
    writer.remove()
    none = stretto("metrics", tmp_path)
    assert none.returncode == 1 and "there are no reports" in none.stderr
