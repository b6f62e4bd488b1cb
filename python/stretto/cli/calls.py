# SPDX-License-Identifier: BSD-3-Clause
"""The folder of reports that a command is given."""

from __future__ import annotations

from typing import Any

import click

from stretto import Error, _core
from stretto.cli.rank_files import files_of_job


def read_folder(folder: str, job: str | None = None) -> list[dict[str, Any]]:
    """The records of the ranks of one job.  If they cannot be read, the command ends."""
    found = []
    for rank, path in files_of_job(folder, ("calls",), "reports", "STRETTO_REPORT", job).items():
        try:
            about = _core.read_calls(str(path))
        except Error as error:
            raise click.ClickException(str(error)) from None
        first = found[0] if found else about
        if any(about[key] != first[key] for key in ("id", "ranks")) or about["rank"] != rank:
            raise click.ClickException(
                f"{path} is not what its name says: of another job, or another rank; copy it again"
            )
        found.append(about)
    return found
