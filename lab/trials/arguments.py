# SPDX-License-Identifier: BSD-3-Clause
"""The commands of `lab/reliability`, as people type them."""

from __future__ import annotations

import argparse
from pathlib import Path

from units import at_least

EXAMPLES = """\
examples, as root:
  lab/reliability failures                       200 jobs, all kinds of failures
  lab/reliability failures --jobs 1 --seed 17    one of them again
  lab/reliability failures --jobs 20 --kind freeze
  lab/reliability splits                         the switch is split in all ways
  lab/reliability strangers                      jobs under attack

The exit status is 0 if all was as docs/reliability.md promises, else 1.
"""
TEXTS = {
    "failures": "Hosts, ranks and links fail at random moments of jobs of random shapes. Each rank "
    "that is\nleft has to get an error in time, and those that are a majority have to go on.",
    "splits": "The switch is split in all ways, also while ranks shrink. One side has to go on at "
    "most,\nand all others have to be told that they do not.",
    "strangers": "A host that does not belong to a job attacks it while it starts and while it "
    "runs.\nNobody must be let in, and the job has to go on.",
}
JOBS = {"failures": 200, "splits": 100, "strangers": 20}
HOSTS = {"failures": 8, "splits": 8, "strangers": 5}


def parser() -> argparse.ArgumentParser:
    """Of the whole command; `command_name` says which one it is."""
    made = argparse.ArgumentParser(
        prog="lab/reliability",
        description="Runs jobs of Stretto in the lab, breaks something or attacks them, and checks "
        "what every rank\nsays of it. What was seen is told as a table.",
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
        help="of the first job, and what it will be like; the next has the next "
        "(default: %(default)s)",
    )  # fmt: skip
    command.add_argument(
        "--kind", action="append", metavar="TEXT", help="only what has this in its name"
    )
    command.add_argument(
        "--hosts", type=at_least(3), default=HOSTS[name], metavar="N",
        help="of the cluster (default: %(default)s)",
    )  # fmt: skip
    command.add_argument(
        "--prefix", type=Path, default=None, metavar="FOLDER",
        help="where Stretto is installed, or a build of it (default: the one in .venv)",
    )  # fmt: skip
    command.add_argument("--verbose", action="store_true", help="all that ranks say")
    command.add_argument("--quiet", action="store_true", help="only the table and what is amiss")
