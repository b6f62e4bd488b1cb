#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How many steps a rank takes to send a buffer that it has never sent from: registered as a whole
before the first slice goes, or slice by slice, each while the one before is on the wire.

A step is what one stage does with one slice: the sender registers it, the wire carries it, the
reader reduces it.  Each stage has one slice at a time, in order.  Stages that take longer than
others are given by --stages, in steps."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "bench"), str(ROOT / "bench/hosts")]

from paper_page import put  # noqa: E402

PAGE = ROOT / "docs/papers/ueno-fukuda.md"
BEGIN = "<!-- registration: written by bench/hosts/registration_steps.py --page -->"
END = "<!-- registration: end -->"
HEADER = ["slices", "register:wire:reduce", "known", "first touch", "up front", "in one piece",
          "up front ÷ first touch"]  # fmt: skip


@dataclass(frozen=True)
class Stages:
    """Steps that a slice takes in each stage."""

    register: int = 1
    wire: int = 1
    reduce: int = 1

    def __str__(self) -> str:
        return f"{self.register}:{self.wire}:{self.reduce}"


SHAPES = [Stages(), Stages(1, 4, 2), Stages(2, 1, 1)]


def last_step(slices: int, stages: Sequence[int], ready: Sequence[int]) -> int:
    """When the last slice leaves the last stage, if slice i may enter the first at ready[i]."""
    free = [0] * len(stages)  # when each stage has done its last slice
    at = 0
    for each in range(slices):
        at = ready[each]
        for index, steps in enumerate(stages):
            at = free[index] = max(at, free[index]) + steps
    return at


def counted(slices: int, stages: Stages) -> dict[str, int]:
    """Steps until the last slice is reduced."""
    at_once = [0] * slices
    registered = slices * stages.register
    return {
        "known": last_step(slices, (stages.wire, stages.reduce), at_once),
        "first touch": last_step(slices, (stages.register, stages.wire, stages.reduce), at_once),
        "up front": last_step(slices, (stages.wire, stages.reduce), [registered] * slices),
        "in one piece": slices * (stages.register + stages.wire + stages.reduce),
    }


def line(slices: int, stages: Stages) -> str:
    steps = counted(slices, stages)
    ratio = steps["up front"] / steps["first touch"]
    return f"| {slices} | {stages} | {' | '.join(map(str, steps.values()))} | {ratio:.2f} |"


def table(counts: Sequence[int], shapes: Sequence[Stages]) -> list[str]:
    """Markdown."""
    head = [f"| {' | '.join(HEADER)} |", "|" + "---:|" * len(HEADER)]
    return head + [line(slices, stages) for stages in shapes for slices in counts]


def stages_of(text: str) -> Stages:
    """Of "2:1:1"."""
    return Stages(*map(int, text.split(":")))


def main(given: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--slices", type=int, nargs="+", default=[1, 4, 16, 64], help="(1 4 16 64)")
    add("--stages", type=stages_of, nargs="+", metavar="REGISTER:WIRE:REDUCE", default=SHAPES,
        help=" ".join(map(str, SHAPES)))  # fmt: skip
    add("--page", action="store_true", help=f"write the table into {PAGE.relative_to(ROOT)}")
    arguments = parser.parse_args(given)
    lines = table(arguments.slices, arguments.stages)
    print(*lines, sep="\n")
    if arguments.page:
        PAGE.write_text(put(PAGE.read_text(), "\n".join(lines), BEGIN, END))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
