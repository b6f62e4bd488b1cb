# SPDX-License-Identifier: BSD-3-Clause
"""What was seen in many trials, as tables in Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .attacks import Tally
from .judge import Verdict


@dataclass
class Row:
    """The trials of one kind."""

    jobs: int = 0
    seen: Verdict = field(default_factory=Verdict)
    amiss: int = 0  # jobs in which something was not as promised

    def add(self, verdict: Verdict, complaints: list[str]) -> None:
        self.jobs += 1
        self.amiss += bool(complaints)
        self.seen = self.seen + verdict


HEADINGS = (
    "jobs", "ranks", "killed", "errors", "slowest error", "went on", "slowest shrink", "left out",
    "calls checked", "wrong", "hangs", "amiss",
)  # fmt: skip


def table(rows: Mapping[str, Row]) -> str:
    total = Row()
    for row in rows.values():
        total.jobs += row.jobs
        total.amiss += row.amiss
        total.seen = total.seen + row.seen
    lines = [("what was done", *HEADINGS)]
    lines += [_cells(kind, row) for kind, row in rows.items()]
    lines.append(_cells("**all**", total))
    return _markdown(lines)


def _cells(kind: str, row: Row) -> tuple[str, ...]:
    seen = row.seen
    error = f"{seen.slowest_error:.1f} s" if seen.errors else "–"
    shrink = f"{seen.slowest_shrink:.1f} s" if seen.went_on + seen.left_out else "–"
    return (
        kind,
        *_numbers(row.jobs, seen.ranks, seen.killed, seen.errors),
        error,
        *_numbers(seen.went_on),
        shrink,
        *_numbers(seen.left_out, seen.calls, seen.wrong, seen.hangs, row.amiss),
    )


def _numbers(*counts: int) -> tuple[str, ...]:
    return tuple(f"{count:,}" for count in counts)


def attack_table(tallies: Mapping[str, Tally]) -> str:
    lines = [("attack", "connections", "refused", "never answered", "let in")]
    for name, tally in tallies.items():
        counts = (tally.made, tally.refused, tally.unanswered, tally.let_in)
        lines.append((name, *_numbers(*counts)))
    return _markdown(lines)


def _markdown(lines: list[tuple[str, ...]]) -> str:
    lines.insert(1, ("---", *("---:" for _ in lines[0][1:])))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
