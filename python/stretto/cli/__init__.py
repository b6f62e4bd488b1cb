# SPDX-License-Identifier: BSD-3-Clause
"""The command `stretto`."""

from __future__ import annotations

import sys

import click

from stretto import Error, __version__
from stretto.cli.lazy_group import LazyGroup

# Commands whose work grows with the square of the number of ranks.
IN_MEMORY = ("draw", "explain", "show", "simulate", "verify")


COMMANDS_IN = {
    "bench": "stretto.cli.bench:bench",
    "config": "stretto.cli.config:config",
    "draw": "stretto.cli.draw:draw",
    "explain": "stretto.cli.explain:explain",
    "info": "stretto.cli.info:info",
    "list": "stretto.cli.listing:list_command",
    "metrics": "stretto.cli.metrics:metrics",
    "mpi": "stretto.cli.mpi:mpi",
    "report": "stretto.cli.report:report",
    "run": "stretto.cli.run:run",
    "secret": "stretto.cli.secret:secret",
    "show": "stretto.cli.show:show",
    "simulate": "stretto.cli.simulate:simulate",
    "trace": "stretto.cli.trace:trace",
    "tune": "stretto.cli.tune:tune",
    "verify": "stretto.cli.verify:verify",
}


@click.group(
    cls=LazyGroup,
    commands_in=COMMANDS_IN,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
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


def main() -> None:
    """The entry point.  Errors of Stretto, of files and of memory end the command with one line and
    exit status 1."""
    if sys.argv[1:2] and sys.argv[1] in IN_MEMORY:
        from stretto.cli.limits import keep_to_memory

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
