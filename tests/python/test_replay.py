# SPDX-License-Identifier: BSD-3-Clause
"""What bench/hosts/training.py makes of a recording and of measurements; no times."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench"
sys.path += [str(BENCH), str(BENCH / "peers"), str(BENCH / "hosts")]
sys.path += [str(ROOT / "examples" / "cnn")]

import launching  # noqa: E402
import published_late  # noqa: E402
import recording  # noqa: E402
import replay  # noqa: E402
import replay_page  # noqa: E402
import replay_rank  # noqa: E402

MADE = {
    "date": "today", "cpu": "one", "cores": 2, "threads": 1, "torch": "2", "images": "digits",
}  # fmt: skip


def some_recording(count: int = 5) -> recording.Recording:
    steps = [(round(0.01 + n / 1000, 6), round(0.02 - n / 2000, 6)) for n in range(count)]
    return recording.Recording(145_578, 8, steps, MADE)


# ---- recordings


def test_a_recording_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "steps.json"
    recording.write(some_recording(), path)
    assert recording.read(path) == some_recording()
    assert some_recording().mean == pytest.approx(0.031)
    assert some_recording().fraction == pytest.approx(0.012 / 0.031)


def test_the_recording_that_is_kept():
    kept = recording.read(replay.STEPS)
    assert (kept.parameters, kept.batch, len(kept.seconds)) == (145_578, 8, 390)
    assert set(kept.made) == set(MADE)
    assert 0 < kept.fraction < 1


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"kind": "another"}, 'it does not say "kind"'),
        ({"seconds": []}, "it has no steps"),
        ({"seconds": [[0.1, 0.1], [0.1, -0.1]]}, "step 1 takes 0.1 and -0.1 s"),
        ({"seconds": [[0.1, float("nan")]]}, "step 0 takes 0.1 and nan s"),
        ({"seconds": [[0, 0]]}, "step 0 takes 0.0 and 0.0 s"),
        ({"seconds": [[0.1]]}, "not enough values"),
        ({"seconds": 7}, "int"),
        ({"parameters": 0}, "parameters is 0"),
        ({"batch": "8"}, "batch is 8"),
        ({"made": []}, r"made is \[\]"),
        ({"more": 1}, "more"),
    ],
)
def test_what_is_no_recording(tmp_path, change, what):
    path = tmp_path / "steps.json"
    recording.write(some_recording(), path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ValueError, match=what) as error:
        recording.read(path)
    assert str(path) in str(error.value) and "--record writes one" in str(error.value)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"kind": "stretto training steps 1"}', "\x00"])
def test_other_files_are_no_recordings(tmp_path, text):
    path = tmp_path / "steps.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="is no recording"):
        recording.read(path)


# ---- what a rank plays


def test_ranks_play_all_steps_in_orders_of_their_own():
    def play(rank: int, execution: int = 0, iterations: int = 5, mean=None, seed: int = 1):
        return replay_rank.steps_of(some_recording(), rank, execution, iterations, mean, seed)

    recorded = sorted(some_recording().seconds)
    played = [tuple(play(rank)) for rank in range(16)]
    assert all(sorted(steps) == recorded for steps in played)
    assert len(set(played)) > 8
    assert play(3) == play(3)  # the same for all algorithms
    assert any(play(rank) != play(rank, execution=1) for rank in range(4))
    assert any(play(rank) != play(rank, seed=2) for rank in range(4))
    longer = play(0, iterations=12)
    assert len(longer) == 12
    assert sorted(longer[:5]) == sorted(longer[5:10]) == recorded


def test_steps_are_stretched():
    usual = replay_rank.steps_of(some_recording(), 0, 0, 5, None, 1)
    slow = replay_rank.steps_of(some_recording(), 0, 0, 5, 0.31, 1)
    np.testing.assert_allclose(slow, np.array(usual) * 10)


@pytest.mark.parametrize("ranks", [1, 2, 3, 7, 16])
def test_averages_are_known_exactly(ranks):
    """In any order of additions, and one wrong element is noticed."""
    models = [replay_rank.model(rank, ranks, 1000) for rank in range(ranks)]
    own = [each.own for each in models]
    for order in (own, own[::-1]):
        total = np.zeros(1000, np.float32)
        for each in order:
            total += each
        average = total / np.float32(ranks)
        assert replay_rank.mistakes(average, models[0].mean) == 0
    average[17] += 1e-4
    average[18] = np.nan
    assert replay_rank.mistakes(average, models[0].mean) == 2


class Alone:
    """A group of one, which notes what it is told, and may be wrong."""

    rank, size = 0, 1

    def __init__(self, wrong: bool = False):
        self.wrong, self.told, self.sent = wrong, [], []

    def alloc(self, count, dtype):
        return np.zeros(count, dtype)

    def barrier(self):
        pass

    def phase_begin(self):
        self.told.append("begin")

    def edge(self, fraction):
        self.told.append(fraction)

    def allreduce(self, _in_place, vector, op):
        assert op == "avg"
        self.sent.append(vector.copy())
        if self.wrong:
            vector[3] += 1


def test_a_replay_tells_and_checks_every_call():
    steps = [(1e-4, 1e-4)] * 3
    group = Alone()
    elapsed, total, wrong = replay_rank.play(group, steps, 100, edge=0.4)
    assert group.told == ["begin", 0.4] * 3
    assert elapsed.shape == (3,) and total > elapsed.sum() > 0 and wrong == 0
    np.testing.assert_array_equal(group.sent[1] * 2, group.sent[0])
    quiet = Alone(wrong=True)
    assert replay_rank.play(quiet, steps, 100, edge=None)[2] == 3
    assert quiet.told == []


def test_waiting_is_what_the_last_rank_does_not():
    found = replay_rank.evaluate(np.array([[0.3, 0.1], [0.1, 0.1], [0.2, 0.4]]), np.array([2, 3]))
    assert found["elapsed_us"] == pytest.approx(0.2e6)
    assert found["waiting_us"] == pytest.approx(0.1e6)
    assert found["call_elapsed_us"] == pytest.approx([0.2e6, 0.2e6])
    assert found["total_s"] == 3


# ---- going on where it ended


def options(folder: Path, **changed) -> argparse.Namespace:
    steps = folder / "steps.json"
    if not steps.exists():
        recording.write(some_recording(), steps)
    given = {
        "rate": "1gbit", "congestion": "reno", "iterations": 4, "seed": 1, "recording": steps,
        "paces": ["recorded", "paper"], "algorithms": ["ring", "auto"], "executions": 2,
        "output": folder, "anew": False,
    }  # fmt: skip
    return argparse.Namespace(**{**given, **changed})


def found(elapsed_ms: float = 10.0, total: float = 5.0) -> dict:
    return {
        "elapsed_us": elapsed_ms * 1e3, "waiting_us": 1e3, "call_elapsed_us": [1.0],
        "total_s": total, "wrong": 0, "chosen": "ring",
    }  # fmt: skip


class Jobs:
    """In the place of the lab: says what jobs were given, and breaks off in one of them."""

    def __init__(self, monkeypatch, breaks_at: int | None = None):
        self.seen: list[tuple] = []
        self.breaks_at = breaks_at
        monkeypatch.setattr(replay, "made", lambda *_: contextlib.nullcontext(self))

    def command(self, _verb: str, *arguments: object) -> list[str]:
        return list(map(str, arguments))

    def lines(self, command: list[str], _environment: dict, _limit: float):
        if "--recording" not in command:
            yield {"links": {}}
            return
        if len(self.seen) == self.breaks_at:
            raise launching.LaunchError("broken off")
        given = dict(zip(command, command[1:], strict=False))
        settings = [word for flag, word in zip(command, command[1:], strict=False)
                    if flag == "--env" and "TUNING_FILE" not in word]  # fmt: skip
        mean = float(given["--mean"]) if "--mean" in given else None
        self.seen.append((int(given["--execution"]), mean, "--tell" in command, *settings))
        yield found()


RING = (False, "STRETTO_AUTOTUNE=0", "STRETTO_ALGORITHM=allreduce=ring", "STRETTO_ARRIVALS=0")
OURS = (True, "STRETTO_AUTOTUNE=0")


def test_algorithms_take_turns_and_what_was_measured_is_not_measured_again(monkeypatch, tmp_path):
    broken = Jobs(monkeypatch, breaks_at=3)
    with pytest.raises(launching.LaunchError):
        replay.Replays(3, options(tmp_path)).run()
    assert broken.seen == [(0, None, *RING), (0, None, *OURS), (1, None, *OURS)]
    rest = Jobs(monkeypatch)
    replay.Replays(3, options(tmp_path)).run()
    step = published_late.STEP
    assert rest.seen == [
        (1, None, *RING), (0, step, *RING), (0, step, *OURS), (1, step, *OURS), (1, step, *RING),
    ]  # fmt: skip
    more = Jobs(monkeypatch)
    replay.Replays(3, options(tmp_path, executions=3, paces=["paper"])).run()
    assert more.seen == [(2, step, *RING), (2, step, *OURS)]
    (stored,) = replay.stored(tmp_path, replay.file_of("*", "*"))
    assert len(stored["rows"]) == 10
    assert stored["meta"]["steps"]["mean_s"] == pytest.approx(0.031)


def test_another_recording_does_not_mix(monkeypatch, tmp_path):
    Jobs(monkeypatch)
    replay.Replays(3, options(tmp_path)).run()
    other = tmp_path / "other.json"
    recording.write(some_recording(6), other)
    for change in ({"recording": other}, {"iterations": 5}, {"seed": 2}):
        with pytest.raises(SystemExit, match="has other settings"):
            replay.Replays(3, options(tmp_path, **change))
    assert replay.Replays(3, options(tmp_path, recording=other, anew=True)).results["rows"] == []


def test_names_that_there_are_not():
    assert replay.one_of(replay.PACES)("paper,recorded") == ["paper", "recorded"]
    with pytest.raises(argparse.ArgumentTypeError, match="no late"):
        replay.one_of(replay.ALGORITHMS)("ring,late")


# ---- the table


def test_the_papers_table_5():
    ring = published_late.TABLE_5["ring"]
    for row in published_late.TABLE_5.values():
        assert ring.elapsed_ms / row.elapsed_ms == pytest.approx(row.speedup, abs=0.0025)
        assert ring.total_s / row.total_s == pytest.approx(row.total_speedup, abs=0.0005)
    assert pytest.approx(0.1743, abs=1e-4) == published_late.STEP


def results(*rows: dict) -> dict:
    steps = {**MADE, "parameters": 145_578, "mean_s": 0.0123, "fraction": 0.44}
    meta = {"ranks": 16, "date": "today", "cpu": "one", "cores": 2, "steps": steps}
    return {"rate": "1gbit", "iterations": 390, "meta": meta, "rows": list(rows)}


def row(name: str, execution: int, *times: float, pace: str = "paper") -> dict:
    return {"pace": pace, "execution": execution, "algorithm": name, **found(*times)}


def test_measured_beside_published():
    text = replay_page.markdown(
        [
            results(
                row("auto", 0, 20.0, 80.0),
                row("auto", 1, 25.0, 80.0),
                row("ring", 0, 24.0, 88.0),
                row("ring", 1, 30.0, 88.0),
                row("ring", 2, 99.0, 99.0),  # without a partner, in no ratio
                row("chain", 0, 24.0, 96.0),
                row("balanced", 0, pace="recorded"),
            )
        ]
    )
    for line in (
        "**16 hosts, 1gbit, 390 iterations; steps stretched to 174 ms, the paper's (table 5)**",
        "**16 hosts, 1gbit, 390 iterations; steps as recorded, 12.3 ms (table 5)**",
        "| `ring` | 51.0 | 1.0 | 1.000 | 91.7 | 1.000 | 3 |",
        "| `ring`, paper | 35.7 | – | 1.000 | 81.9 | 1.000 | 128 |",
        "| `chain` | 24.0 | 1.0 | 1.000 | 96.0 | 0.917 | 1 |",
        "| `chain`, paper | 33.1 | – | **1.079** | 78.8 | **1.040** | 128 |",
        "| `auto` | 22.5 | 1.0 | **1.200 ± 0.000** | 80.0 | **1.100 ± 0.000** | 2 |",
        "| `balanced` | 10.0 | 1.0 | – | 5.0 | – | 1 |",
    ):
        assert line in text
    assert text.index("`ring` |") < text.index("`chain` |") < text.index("`auto` |")
    assert "the edge is after 44% of a step" in text


def test_the_page_has_a_place_for_it():
    text = replay_page.PAGE.read_text()
    assert replay_page.put(text, "found", replay_page.BEGIN).count("\n\nfound\n\n") == 1
