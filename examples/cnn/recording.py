# SPDX-License-Identifier: BSD-3-Clause
"""What the steps of a training took, kept as JSON: `train.py --record` writes it, and
bench/hosts/training.py plays it again."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

KIND = "stretto training steps 1"


@dataclass(frozen=True)
class Recording:
    """Steps of one rank alone."""

    parameters: int
    batch: int
    seconds: list[tuple[float, float]]
    """Of each step: from its beginning to the edge, and from there to its end."""
    made: dict[str, Any]
    """When, where and how: date, cpu, cores, threads, torch, images."""

    @property
    def fraction(self) -> float:
        """Of a step, on the average, that is done at the edge."""
        return sum(before for before, _ in self.seconds) / sum(map(sum, self.seconds))

    @property
    def mean(self) -> float:
        """Seconds of a step."""
        return sum(map(sum, self.seconds)) / len(self.seconds)


def write(recording: Recording, path: Path) -> None:
    fields = asdict(recording)
    steps = fields.pop("seconds")
    head = json.dumps({"kind": KIND, **fields}, indent=1)
    # A line for each step.
    lines = ",\n".join(f"  [{before:.6f}, {after:.6f}]" for before, after in steps)
    path.write_text(f'{head[:-2]},\n "seconds": [\n{lines}\n ]\n}}\n')


def read(path: Path) -> Recording:
    """Raises OSError if there is no such file, and ValueError that says what is wrong with it."""
    try:
        found = json.loads(path.read_text())
        if not isinstance(found, dict) or found.pop("kind", None) != KIND:
            raise ValueError(f'it does not say "kind": "{KIND}"')
        steps = [(float(before), float(after)) for before, after in found.pop("seconds")]
        if not steps:
            raise ValueError("it has no steps")
        for number, step in enumerate(steps):
            if not all(math.isfinite(each) and each >= 0 for each in step) or sum(step) == 0:
                raise ValueError(f"step {number} takes {step[0]} and {step[1]} s")
        recording = Recording(seconds=steps, **found)
        for name in ("parameters", "batch"):
            value = getattr(recording, name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} is {value}")
        if not isinstance(recording.made, dict):
            raise ValueError(f"made is {recording.made}")
        return recording
    except (ValueError, TypeError, KeyError) as error:
        what = f"it has no {error}" if isinstance(error, KeyError) else error
        remedy = "examples/cnn/train.py --record writes one"
        raise ValueError(f"{path} is no recording of training steps: {what}; {remedy}") from error
