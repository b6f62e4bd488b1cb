# SPDX-License-Identifier: BSD-3-Clause
"""`stretto run`: starts ranks on this host."""

from __future__ import annotations

import os
import sys
import tempfile

import click

from stretto.cli.launcher import Options, launch


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("-n", "--ranks", type=click.IntRange(1, 4096), required=True, help="How many ranks.")
@click.option("--prefix/--no-prefix", default=True, help="Put the rank before each line of output.")
@click.option("--pin", is_flag=True, help="Keep rank r on core r mod cores.")
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a rank may take to end before it is killed.",
)
@click.option("--keep-going", is_flag=True, help="If a rank fails, the others are not ended.")
@click.option(
    "--report", is_flag=True, help="Print at the end which ranks came late to which calls."
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(
    ranks: int,
    prefix: bool,
    pin: bool,
    grace: float,
    keep_going: bool,
    report: bool,
    command: tuple[str, ...],
) -> None:
    """Runs COMMAND as N ranks of one job.

    \b
    stretto run -n 4 python train.py --epochs 3
    stretto run -n 2 --pin ./a.out

    Rank 0 reads the standard input, the others have none.  The first rank that fails ends the job:
    it is named, the others are asked to end (SIGTERM) and after a while killed (not so with
    --keep-going), and its exit status is that of this command (128 + the signal's number if a
    signal ended it).  SIGINT, SIGTERM and
    SIGHUP are passed on to all ranks and their children; a second one kills.

    --report shows what `stretto report` says of the job (not so if STRETTO_REPORT is set: then the
    ranks write to the folder that it names).

    If STRETTO_FAKE_HOSTS is set and STRETTO_ADDR is not, a free port of this host is chosen for the
    ranks to meet at, and a secret if there is none.

    Each rank finds STRETTO_RANK, STRETTO_SIZE, STRETTO_LOCAL_RANK, STRETTO_LOCAL_SIZE and
    STRETTO_JOB in its environment.
    """
    options = Options(ranks, prefix, pin, grace, keep_going)
    sys.exit(reported(command, options) if report else launch(command, options))


def reported(command: tuple[str, ...], options: Options) -> int:
    """Runs it, and shows its `stretto report`; also if it failed."""
    with tempfile.TemporaryDirectory(prefix="stretto-report-") as folder:
        kept = os.environ.setdefault("STRETTO_REPORT", folder)
        status = launch(command, options)
        if kept == folder and not os.listdir(folder):
            click.echo("stretto run: no rank has made a communicator: nothing to report", err=True)
        elif kept == folder:
            from stretto.cli.report import show_folder

            show_folder(folder)
        else:
            click.echo(f"stretto run: `stretto report {kept}` shows the report", err=True)
    return status
