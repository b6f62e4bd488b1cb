#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes this folder's own environment, when it is missing or old, and goes on there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv"
REQUIREMENTS = HERE / "requirements.txt"


def enter_environment() -> None:
    stamp = VENV / "installed.txt"
    wanted = REQUIREMENTS.read_text()
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"setting up {VENV} (once)", flush=True)
        steps = (
            [sys.executable, "-m", "venv", VENV],
            [VENV / "bin" / "python", "-m", "pip", "install", "--quiet", "-r", REQUIREMENTS],
        )
        for step in steps:
            if subprocess.run(step, check=False).returncode != 0:
                sys.exit(f"{' '.join(map(str, step))} failed; is python3-venv installed?")
        stamp.write_text(wanted)
    if Path(sys.prefix) != VENV:
        python = str(VENV / "bin" / "python")
        os.execv(python, [python, str(Path(__file__).resolve()), *sys.argv[1:]])


if __name__ == "__main__":
    enter_environment()
    from compare import main

    sys.exit(main())
