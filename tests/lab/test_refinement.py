# SPDX-License-Identifier: BSD-3-Clause
"""The example of adaptive mesh refinement on hosts of the lab, small: its checksums are equal with
and without Stretto.

It needs an MPI in the path and the system's p4est (Debian: libopenmpi-dev, libp4est-dev)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

pytest.importorskip("stretto", reason="the package is not installed: make install")

MISSING = [name for name in ("mpicc", "mpirun") if shutil.which(name) is None]
MISSING += [] if Path("/usr/include/p8est.h").exists() else ["p8est.h (Debian: libp4est-dev)"]
LIMIT = 300  # seconds after which it hangs


@pytest.mark.skipif(bool(MISSING), reason=f"there is no {', '.join(MISSING)}")
def test_checksums_between_hosts(able, tmp_path):
    options = ["--hosts", 3, "--ranks-per-host", 2, "--system", "--repeat", 1]
    options += ["--json", tmp_path / "all.json", "--", "-t", 2, "-s", 2, "-c", 1]
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples/amr/run.py"), *map(str, options)],
        capture_output=True, text=True, timeout=LIMIT, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    [result] = json.loads((tmp_path / "all.json").read_text())
    for kind in ("without", "with"):
        assert [record["checksum"] for record in result[kind]] == [result["checksum"]]
    assert result["served"] > 0
