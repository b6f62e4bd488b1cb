# SPDX-License-Identifier: BSD-3-Clause
"""`stretto metrics`: times of calls and late ranks for Prometheus, of any job that records them."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import click

from stretto.cli.rank_files import files_of_job
from stretto.metrics import Writer
from stretto.metrics.measured import Measured
from stretto.metrics.text import text
from stretto.metrics.writer import Records


@click.command()
@click.argument("folder", metavar="DIR")
@click.option(
    "--to", "target", metavar="DIR", help="Write a file into this folder, again and again."
)
@click.option("--every", type=click.FloatRange(0.1), default=30.0, show_default=True,
              help="Seconds from one time to the next.")  # fmt: skip
@click.option("--job", metavar="ID", help="Which, if the folder has reports of several.")
def metrics(folder: str, target: str | None, every: float, job: str | None) -> None:
    """Prints metrics of a job for Prometheus, from the reports that its ranks write.

    \b
    STRETTO_REPORT=late mpirun -n 4 ... ./program &
    stretto metrics late
    stretto metrics late --to /var/lib/node_exporter/stretto

    With --to it goes on until it is interrupted, and removes the file.  Programs that begin with
    `stretto.init` write metrics themselves if STRETTO_METRICS is set (docs/metrics.md).
    """
    chosen = next(iter(files_of_job(folder, ("calls",), "reports", "STRETTO_REPORT", job).values()))
    number = chosen.name.split("-")[1]
    if target is None:
        click.echo(text(Measured().look(Records(Path(folder), number).read())), nl=False)
        return
    writer = Writer(folder, target, number)
    if not writer.owns():
        raise click.ClickException(f"another process writes {writer.path}; stop it first")
    over = threading.Event()
    for number_of_signal in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number_of_signal, lambda *_: over.set())
    try:
        while not over.is_set():
            writer.write()
            over.wait(every)
    finally:
        writer.remove()
