# SPDX-License-Identifier: BSD-3-Clause
"""What the package brings for programs in C: they build against it and run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = r"""
#include <stdio.h>
#include <stretto/stretto.h>

int main(void) {
    stretto_comm comm;
    double mine, total = 0;
    if (stretto_init(&comm) != STRETTO_OK) {
        fprintf(stderr, "%s\n", stretto_last_error());
        return 1;
    }
    mine = stretto_rank(comm) + 1;
    if (stretto_allreduce(comm, &mine, &total, 1, STRETTO_FLOAT64, STRETTO_SUM) != STRETTO_OK)
        return 1;
    printf("total %g of %d, version %s\n", total, stretto_size(comm), stretto_version());
    return stretto_finalize(&comm) != STRETTO_OK;
}
"""

LISTS = """
cmake_minimum_required(VERSION 3.20)
project(total C)
find_package(stretto 0.1 REQUIRED)
add_executable(total total.c)
target_link_libraries(total PRIVATE stretto::stretto)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "total.c").write_text(SOURCE)
    return tmp_path


def shell(folder: Path, *command: object, **settings: str) -> str:
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env={**os.environ, **settings},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def assert_runs(stretto, program: Path) -> None:
    done = stretto("run", "-n", 2, program)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [
        f"[{rank}] total 3 of 2, version 0.1.0" for rank in range(2)
    ]


def test_with_cmake(stretto, folder):
    (folder / "CMakeLists.txt").write_text(LISTS)
    where = stretto("config", "--cmake-dir").stdout.strip()
    shell(folder, "cmake", "-S", ".", "-B", "build", f"-Dstretto_DIR={where}")
    shell(folder, "cmake", "--build", "build")
    assert_runs(stretto, folder / "build" / "total")


def test_with_pkg_config(stretto, folder):
    if shutil.which("pkg-config") is None:
        pytest.skip("needs pkg-config")
    where = stretto("config", "--pkg-config-dir").stdout.strip()
    flags = shell(
        folder, "pkg-config", "--cflags", "--libs", "stretto", PKG_CONFIG_PATH=where
    ).split()
    shell(folder, os.environ.get("CC", "cc"), "total.c", "-o", "total", *flags)
    assert_runs(stretto, folder / "total")


def test_with_flags(stretto, folder):
    flags = stretto("config", "--cflags", "--libs").stdout.split()
    shell(folder, os.environ.get("CC", "cc"), "-std=c99", "total.c", "-o", "total", *flags)
    assert_runs(stretto, folder / "total")


def test_the_quick_start_of_the_readme(stretto, folder):
    """As it is printed, with the command of the environment on the path."""
    page = (Path(__file__).parents[2] / "README.md").read_text()
    (folder / "mean.c").write_text(re.search(r"```c\n(/\* mean.c.*?)```", page, re.S).group(1))
    build, run, printed = re.search(
        r"```\n\$ (cc mean.c .*)\n\$ (stretto run .*)\n(.*)\n```", page
    ).groups()
    path = f"{stretto.path.parent}:{os.environ['PATH']}"
    assert shell(folder, "sh", "-c", f"{build} && {run}", PATH=path) == printed


def test_programs_look_for_a_version_of_the_library(stretto, folder):
    """So that another one, of other functions, can lie beside it."""
    if shutil.which("readelf") is None:
        pytest.skip("needs readelf")
    flags = stretto("config", "--cflags", "--libs").stdout.split()
    shell(folder, os.environ.get("CC", "cc"), "total.c", "-o", "total", *flags)
    needed = shell(folder, "readelf", "-d", "total")
    assert "Shared library: [libstretto.so.0]" in needed
    library = Path(stretto("config", "--lib").stdout.strip()) / "libstretto.so.0"
    assert "soname: [libstretto.so.0]" in shell(folder, "readelf", "-d", library)
    assert not library.is_symlink()  # a wheel has none
