# SPDX-License-Identifier: BSD-3-Clause
"""Tables and JSON, the same way in every command."""

from __future__ import annotations

import json
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table


def console() -> Console:
    """Standard output, as wide as a table needs if it is not a terminal."""
    made = Console(highlight=False, soft_wrap=False)
    return made if made.is_terminal else Console(highlight=False, width=200)


def table(*columns: str, title: str | None = None) -> Table:
    """A table of these columns; those that begin with ">" hold numbers."""
    made = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for column in columns:
        number = column.startswith(">")
        made.add_column(
            column.lstrip(">"),
            justify="right" if number else "left",
            no_wrap=number,
            overflow="fold",  # what is too long for the terminal is not cut off
        )
    return made


def write_json(path: str, value: Any) -> None:
    """To the file, or to standard output for "-"."""
    with click.open_file(path, "w") as file:
        file.write(json.dumps(value, indent=1) + "\n")
