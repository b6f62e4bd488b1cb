# SPDX-License-Identifier: BSD-3-Clause
"""The algorithms of the library, as the commands name and choose them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from stretto import Error, _core
from stretto.cli.hosts import NOWHERE

COLLECTIVES = (
    "allreduce", "reduce", "broadcast", "reduce_scatter", "allgather", "gather", "scatter",
    "alltoall", "barrier",
)  # fmt: skip
REDUCING = ("allreduce", "reduce", "reduce_scatter")
ROOTED = ("reduce", "broadcast", "gather", "scatter")
# The types of elements, with their bytes.
DTYPES = {
    "float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "complex64": 8, "complex128": 16,
    "int8": 1, "int16": 2, "int32": 4, "int64": 8,
    "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8, "bool": 1,
}  # fmt: skip
# Operations whose results are the same for every order of operands.
EXACT = tuple(name for name in DTYPES if "int" in name or name == "bool")
MOST_RANKS = 64  # up to here properties are looked at


@dataclass(frozen=True)
class Choice:
    """An algorithm of a collective, perhaps with parameters: "segmented_ring(segments=4)"."""

    collective: str
    text: str

    @property
    def name(self) -> str:
        return self.text.partition("(")[0]

    def given(self) -> dict[str, str]:
        """The parameters in the text."""
        inside = self.text.partition("(")[2].rpartition(")")[0]
        pairs = (each.partition("=") for each in inside.split(",") if each.strip())
        return {name.strip(): value.strip() for name, _, value in pairs}

    def with_parameters(self, more: dict[str, str]) -> Choice:
        every = ",".join(f"{name}={value}" for name, value in {**self.given(), **more}.items())
        return Choice(self.collective, f"{self.name}({every})" if every else self.name)

    def parameters(self) -> dict[str, list[str]]:
        """Those that the algorithm has, with the names of their values (numbers have none)."""
        for each in _core.algorithms():
            if (each["collective"], each["name"]) == (self.collective, self.name):
                return {parameter["name"]: parameter["names"] for parameter in each["parameters"]}
        return {}

    def fits(self) -> bool:
        """Whether the algorithm has the parameters in the text, and their named values."""
        known = self.parameters()
        return all(
            name in known and (not known[name] or value in known[name])
            for name, value in self.given().items()
        )

    def runs(self, ranks: int, hosts: _core.Topology = NOWHERE) -> bool:
        return _core.declared(self.collective, self.text, ranks, hosts)[0]

    def schedule(
        self, ranks: int, root: int = 0, hosts: _core.Topology = NOWHERE
    ) -> _core.Schedule:
        return _core.schedule(self.collective, self.text, ranks, root, hosts)


def choose(texts: tuple[str, ...], collective: str | None) -> list[Choice]:
    """What the arguments name; everything if there are none."""
    known = [
        each
        for each in _core.algorithms()
        if collective is None or each["collective"] == collective
    ]
    if not texts:
        return [Choice(each["collective"], each["name"]) for each in known]
    choices = []
    for text in texts:
        name = text.partition("(")[0]
        matching = [Choice(each["collective"], text) for each in known if each["name"] == name]
        if not matching:
            names = ", ".join(dict.fromkeys(each["name"] for each in known))
            raise click.UsageError(f"there is no algorithm '{name}'; there are {names}")
        # Of several collectives with this name, those whose algorithm can have these parameters.
        able = [each for each in matching if each.fits()]
        choices += able or matching
    return choices


@dataclass(frozen=True)
class Named:
    """A schedule with the name that the user gave."""

    collective: str
    text: str
    schedule: _core.Schedule


def schedule_of(
    text: str,
    collective: str | None,
    ranks: int,
    root: int,
    hosts: _core.Topology = NOWHERE,
) -> Named:
    """The schedule of an algorithm for this many ranks on these hosts, or of a JSON file, which has
    its own."""
    if text.endswith(".json"):
        schedule = read_schedule(Path(text))
        return Named(schedule.collective, Path(text).stem, schedule)
    choice = choose_one(text, collective)
    return Named(choice.collective, choice.text, choice.schedule(ranks, root, hosts))


def read_schedule(path: Path) -> _core.Schedule:
    try:
        return _core.schedule_from_json(path.read_text())
    except (Error, OSError, UnicodeDecodeError) as error:
        raise click.ClickException(f"{path}: {error}") from None


def choose_one(text: str, collective: str | None) -> Choice:
    """As `choose`; of several collectives that have the name, the first (allreduce)."""
    return choose((text,), collective)[0]


def properties(entry: dict[str, Any]) -> dict[str, list[int]]:
    """For each property of an algorithm, the numbers of ranks (to 64) for which it is declared."""
    names = ("runs", "order_preserving", "consistent", "canonical")
    result: dict[str, list[int]] = {name: [] for name in names}
    for ranks in range(1, MOST_RANKS + 1):
        declared = _core.declared(entry["collective"], entry["name"], ranks)
        for name, holds in zip(names, declared, strict=True):
            if holds and declared[0]:
                result[name].append(ranks)
    return result


def collective_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--collective",
        type=click.Choice(COLLECTIVES),
        help="Only algorithms of this collective.",
    )(command)
