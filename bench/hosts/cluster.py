# SPDX-License-Identifier: BSD-3-Clause
"""A cluster of the lab for one measurement, and programs in its hosts."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "lab" / "cluster"
RSH = ROOT / "lab" / "rsh"


class LaunchError(Exception):
    """A job that failed or did not end; the message holds the end of what it said."""


@dataclass(frozen=True)
class Cluster:
    name: str
    size: int

    def command(self, verb: str, *arguments: object) -> list[str]:
        return [str(LAB), verb, "--name", self.name, *map(str, arguments)]

    def probe(self, seconds: float) -> dict:
        """What the links carry, and the round trip of a small message."""
        return json.loads(_output(self.command("probe", "--seconds", seconds, "--json")))

    def lines(
        self, command: list[str], environment: dict[str, str], limit: float
    ) -> Iterator[dict]:
        """The lines of JSON that a job prints.  Raises LaunchError if it fails or lasts longer
        than `limit` seconds."""
        with tempfile.TemporaryFile("w+") as complaints:
            process = subprocess.Popen(
                command,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
                start_new_session=True,  # so that the job can be ended with its launcher
            )
            watchdog = threading.Timer(limit, _end, [process])
            watchdog.start()
            others = []
            try:
                for line in process.stdout:
                    if line.startswith("{"):
                        yield json.loads(line)
                    else:
                        others.append(line)
                status = process.wait()
            finally:
                watchdog.cancel()
                _end(process)
            if status != 0:
                complaints.seek(0)
                said = "".join(others) + complaints.read()
                raise LaunchError(f"{' '.join(command)}: status {status}\n{said[-2000:].strip()}")


@contextlib.contextmanager
def made(size: int, rate: str) -> Iterator[Cluster]:
    """A cluster of so many hosts, which is gone afterwards."""
    cluster = Cluster(f"bench-{os.getpid()}-{size}", size)
    try:
        _output(cluster.command("up", size, "--rate", rate))
        yield cluster
    finally:
        subprocess.run(cluster.command("down"), check=False, capture_output=True)


def _output(command: list[str]) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}failed: see above")
    return done.stdout


def _end(process: subprocess.Popen) -> None:
    """A launcher takes its ranks with it when it is asked to end, not when it is killed."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=10)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
