# SPDX-License-Identifier: BSD-3-Clause
"""Schedules of one's own, from the command that shows one to the job that is run by it."""

from __future__ import annotations

import json
import sys

CODE = """
import numpy as np, stretto
comm = stretto.init()
for count in (1, 5, 1000):
    assert (comm.allreduce(np.ones(count, np.float32)) == comm.size).all()
comm.rank or print(comm.chosen_algorithm("allreduce", 1), comm.chosen_algorithm("allreduce", 1000))
"""


def shown(stretto, path, *arguments):
    """Writes what `stretto show` gives."""
    path.write_text(stretto("show", "--json", *arguments).stdout)
    return f"file:{path}"


def run(stretto, ranks, rules):
    command = (sys.executable, "-c", CODE)
    return stretto("run", "-n", ranks, "--no-prefix", *command, STRETTO_ALGORITHM=rules)


def test_what_is_shown_can_be_run(stretto, tmp_path):
    for ranks in (2, 4):
        name = shown(stretto, tmp_path / f"{ranks}.json", "ring", "--ranks", ranks)
        done = run(stretto, ranks, f"allreduce:4K-={name},allreduce=direct")
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == ["direct", "direct"]  # of 4 and of 4,000 bytes
        done = run(stretto, ranks, f"allreduce:4000-={name},allreduce=direct")
        assert done.stdout.split() == ["direct", name]


def test_a_schedule_that_is_wrong_is_not_run(stretto, tmp_path):
    path = tmp_path / "mine.json"
    name = shown(stretto, path, "ring", "--ranks", 3)
    schedule = json.loads(path.read_text())
    del schedule["programs"][1]["ops"][-1]
    path.write_text(json.dumps(schedule))
    done = run(stretto, 3, name)
    assert done.returncode != 0
    assert f"schedule file '{path}' is not correct and will not be played" in done.stderr
    assert f"rank 0: schedule file '{path}'" in done.stderr
