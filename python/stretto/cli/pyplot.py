# SPDX-License-Identifier: BSD-3-Clause
"""Matplotlib, which only pictures need."""

from __future__ import annotations

from typing import Any

import click


def pyplot() -> tuple[Any, Any]:
    """Matplotlib's pyplot and Matplotlib itself.  They take a second to load, so only a command
    that draws calls this.  If Matplotlib is not installed, the command ends and says how to install
    it."""
    try:
        import matplotlib
    except ImportError:
        raise click.ClickException(
            "pictures need Matplotlib: pip install 'stretto[bench]' or pip install matplotlib"
        ) from None
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    return plt, matplotlib


def save(figure: Any, title: str, path: str) -> None:
    """Writes a figure under a title as PNG, and closes it."""
    plt, _ = pyplot()
    figure.suptitle(title, x=0.01, ha="left", fontsize=10)
    figure.savefig(path, dpi=130)
    plt.close(figure)
