# SPDX-License-Identifier: BSD-3-Clause
"""What an import of the package brings, and when."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
import stretto as package
from stretto.cli import cli

SLOW = {"numpy", "rich", "matplotlib", "torch"}


def loaded(program: str) -> set[str]:
    """Those of the slow modules that a process has loaded when the program has ended."""
    shown = subprocess.run(
        [sys.executable, "-c", program + "\nimport sys; print(*sys.modules)"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return SLOW & set(shown.split())


@pytest.mark.parametrize("module", ["stretto", "stretto.cli.run", "stretto.cli.mpi"])
def test_what_starts_jobs_starts_quickly(module):
    assert loaded(f"import {module}") == set()


def test_the_help_imports_no_command(stretto):
    program = "from click.testing import CliRunner; from stretto.cli import cli; "
    assert loaded(program + "CliRunner().invoke(cli, ['--help'])") == set()
    shown = stretto("--help").stdout
    for name in cli.list_commands(click.Context(cli)):
        assert f"\n  {name} " in shown


def test_arrays_come_with_what_takes_them():
    assert loaded("import stretto; stretto.Communicator") == {"numpy"}


def test_all_names_are_there():
    assert set(package.__all__) <= set(dir(package))
    for name in package.__all__:
        assert getattr(package, name) is getattr(package, name)
    names: dict[str, object] = {}
    exec("from stretto import *", names)
    assert set(package.__all__) <= set(names)


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="module 'stretto' has no attribute 'allreduced'"):
        _ = package.allreduced


def test_what_ends_with_the_process_may_use_communicators(stretto):
    program = (
        "import atexit, stretto\n"
        "atexit.register(lambda: print(comm.size, comm.barrier()))\n"
        "comm = stretto.init()\n"
    )
    done = stretto("run", "-n", 3, sys.executable, "-c", program)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"[{rank}] 3 None" for rank in range(3)]
