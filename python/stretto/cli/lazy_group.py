# SPDX-License-Identifier: BSD-3-Clause
"""Commands of a group that are imported when they are used: so `stretto run` starts without NumPy,
tables and pictures."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """Its command NAME is the attribute that `commands_in[NAME]` names, as "module:attribute"."""

    def __init__(self, *args: Any, commands_in: dict[str, str], **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._commands_in = commands_in

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._commands_in)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._commands_in:
            return None
        module, _, attribute = self._commands_in[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command
