# SPDX-License-Identifier: BSD-3-Clause
"""The command `stretto`."""

from __future__ import annotations

import sys

import click

from stretto import Error, __version__
from stretto.cli.lazy_group import Lazy, LazyGroup

# Commands whose work grows with the square of the number of ranks.
IN_MEMORY = ("draw", "explain", "show", "simulate", "verify")


COMMANDS = {
    "bench": Lazy("stretto.cli.bench:bench", "Times a collective, and checks its results."),
    "config": Lazy(
        "stretto.cli.config:config",
        "Prints where the library, its header and its CMake package are.",
    ),
    "draw": Lazy("stretto.cli.draw:draw", "Draws schedules as time diagrams."),
    "explain": Lazy(
        "stretto.cli.explain:explain",
        "Shows which algorithm would run a call, and why not the others.",
    ),
    "info": Lazy("stretto.cli.info:info", "Shows this build, this machine and all settings."),
    "list": Lazy("stretto.cli.listing:list_command", "Lists the algorithms and what they declare."),
    "metrics": Lazy("stretto.cli.metrics:metrics", "Prints metrics of a job for Prometheus."),
    "mpi": Lazy("stretto.cli.mpi:mpi", "Runs an MPI program with the collectives of Stretto."),
    "report": Lazy(
        "stretto.cli.report:report",
        "Shows which ranks come late to which calls, and what it costs.",
    ),
    "run": Lazy("stretto.cli.run:run", "Runs a command as N ranks of one job."),
    "secret": Lazy("stretto.cli.secret:secret", "Writes a new secret, for jobs on several hosts."),
    "show": Lazy(
        "stretto.cli.show:show", "Prints what each rank of a schedule sends, receives and reduces."
    ),
    "simulate": Lazy(
        "stretto.cli.simulate:simulate",
        "Shows when each rank of a schedule is done, in a model of time.",
    ),
    "trace": Lazy(
        "stretto.cli.trace:trace",
        "Shows what the ranks of a job did, and for whom they waited.",
    ),
    "tune": Lazy(
        "stretto.cli.tune:tune", "Measures this machine, for a profile by which jobs choose."
    ),
    "verify": Lazy("stretto.cli.verify:verify", "Proves algorithms, for every timing."),
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
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
