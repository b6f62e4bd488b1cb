# SPDX-License-Identifier: BSD-3-Clause
"""The example of adaptive mesh refinement, small, on this host: its checksums are equal with and
without Stretto, and it ends with an error where an allreduce is wrong.

It needs an MPI in the path and the system's p4est (Debian: libopenmpi-dev, libp4est-dev)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "examples" / "amr" / "run.py"
SMALL = ["--system", "--repeat", 1, "--", "-t", 2, "-s", 2, "-c", 1, "-v", 3]
LIMIT = 300  # seconds after which it hangs
MISSING = [name for name in ("mpicc", "mpirun") if shutil.which(name) is None]
MISSING += [] if Path("/usr/include/p8est.h").exists() else ["p8est.h (Debian: libp4est-dev)"]

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"there is no {', '.join(MISSING)}")

# In Stretto's place: the second result of one type is wrong, on all ranks.
WRONG = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
int PMPI_Allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm) {
    static int calls;
    int (*real)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    *(void **)&real = dlsym(RTLD_NEXT, "PMPI_Allreduce");
    const int status = real(send, recv, count, type, op, comm);
    if (type == TYPE && ++calls == 2)
        ADD
    return status;
}
"""


def run(*options: object) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STRETTO_")}
    return subprocess.run(
        [sys.executable, str(RUN), *map(str, options)],
        capture_output=True, text=True, timeout=LIMIT, check=False, env=clean,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_checksums_are_equal_with_and_without(tmp_path):
    done = run("--local", 4, "--json", tmp_path / "all.json", *SMALL)
    assert done.returncode == 0, done.stderr
    [result] = json.loads((tmp_path / "all.json").read_text())
    assert [line.split(":")[0] for line in result["lines"]] == [
        "step 1",
        "step 2",
        result["checksum"],
    ]
    for kind in ("without", "with"):
        [record] = result[kind]
        assert record["checksum"] == result["checksum"]
        by_size = {row[0]: row[1] for row in record["allreduce"]["by_size"]}
        # Two steps of two checksums each and one at the start, of three variables each; the bits
        # once in each step.
        assert by_size[8] >= 15 and by_size[24] >= 2
        assert sum(by_size.values()) >= record["allreduces"]
    # All ranks' calls but those that the report leaves to the MPI library.
    assert result["served"] > 4 * sum(by_size.values()) // 2
    assert f"checksum {result['checksum']} in all of them" in done.stdout


@pytest.mark.parametrize(
    ("kind", "add", "said"),
    [
        ("MPI_DOUBLE", "*(double *)recv *= 1.000001;", "has lost data"),
        ("MPI_UNSIGNED_LONG_LONG", "++*(long long *)recv;", "a run with Stretto printed"),
        ("MPI_DATATYPE_NULL", ";", "ran none of the allreduces"),
    ],
)
def test_a_wrong_allreduce_is_an_error(tmp_path, kind, add, said):
    source, library = tmp_path / "wrong.c", tmp_path / "libwrong.so"
    source.write_text(WRONG.replace("TYPE", kind).replace("ADD", add))
    words = ["mpicc", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
    subprocess.run(words, check=True)
    done = run("--local", 2, "--library", library, *SMALL)
    assert done.returncode == 1
    assert "FAILED" in done.stderr and said in done.stderr
