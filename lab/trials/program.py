# SPDX-License-Identifier: BSD-3-Clause
"""The program of a trial's ranks: built from worker/ against the library."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from errors import LabError

SOURCES = Path(__file__).resolve().parent / "worker"
ROOT = SOURCES.parents[2]
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-g", "-Wall", "-Wextra"]


def build(folder: Path, prefix: Path, name: str = "worker") -> Path:
    """The program, in this folder.  `prefix`: where Stretto is installed, or a build of it."""
    library = _library(prefix)
    include = prefix / "include"
    if not include.is_dir():
        include = ROOT / "include"
    program = folder / name
    compiler = shlex.split(os.environ.get("CC", "cc"))
    sources = [str(SOURCES / f"{each}.c") for each in (name, "calls")]
    command = [
        *compiler, *FLAGS, f"-I{include}", *sources, "-pthread",
        f"-L{library.parent}", "-lstretto", f"-Wl,-rpath,{library.parent}", "-o", str(program),
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise LabError(
            f"there is no C compiler '{compiler[0]}'; install one (apt-get install gcc) or name it "
            "in CC"
        ) from None
    if done.returncode != 0:
        raise LabError(f"the program cannot be built: {shlex.join(command)}\n{done.stderr}")
    return program


def installed() -> Path:
    """By `make install`."""
    found = sorted(ROOT.glob(".venv/lib/python3*/site-packages/stretto"))
    if not found:
        raise LabError("Stretto is not installed in .venv; `make install`, or give --prefix")
    return found[-1]


def _library(prefix: Path) -> Path:
    for folder in ("lib", "lib64", "src/api"):
        found = prefix / folder / "libstretto.so"
        if found.exists():
            return found.resolve().parent / "libstretto.so"
    raise LabError(
        f"there is no libstretto.so in {prefix}; give --prefix the folder where Stretto is "
        "installed, or one in which it was built (cmake -S . -B build && ninja -C build stretto)"
    )
