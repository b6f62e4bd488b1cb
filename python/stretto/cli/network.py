# SPDX-License-Identifier: BSD-3-Clause
"""The network model in which `simulate` and `draw` play schedules, and the late ranks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import click

from stretto import _core
from stretto.cli.catalog import Named, schedule_of
from stretto.cli.patterns import PATTERN, Pattern
from stretto.cli.sharing import Sharing, sharing_options
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
    """The parameters of a simulation beside the schedule."""

    size: int
    """Bytes of the vector."""
    element: int
    alpha: float
    beta: float
    gamma: float
    mode: str
    late: tuple[str, ...]
    pattern: Pattern | None
    sorted: bool
    """Positions are ranks in the order of their arrival."""
    sharing: Sharing

    def arrivals(self, ranks: int) -> list[float]:
        """Seconds at which each rank arrives."""
        times = self.pattern.arrivals(ranks) if self.pattern else [0.0] * ranks
        for each in self.late:
            rank, delay = parse_late(each, ranks)
            times[rank] = delay
        return times

    def schedule(self, text: str, collective: str | None, ranks: int, root: int) -> Named:
        """As `schedule_of`, with the root at its place; a pre-reduced ring, if sorted, with the
        steps that fit."""
        if self.sorted and root < ranks:
            root = self.order(ranks).index(root)
        where = self.sharing.topology(ranks)
        if self.sorted:
            where = where.ordered(self.order(ranks))
        if not self.sorted or text != "pre_reduced_ring":
            return schedule_of(text, collective, ranks, root, where)
        costs = (self.alpha, self.beta, self.gamma)
        steps = _core.early_steps(sorted(self.arrivals(ranks)), self.size, *costs)
        ahead = "x".join(map(str, steps))
        return replace(schedule_of(f"{text}(ahead={ahead})", collective, ranks, root), text=text)

    def on_hosts_of(self, schedule: _core.Schedule) -> Model:
        """Where a schedule of a file says that its ranks are, unless the options say it."""
        if self.sharing.shares_hosts or not schedule.topology:
            return self
        return replace(self, sharing=replace(self.sharing, hosts=str(schedule.topology)))

    def order(self, ranks: int) -> list[int]:
        """The rank of each position."""
        arrivals = self.arrivals(ranks)
        return sorted(range(ranks), key=arrivals.__getitem__) if self.sorted else list(range(ranks))

    def play(
        self, schedule: _core.Schedule, events: bool = False, grid: tuple[int, int] | None = None
    ) -> dict[str, Any]:
        """What happens, by rank.

        events: what ports and processors do, one by one.
        grid: (rows, columns): ``occupancy`` tells how much of the time they do it, 0 to 1, in as
        many rows of as many ranks as that makes, and columns of equal parts of the makespan; three
        memoryviews of that shape: in-ports with what is reduced, with all else; processors.
        """
        ranks = schedule.ranks
        rows, columns = grid or (0, 0)
        count = max(1, self.size // self.element)
        order = self.order(ranks)

        def placed(of_ranks: list[Any]) -> list[Any]:
            return [of_ranks[rank] for rank in order] if of_ranks else []

        racks = self.sharing.racks_of(ranks)
        result = schedule.simulate(
            count, self.element, placed(self.arrivals(ranks)), self.alpha, self.beta, self.gamma,
            self.mode, events, placed(self.sharing.hosts_of(ranks)),
            racks if self.sharing.shares_hosts else placed(racks), self.sharing.uplinks(),
            [rank * rows // ranks for rank in order] if grid else [], columns,
        )  # fmt: skip
        if grid:
            result["occupancy"] = [memoryview(each).cast("f", grid) for each in result["occupancy"]]
        finish = [0.0] * ranks
        for rank, end in zip(order, result["finish"], strict=True):
            finish[rank] = end
        for event in result.get("events", ()):
            event["from"], event["to"] = order[event["from"]], order[event["to"]]
        return {**result, "finish": finish}

    def bound(self, named: Named) -> dict[str, float] | None:
        """The lower bound of every allreduce, in seconds; none if it does not hold."""
        if named.collective != "allreduce" or self.mode == "eager":
            return None
        arrivals = self.arrivals(named.schedule.ranks)
        mean, last = _core.lower_bound(self.size, arrivals, self.alpha, self.beta)
        return {"mean_elapsed": mean, "last_finish": last}

    def parameters(self, ranks: int) -> dict[str, Any]:
        """For JSON."""
        return {
            "bytes": self.size, "alpha": self.alpha, "beta": self.beta, "gamma": self.gamma,
            "mode": self.mode, "arrivals": self.arrivals(ranks), "sorted": self.sorted,
            **self.sharing.parameters(ranks),
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
    """Gives the command `model`, of the options --bytes, --network, ... --late, --hosts."""

    def with_model(
        size: int,
        network: str | None,
        alpha: float | None,
        beta: float | None,
        gamma: float | None,
        late: tuple[str, ...],
        pattern: Pattern | None,
        in_order: bool,
        mode: str,
        hosts: str | None,
        per_host: int | None,
        placement: str,
        rack: int | None,
        oversubscribe: float,
        **rest: Any,
    ) -> Any:
        costs = PRESETS[network] if network else DEFAULT
        given = (alpha, beta, gamma)
        chosen = (own if own is not None else cost for own, cost in zip(given, costs, strict=True))
        sharing = Sharing(hosts, per_host, placement, rack, oversubscribe)
        model = Model(size, 4, *chosen, mode, late, pattern, in_order, sharing)
        return command(model=model, **rest)

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
        click.option(
            "--sorted",
            "in_order",
            is_flag=True,
            help="Ranks take places in the order of their arrival.",
        ),
        click.option(
            "--pattern",
            type=PATTERN,
            metavar="KIND:TIME",
            help="Ranks arrive late: one-late:50ms (rank 1), rand-late:50ms (all, up to that), "
            "rand-late:50ms:7 (by another seed) or ramp:50ms (one after the other).",
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
    return sharing_options(with_model)
