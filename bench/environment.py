# SPDX-License-Identifier: BSD-3-Clause
"""A benchmark's own environment: made when it is missing or old, and entered."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def enter(program: Path) -> None:
    """Goes on with `program` in the environment of its folder, `.venv`, if that is not this one."""
    venv, requirements = program.parent / ".venv", program.parent / "requirements.txt"
    stamp = venv / "installed.txt"
    wanted = requirements.read_text()
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"setting up {venv} (once)", flush=True)
        steps = (
            [sys.executable, "-m", "venv", venv],
            [venv / "bin" / "python", "-m", "pip", "install", "--quiet", "-r", requirements],
        )
        for step in steps:
            if subprocess.run(step, check=False).returncode != 0:
                sys.exit(f"{' '.join(map(str, step))} failed; is python3-venv installed?")
        stamp.write_text(wanted)
    if Path(sys.prefix) != venv:
        python = str(venv / "bin" / "python")
        os.execv(python, [python, str(program), *sys.argv[1:]])
