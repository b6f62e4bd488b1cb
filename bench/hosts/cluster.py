# SPDX-License-Identifier: BSD-3-Clause
"""A cluster of the lab for one measurement, and programs in its hosts."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import launching

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "lab" / "cluster"
RSH = ROOT / "lab" / "rsh"


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
        yield from launching.lines(command, {**os.environ, **environment}, limit)


@contextlib.contextmanager
def made(size: int, rate: str, congestion: str, *more: object) -> Iterator[Cluster]:
    """A cluster of this many hosts, which is removed afterwards; `more`: further options of
    `up`."""
    cluster = Cluster(f"bench-{os.getpid()}-{size}", size)
    try:
        _output(cluster.command("up", size, "--rate", rate, "--congestion", congestion, *more))
        yield cluster
    finally:
        subprocess.run(cluster.command("down"), check=False, capture_output=True)


def _output(command: list[str]) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}failed: see above")
    return done.stdout
