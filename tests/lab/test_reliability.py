# SPDX-License-Identifier: BSD-3-Clause
"""Some of the jobs of `lab/reliability`, in which what is broken must be told and the rest go on.

In full: `sudo make reliability`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import LAB, ROOT

stretto = pytest.importorskip("stretto", reason="the package is not installed: make install")

FULL = os.environ.get("STRETTO_TEST_FULL") == "1"
PREFIX = Path(stretto.__file__).parent


def reliability(*arguments: object, jobs: int) -> str:
    """Its table, of so many jobs."""
    command = [LAB / "reliability", *arguments, "--jobs", jobs, "--prefix", PREFIX, "--quiet"]
    done = subprocess.run(
        list(map(str, command)),
        capture_output=True, text=True, cwd=ROOT, timeout=jobs * 60 + 60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    (total,) = re.findall(r"^\| \*\*all\*\* \| (\d+) \|.*", done.stdout, re.MULTILINE)
    assert int(total) == jobs
    return done.stdout


@pytest.mark.parametrize(
    "kinds",
    [["`kill -9` a rank"], ["cut a host off"], ["freeze a host, thaw"], ["job starts"], ["two of"]],
)
def test_survivors_are_told_and_go_on(able, kinds):
    options = [each for kind in kinds for each in ("--kind", kind)]
    reliability("failures", "--hosts", 4, *options, jobs=3 if FULL else 1)


def test_one_side_of_a_split_goes_on_at_most(able):
    reliability("splits", "--hosts", 4, "--seed", 1, jobs=14 if FULL else 2)


def test_strangers_are_refused_and_the_job_goes_on(able):
    table = reliability("strangers", "--hosts", 4, jobs=3 if FULL else 1)
    attacks = re.findall(
        r"^\| ([^|]*) \| ([\d,]+) \| [\d,]+ \| [\d,]+ \| 0 \|$", table, re.MULTILINE
    )
    assert len(attacks) == 8
    assert all(made != "0" for _, made in attacks)


def test_late_ranks_get_right_results(able):
    calls = 1000 if FULL else 120
    command = [LAB / "soak", "--calls", calls, "--hosts", 3, "--seed", 2, "--prefix", PREFIX]
    done = subprocess.run(
        list(map(str, command)),
        capture_output=True, text=True, cwd=ROOT, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    seen = json.loads(done.stdout)
    assert (seen["calls"], seen["wrong"], seen["hangs"], seen["failed_checks"]) == (calls, 0, 0, [])
    assert seen["announcements"] > 0
    assert sum(seen["served"].values()) >= calls
