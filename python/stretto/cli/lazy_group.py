# SPDX-License-Identifier: BSD-3-Clause
"""Commands of a group that are imported when they are used: so `stretto run` and `stretto --help`
start without NumPy, tables and pictures."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import click


class Lazy(NamedTuple):
    place: str
    """Where the command is: "module:attribute"."""
    summary: str
    """What the help of its group says of it."""


class LazyGroup(click.Group):
    """A group of commands by their names."""

    def __init__(self, *args: Any, lazy: dict[str, Lazy], **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._lazy:
            return None
        module, _, attribute = self._lazy[cmd_name].place.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.summary) for name, each in self._lazy.items()])
