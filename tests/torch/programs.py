# SPDX-License-Identifier: BSD-3-Clause
"""Programs of so many workers, as torchrun starts them, without its agent."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "torch"
TORCHRUN = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start(program: Path, *arguments: object, **variables: object) -> subprocess.Popen[str]:
    """Starts one process; its errors are in its output."""
    kept = {name: value for name, value in os.environ.items() if name not in TORCHRUN}
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", str(program), *map(str, arguments)],
        env={**kept, "OMP_NUM_THREADS": "1", **{k: str(v) for k, v in variables.items()}},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def start_workers(
    ranks: int, program: Path, *arguments: object, **variables: object
) -> list[subprocess.Popen[str]]:
    port = free_port()
    return [
        start(
            program,
            *arguments,
            RANK=rank,
            WORLD_SIZE=ranks,
            LOCAL_RANK=rank,
            LOCAL_WORLD_SIZE=ranks,
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT=port,
            **variables,
        )
        for rank in range(ranks)
    ]


def outputs(
    workers: Sequence[subprocess.Popen[str]], seconds: float = 240, killed: Sequence[int] = ()
) -> list[str]:
    """What each has printed.  Fails if one does not end well and in time, except the killed."""
    end = time.monotonic() + seconds
    printed = []
    try:
        for worker in workers:
            printed.append(worker.communicate(timeout=max(0.1, end - time.monotonic()))[0])
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    bad = [i for i, worker in enumerate(workers) if worker.returncode != 0 and i not in killed]
    assert not bad, f"workers {bad} failed:\n" + "\n".join(printed)
    return printed


def run(ranks: int, program: Path, *arguments: object, seconds: float = 240) -> str:
    """What the workers of an example print, rank after rank."""
    return "".join(outputs(start_workers(ranks, program, *arguments), seconds))
