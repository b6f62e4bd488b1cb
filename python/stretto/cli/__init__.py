# SPDX-License-Identifier: BSD-3-Clause
"""The command `stretto`."""

from __future__ import annotations

import sys

import click

from stretto import Error, __version__
from stretto.cli.arrival import arrival
from stretto.cli.bench import bench
from stretto.cli.config import config
from stretto.cli.draw import draw
from stretto.cli.explain import explain
from stretto.cli.info import info
from stretto.cli.limits import keep_to_memory
from stretto.cli.listing import list_command
from stretto.cli.matching import matching
from stretto.cli.metrics import metrics
from stretto.cli.mpi import mpi
from stretto.cli.pairs import pairs
from stretto.cli.report import report
from stretto.cli.run import run
from stretto.cli.secret import secret
from stretto.cli.show import show
from stretto.cli.simulate import simulate
from stretto.cli.trace import trace
from stretto.cli.tune import tune
from stretto.cli.verify import verify

# Commands whose work grows with the square of the number of ranks.
IN_MEMORY = ("draw", "explain", "show", "simulate", "verify")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="stretto %(version)s")
def cli() -> None:
    """Collectives that do not wait.

    \b
    stretto run -n 4 python train.py                 start ranks on this host
    stretto mpi mpirun -n 4 ./program                run the collectives of an MPI program
    stretto list                                     the algorithms and what they promise
    stretto verify ring direct --ranks 1:64          prove them
    stretto explain --ranks 8 --bytes 1M             which one runs a call, and why
    stretto simulate ring --ranks 8 --late 3:4ms     when each rank is done
    stretto draw ring direct --ranks 4 -o out.svg    their messages in time, as a picture
    stretto bench -n 4 --sizes 4:64M --plot out.png  measure on this machine
    stretto tune -n 4 -o here.json                   a profile that jobs on it choose by
    stretto info                                     this machine, and all settings
    stretto secret                                   for jobs on several hosts
    stretto trace merge DIR -o all.json              what the ranks did, for Perfetto
    stretto report DIR                               which ranks come late to which calls
    stretto metrics DIR                              the same for Prometheus, while the job runs
    """


for command in (
    run, mpi, list_command, verify, explain, simulate, draw, show, bench, tune, info, config,
    secret, trace, report, metrics,
):  # fmt: skip
    cli.add_command(command)
bench.add_command(arrival)
bench.add_command(matching)
bench.add_command(pairs)


def main() -> None:
    """The entry point.  Errors of Stretto, of files and of memory end the command with one line and
    exit status 1."""
    if sys.argv[1:2] and sys.argv[1] in IN_MEMORY:
        keep_to_memory()
    try:
        cli(prog_name="stretto")
    except Error as error:
        why = str(error)
    except MemoryError:
        why = "this takes more memory than there is; fewer ranks (--ranks) take less"
    except OSError as error:
        if error.filename is None:
            raise
        why = f"'{error.filename}': {error.strerror}"
    click.echo(f"stretto: {why}", err=True)
    sys.exit(1)
