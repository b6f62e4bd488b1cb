# SPDX-License-Identifier: BSD-3-Clause
"""Prometheus' text format, version 0.0.4: what node_exporter's textfile collector reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class Family:
    """A metric, with a value for each set of labels."""

    name: str
    kind: str
    """ "gauge" or "counter"."""
    meaning: str
    samples: list[tuple[dict[str, str], float]] = field(default_factory=list)

    def add(self, labels: dict[str, str], value: float) -> None:
        self.samples.append((labels, value))


def text(families: Iterable[Family]) -> str:
    """The content of a file; a family without samples is left out."""
    lines = []
    for each in families:
        if not each.samples:
            continue
        lines.append(f"# HELP {each.name} {escaped(each.meaning)}")
        lines.append(f"# TYPE {each.name} {each.kind}")
        for labels, value in each.samples:
            inside = ",".join(f'{name}="{quoted(text)}"' for name, text in labels.items())
            lines.append(f"{each.name}{{{inside}}} {value:.9g}")
    return "\n".join([*lines, ""])


def escaped(words: str) -> str:
    return words.replace("\\", r"\\").replace("\n", r"\n")


def quoted(words: str) -> str:
    return escaped(words).replace('"', r"\"")
