# SPDX-License-Identifier: BSD-3-Clause
"""Checks the house rules that no other tool checks; prints what breaks them.

Every source file says its licence, is no longer than 400 lines (tests may be), and includes nothing
by way of "../"; each public header compiles alone as C99.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (
    "src",
    "include",
    "mpi",
    "python",
    "lab",
    "tests",
    "bench",
    "examples",
    "cmake",
    "tools",
    "docs",
)
SOURCES = {".c", ".h", ".cpp", ".hpp", ".inl", ".py", ".pyi", ".cmake", ".sh", ".in"}
CODE = SOURCES - {".cmake", ".in"}
NOT_OURS = {".venv", ".build", "build", "__pycache__", "results"}
LONGEST = 400
LICENCE = "SPDX-License-Identifier: BSD-3-Clause"


def sources() -> Iterator[Path]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            ours = not NOT_OURS & set(path.relative_to(ROOT).parts)
            source = path.suffix in SOURCES or path.name == "CMakeLists.txt"
            if ours and source and path.is_file():
                yield path


def problems(path: Path) -> Iterator[str]:
    lines = path.read_text().splitlines()
    if lines and not any(LICENCE in line for line in lines[:3]):
        yield f"no licence: the first line should hold '{LICENCE}'"
    is_test = path.relative_to(ROOT).parts[0] == "tests"
    if path.suffix in CODE and len(lines) > LONGEST and not is_test:
        yield f"{len(lines)} lines; above {LONGEST} it is asking to be two files"
    for number, line in enumerate(lines, 1):
        if re.match(r'\s*#\s*include\s*["<]\.\./', line):
            yield f"line {number}: includes by way of ../; name the layer instead"


def header_problem(header: Path) -> str | None:
    compiler = os.environ.get("CC", "cc").split()
    flags = ["-std=c99", "-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    command = [*compiler, *flags, "-x", "c", str(header)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"{header}: not C99 by itself:\n{done.stderr}"


def main() -> int:
    found = [f"{path.relative_to(ROOT)}: {each}" for path in sources() for each in problems(path)]
    headers = sorted((ROOT / "include").rglob("*.h"))
    found += filter(None, [header_problem(each) for each in headers])
    print("\n".join(found) if found else "house rules: fine")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
