# SPDX-License-Identifier: BSD-3-Clause
"""The model of a network that `simulate` and `draw` play schedules in, and who is late in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from stretto import _core
from stretto.cli.units import SIZE, TIME, parse_seconds, show_seconds

MODES = ("posted", "arrived", "eager", "ordered")

# Seconds per message, per byte sent, per byte reduced: round numbers of their kind.
PRESETS = {
    "1gbe": (3e-5, 8e-9, 2e-10),
    "10gbe": (1.5e-5, 8e-10, 2e-10),
    "100gbe": (3e-6, 8e-11, 1e-10),
    "infiniband": (1.5e-6, 4e-11, 1e-10),
    "memory": (2e-7, 2.5e-11, 2.5e-11),
}
DEFAULT = (3e-5, 1e-8, 2e-10)


@dataclass(frozen=True)
class Model:
    """What a simulation needs besides the schedule."""

    size: int
    """Bytes of the vector."""
    element: int
    alpha: float
    beta: float
    gamma: float
    mode: str
    late: tuple[str, ...]

    def arrivals(self, ranks: int) -> list[float]:
        """Seconds at which each rank arrives."""
        times = [0.0] * ranks
        for each in self.late:
            rank, delay = parse_late(each, ranks)
            times[rank] = delay
        return times

    def play(self, schedule: _core.Schedule, events: bool = False) -> dict[str, Any]:
        count = max(1, self.size // self.element)
        arrivals = self.arrivals(schedule.ranks)
        costs = (self.alpha, self.beta, self.gamma)
        return schedule.simulate(count, self.element, arrivals, *costs, self.mode, events)

    def parameters(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "bytes": self.size, "alpha": self.alpha, "beta": self.beta, "gamma": self.gamma,
            "mode": self.mode,
        }  # fmt: skip

    def __str__(self) -> str:
        return (
            f"{show_seconds(self.alpha)} a message, {show_seconds(self.beta)} a byte sent, "
            f"{show_seconds(self.gamma)} a byte reduced"
        )


def parse_late(text: str, ranks: int) -> tuple[int, float]:
    """ "3:4ms": rank 3 arrives at 0.004 s."""
    rank, _, delay = text.partition(":")
    try:
        if int(rank) not in range(ranks):
            raise ValueError(f"there is no rank {rank} among {ranks}")
        return int(rank), parse_seconds(delay)
    except ValueError as error:
        raise click.BadParameter(f"'{text}': {error}; 3:4ms makes rank 3 late by 4 ms") from None


def network_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives the command `model`, of the options --bytes, --network, --alpha, ... --late, --mode."""

    def with_model(
        size: int,
        network: str | None,
        alpha: float | None,
        beta: float | None,
        gamma: float | None,
        late: tuple[str, ...],
        mode: str,
        **rest: Any,
    ) -> Any:
        costs = PRESETS[network] if network else DEFAULT
        given = (alpha, beta, gamma)
        chosen = (own if own is not None else cost for own, cost in zip(given, costs, strict=True))
        return command(model=Model(size, 4, *chosen, mode, late), **rest)

    with_model.__name__ = command.__name__
    with_model.__doc__ = command.__doc__
    with_model.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore
    for option in (
        click.option(
            "--mode",
            type=click.Choice(MODES),
            default="posted",
            show_default=True,
            help="When a message may start.",
        ),
        click.option("--late", multiple=True, metavar="RANK:TIME", help="This rank arrives late."),
        click.option("--gamma", type=TIME, help="Time of a byte reduced.  [default: 0.2ns]"),
        click.option("--beta", type=TIME, help="Time of a byte sent.  [default: 10ns]"),
        click.option("--alpha", type=TIME, help="Time of a message.  [default: 30us]"),
        click.option(
            "--network",
            type=click.Choice(list(PRESETS)),
            help="Sets alpha, beta and gamma to round numbers of this kind of network.",
        ),
        click.option(
            "--bytes", "size", type=SIZE, default="1M", show_default=True, help="The vector."
        ),
    ):
        with_model = option(with_model)
    return with_model
