# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that do not come are told of while the others wait for them."""

from __future__ import annotations

import re
import sys

from conftest import JOBS

LATE = """
import sys, time
from pathlib import Path
import numpy as np
import stretto
with stretto.init() as comm:
    while comm.rank == comm.size - 1 and not Path(sys.argv[1]).exists():
        time.sleep(0.001)
    assert comm.allreduce(np.full(3, comm.rank + 1, np.int32))[0] == 6
"""


def test_a_callback_hears_who_has_not_come(stretto, where, tmp_path):
    job = stretto("run", "-n", 3, sys.executable, JOBS / "stall.py", tmp_path, **where)
    assert job.returncode == 0, job.stdout + job.stderr
    assert (job.stdout.count("heard"), job.stdout.count("came late")) == (2, 1), job.stdout


def test_the_setting_writes_a_line(stretto, where, tmp_path):
    seen = tmp_path / "seen"
    job = stretto.start(
        "run", "-n", 3, sys.executable, "-c", LATE, seen, STRETTO_STALL_WARNING="5", **where
    )
    lines = []
    for line in job.stderr:
        lines.append(line)
        if "stall:" in line:
            seen.touch()
    assert job.wait() == 0, lines
    told = [line for line in lines if "stall:" in line]
    assert told, lines
    for line in told:
        assert re.search(r"rank [01] .*in allreduce\(3 x int32, sum\) \(call \d+, ", line), line
    # After the first line rank 2 comes, perhaps before the other rank writes its own.
    assert re.search(r"ranks? ([01], )?2 ha(s|ve) not come", told[0]), lines
