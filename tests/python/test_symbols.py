# SPDX-License-Identifier: BSD-3-Clause
"""tools/check_symbols.py, which says whether a library loads on older systems."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "check_symbols.py"
LISTING = """
     3: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND memcpy@GLIBC_2.14 (4)
     4: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND pthread_create@{thread} (9)
     5: 0000000000000000     0 FUNC    WEAK   DEFAULT  UND __cxa_finalize@GLIBC_2.2.5 (2)
     6: 0000000000000000     0 NOTYPE  WEAK   DEFAULT  UND __gmon_start__
     7: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND _ZSt4move@{runtime} (3)
     8: 00000000000a2b40    64 FUNC    GLOBAL DEFAULT   14 stretto_init@@STRETTO_9.9
"""


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs the tool on a listing, which a readelf of the test's own prints."""

    def run(thread: str, runtime: str, *options: str) -> subprocess.CompletedProcess:
        listing = tmp_path / "listing"
        listing.write_text(LISTING.format(thread=thread, runtime=runtime))
        readelf = tmp_path / "readelf"
        readelf.write_text(f"#!/bin/sh\ncat {listing}\n")
        readelf.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
        return subprocess.run(
            [sys.executable, TOOL, *options, "libx.so"], capture_output=True, text=True
        )

    return run


def test_what_old_systems_have(check):
    done = check("GLIBC_2.28", "GLIBCXX_3.4.24")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "libx.so: needs GLIBC_2.28, GLIBCXX_3.4.24\n"


def test_newer_glibc(check):
    done = check("GLIBC_2.34", "GLIBCXX_3.4.9")
    assert done.returncode == 1
    first, second = done.stderr.splitlines()
    assert first == "libx.so: needs GLIBC_2.34, beyond 2.28, for pthread_create"
    assert second.startswith("libx.so: remedy: ") and "make test-glibc" in second
    assert check("GLIBC_2.34", "GLIBCXX_3.4.9", "--glibc", "2.34").returncode == 0


def test_newer_cxx_runtime(check):
    done = check("GLIBC_2.3", "GLIBCXX_3.4.30")
    assert done.returncode == 1
    assert "needs GLIBCXX_3.4.30, beyond 3.4.24, for _ZSt4move" in done.stderr
    assert "-static-libstdc++" in done.stderr


def test_nothing_read_is_no_success(tmp_path: Path):
    broken = tmp_path / "libx.so"
    broken.write_text("no library")
    done = subprocess.run([sys.executable, TOOL, broken], capture_output=True, text=True)
    assert done.returncode == 1
    assert f"{broken}: readelf shows no versions of symbols" in done.stderr
