# SPDX-License-Identifier: BSD-3-Clause
"""How far the training is: a bar on a terminal, else a line now and then."""

from __future__ import annotations

import rich.progress
from rich.console import Console

LINES = 5


class Progress:
    """Called after each step with the batch's loss and accuracy."""

    def __init__(self, console: Console, steps: int):
        self._console = console
        self._steps = steps
        self._done = 0
        self._bar = rich.progress.Progress(
            rich.progress.TextColumn("training"),
            rich.progress.BarColumn(),
            rich.progress.MofNCompleteColumn(),
            rich.progress.TextColumn("{task.description}"),
            rich.progress.TimeElapsedColumn(),
            console=console,
            disable=console.quiet or not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=steps)

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(self, *_) -> None:
        self._bar.stop()

    def __call__(self, loss: float, accuracy: float) -> None:
        self._done += 1
        said = f"loss {loss:.3f}, batch accuracy {accuracy:4.0%}"
        self._bar.update(self._task, completed=self._done, description=said)
        every = max(1, self._steps // LINES)
        if not self._console.is_terminal and self._done % every == 0:
            self._console.print(f"step {self._done:>5}/{self._steps}  {said}")
