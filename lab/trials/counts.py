# SPDX-License-Identifier: BSD-3-Clause
"""The results of many trials, as tables in Markdown."""

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
    failed: int = 0  # jobs with a failed check

    def add(self, verdict: Verdict, complaints: list[str]) -> None:
        self.jobs += 1
        self.failed += bool(complaints)
        self.seen = self.seen + verdict


HEADINGS = (
    "jobs", "ranks", "killed", "errors", "slowest error", "continued", "slowest shrink", "excluded",
    "calls checked", "wrong", "hangs", "failed checks",
)  # fmt: skip


def table(rows: Mapping[str, Row]) -> str:
    total = Row()
    for row in rows.values():
        total.jobs += row.jobs
        total.failed += row.failed
        total.seen = total.seen + row.seen
    lines = [("failure", *HEADINGS)]
    lines += [_cells(kind, row) for kind, row in rows.items()]
    lines.append(_cells("**all**", total))
    return _markdown(lines)


def _cells(kind: str, row: Row) -> tuple[str, ...]:
    seen = row.seen
    error = f"{seen.slowest_error:.1f} s" if seen.errors else "–"
    shrink = f"{seen.slowest_shrink:.1f} s" if seen.continued + seen.excluded else "–"
    return (
        kind,
        *_numbers(row.jobs, seen.ranks, seen.killed, seen.errors),
        error,
        *_numbers(seen.continued),
        shrink,
        *_numbers(seen.excluded, seen.calls, seen.wrong, seen.hangs, row.failed),
    )


def _numbers(*counts: int) -> tuple[str, ...]:
    return tuple(f"{count:,}" for count in counts)


def attack_table(tallies: Mapping[str, Tally]) -> str:
    lines = [("attack", "connections", "refused", "unanswered", "accepted")]
    for name, tally in tallies.items():
        counts = (tally.made, tally.refused, tally.unanswered, tally.accepted)
        lines.append((name, *_numbers(*counts)))
    return _markdown(lines)


def _markdown(lines: list[tuple[str, ...]]) -> str:
    lines.insert(1, ("---", *("---:" for _ in lines[0][1:])))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
