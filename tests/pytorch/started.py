# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that are started for one test, as programs with settings of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAMS = Path(__file__).parent / "jobs"
TIMEOUT = 120  # seconds after which a program hangs


def run(
    ranks: int, program: str, folder: Path, *arguments: object, **settings: str
) -> list[subprocess.CompletedProcess[str]]:
    """Runs jobs/PROGRAM.py as so many ranks, which find their store in `folder`."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", str(PROGRAMS / f"{program}.py"), *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "RANK": str(rank),
                "WORLD_SIZE": str(ranks),
                "STORE": str(folder / "store"),
                **settings,
            },
        )
        for rank in range(ranks)
    ]
    done = []
    try:
        for process in processes:
            out, err = process.communicate(timeout=TIMEOUT)
            done.append(subprocess.CompletedProcess(process.args, process.returncode, out, err))
    finally:
        for process in processes:
            process.kill()
    return done
