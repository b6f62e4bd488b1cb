# SPDX-License-Identifier: BSD-3-Clause
"""The command line of `lab/reliability`."""

from __future__ import annotations

import argparse
from pathlib import Path

from units import at_least

EXAMPLES = """\
examples, as root:
  lab/reliability failures                       200 jobs, all kinds of failures
  lab/reliability failures --jobs 1 --seed 17    one of them again
  lab/reliability failures --jobs 20 --kind freeze
  lab/reliability splits                         all kinds of splits of the switch
  lab/reliability strangers                      jobs under attack

The exit status is 0 if every job kept the promises of docs/reliability.md, else 1.
"""
TEXTS = {
    "failures": "Hosts, ranks and links fail at random moments of jobs of random shapes. Each "
    "remaining\nrank must get an error in time, and the ranks that form a majority must continue.",
    "splits": "The switch is split in all ways, also while ranks shrink. At most one side may "
    "continue,\nand all other ranks must get ExcludedError.",
    "strangers": "A host that does not belong to a job attacks it while it starts and while it "
    "runs.\nNo rank may accept it, and the job must continue.",
}
JOBS = {"failures": 200, "splits": 100, "strangers": 20}
HOSTS = {"failures": 8, "splits": 8, "strangers": 5}


def parser() -> argparse.ArgumentParser:
    """Of the whole command; `command_name` says which one it is."""
    made = argparse.ArgumentParser(
        prog="lab/reliability",
        description="Runs jobs of Stretto in the lab, injects failures or attacks, and checks the "
        "reports of\nevery rank. Prints the results as a table.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = made.add_subparsers(
        title="commands", metavar="COMMAND", dest="command_name", required=True
    )
    for name, text in TEXTS.items():
        command = commands.add_parser(
            name,
            help=text[0].lower() + text[1:].split(".")[0].replace("\n", " "),
            description=text,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        _options(command, name)
    return made


def _options(command: argparse.ArgumentParser, name: str) -> None:
    command.add_argument(
        "--jobs", type=at_least(1), default=JOBS[name], metavar="N", help="(default: %(default)s)"
    )
    command.add_argument(
        "--seed", type=int, default=1, metavar="N",
        help="seed of the first job, which determines the job; each next job adds 1 "
        "(default: %(default)s)",
    )  # fmt: skip
    command.add_argument(
        "--kind", action="append", metavar="TEXT", help="only kinds whose name contains TEXT"
    )
    command.add_argument(
        "--hosts", type=at_least(3), default=HOSTS[name], metavar="N",
        help="hosts of the cluster (default: %(default)s)",
    )  # fmt: skip
    command.add_argument(
        "--prefix", type=Path, default=None, metavar="FOLDER",
        help="an installation or a build of Stretto (default: the one in .venv)",
    )  # fmt: skip
    command.add_argument("--verbose", action="store_true", help="print all output of the ranks")
    command.add_argument("--quiet", action="store_true", help="print only the table and errors")
