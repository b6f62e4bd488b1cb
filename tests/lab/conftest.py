# SPDX-License-Identifier: BSD-3-Clause
"""How the tests make clusters and run programs in their hosts."""

from __future__ import annotations

import functools
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "lab"
TIMEOUT = 120  # seconds after which a command hangs
sys.path.insert(0, str(LAB))

_numbers = itertools.count(1)


class Lab:
    """A cluster of a name of its own, and the commands for it."""

    def __init__(self) -> None:
        self.name = f"test-{os.getpid()}-{next(_numbers)}"

    def command(self, *arguments: object) -> list[str]:
        name, *rest = map(str, arguments)
        return [str(LAB / "cluster"), name, "--name", self.name, *rest]

    def __call__(
        self, *arguments: object, status: int | None = 0, **options: object
    ) -> subprocess.CompletedProcess[str]:
        options = {"stdin": subprocess.DEVNULL, "cwd": ROOT, **options}
        done = subprocess.run(
            self.command(*arguments),
            capture_output=True, text=True, timeout=TIMEOUT, check=False, **options,
        )  # fmt: skip
        if status is not None:
            assert done.returncode == status, f"{arguments}: {done.stdout}\n{done.stderr}"
        return done

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*arguments),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, cwd=ROOT,
        )  # fmt: skip

    def python(self, host: int, code: str, *arguments: object) -> str:
        """What this program says in that host."""
        return self("exec", f"h{host}", sys.executable, "-c", code, *arguments).stdout

    def serve(self, host: int, code: str, *arguments: object) -> subprocess.Popen[str]:
        """Starts a program in that host and returns when it has said `ready`."""
        process = self.start("exec", f"h{host}", sys.executable, "-c", code, *arguments)
        assert process.stdout.readline() == "ready\n", process.communicate(timeout=TIMEOUT)
        return process

    def status(self, *options: str) -> str:
        """Of all clusters."""
        command = [str(LAB / "cluster"), "status", *options]
        return subprocess.check_output(command, text=True, timeout=TIMEOUT)

    def facts(self) -> dict:
        clusters = json.loads(self.status("--json"))
        return next(each for each in clusters if each["name"] == self.name)

    def down(self) -> None:
        self("down", status=None)


@functools.cache
def unable() -> str | None:
    """Why this machine cannot have a lab."""
    if os.geteuid() != 0:
        return "needs root, for namespaces: sudo make test-lab"
    command = [str(LAB / "cluster"), "check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    return f"{done.stdout}{done.stderr}" if done.returncode else None


@pytest.fixture(scope="session")
def able() -> None:
    reason = unable()
    if reason:
        pytest.skip(reason)


@pytest.fixture
def lab(able: None) -> Iterator[Lab]:
    """A name for a cluster; the test makes it."""
    made = Lab()
    yield made
    made.down()


@pytest.fixture(scope="module")
def make_lab(able: None) -> Iterator:
    """Makes clusters that last as long as the tests of a file."""
    made: list[Lab] = []

    def make(*arguments: object) -> Lab:
        made.append(Lab())
        made[-1]("up", *arguments)
        return made[-1]

    yield make
    for each in made:
        each.down()
