# SPDX-License-Identifier: BSD-3-Clause
"""Programs of so many workers, as torchrun starts them, without its agent."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "torch"

# One process imports PyTorch; the workers are forked from it.
_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["torch.distributed"])


class Worker:
    """A process that runs a program; its errors are in its output."""

    def __init__(self, program: Path, *arguments: object, **variables: object):
        descriptor, name = tempfile.mkstemp(prefix="stretto-program-")
        os.close(descriptor)
        self._output = Path(name)
        texts = {name: str(value) for name, value in variables.items()}
        self._process = _forks.Process(
            target=_be_program, args=(str(program), [*map(str, arguments)], texts, name)
        )
        self._process.start()

    @property
    def pid(self) -> int | None:
        return self._process.pid

    @property
    def status(self) -> int | None:
        """The exit status; negative: the signal that ended it; None: it runs."""
        return self._process.exitcode

    def printed(self) -> str:
        """So far."""
        return self._output.read_text()

    def wait(self, seconds: float) -> None:
        self._process.join(seconds)

    def close(self) -> str:
        """Ends it if it still runs; what it has printed."""
        self._process.kill()
        self._process.join()
        text = self.printed()
        self._output.unlink()
        return text


def _be_program(program: str, arguments: list[str], variables: dict[str, str], out: str) -> None:
    os.environ.update(variables)
    with open(out, "w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.argv = [program, *arguments]
    sys.path.insert(0, str(Path(program).parent))
    try:
        runpy.run_path(program, run_name="__main__")
    finally:
        sys.stdout.flush()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start_workers(ranks: int, program: Path, *arguments: object) -> list[Worker]:
    """With the variables of torchrun."""
    port = free_port()
    return [
        Worker(
            program,
            *arguments,
            RANK=rank,
            WORLD_SIZE=ranks,
            LOCAL_RANK=rank,
            LOCAL_WORLD_SIZE=ranks,
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT=port,
        )
        for rank in range(ranks)
    ]


def outputs(
    workers: Sequence[Worker], seconds: float = 240, killed: Sequence[int] = ()
) -> list[str]:
    """What each has printed.  Fails if one does not end well and in time, except the killed."""
    end = time.monotonic() + seconds
    for worker in workers:
        worker.wait(max(0.1, end - time.monotonic()))
    bad = [i for i, worker in enumerate(workers) if worker.status != 0 and i not in killed]
    printed = [worker.close() for worker in workers]
    assert not bad, f"workers {bad} failed:\n" + "\n".join(printed)
    return printed


def run(ranks: int, program: Path, *arguments: object, seconds: float = 240) -> str:
    """What the workers of an example print, rank after rank."""
    return "".join(outputs(start_workers(ranks, program, *arguments), seconds))
