# SPDX-License-Identifier: BSD-3-Clause
"""Prints requirements of pyproject.toml, one a line: those to build with, to run, and the extras.

python tools/requirements.py EXTRA...
"""

from __future__ import annotations

import sys
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10: pip carries a reader
    from pip._vendor import tomli as tomllib

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
extras = project["project"]["optional-dependencies"]
for lines in (
    project["build-system"]["requires"],
    project["project"]["dependencies"],
    *(extras[name] for name in sys.argv[1:]),
):
    print(*lines, sep="\n")
