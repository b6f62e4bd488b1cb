# SPDX-License-Identifier: BSD-3-Clause
"""Checks that a trial's ranks ended as promised to users."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields

from . import views
from .crew import Event, Rank
from .trial import Trial


@dataclass
class Verdict:
    ranks: int = 0
    killed: int = 0
    errors: int = 0  # calls that ended with one
    continued: int = 0  # ranks that ended in a communicator of the remaining ranks
    excluded: int = 0  # ranks that got ExcludedError
    slowest_error: float = 0.0  # seconds from the fault
    slowest_shrink: float = 0.0  # seconds
    calls: int = 0  # calls whose results were checked
    wrong: int = 0
    hangs: int = 0

    def __add__(self, other: Verdict) -> Verdict:
        """The verdict on both trials together."""
        sums = {
            each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)
        }
        for name in ("slowest_error", "slowest_shrink"):
            sums[name] = max(getattr(self, name), getattr(other, name))
        return Verdict(**sums)


def judge(trial: Trial) -> Verdict:
    """Counts what was seen; failed checks are added to the trial's complaints."""
    verdict = Verdict(ranks=len(trial.crew.ranks), hangs=trial.hangs)
    complain = trial.complaints.append
    for rank in trial.crew:
        _count(verdict, trial, rank)
        for event in rank.all("wrong"):
            complain(f"{rank.name}: wrong answer: {' '.join(event.fields)}")
        for event in rank.all("failed"):
            _judge_error(trial, rank, event)
        if rank.killed:
            continue
        if rank.ended and rank.process.returncode != 0:
            complain(f"{rank.name} ended with status {rank.process.returncode}: {rank.errors}")
        elif rank.errors:
            complain(f"{rank.name} says on standard error: {rank.errors.strip()}")
    trial.complaints += views.contradictions(trial.crew)
    if not trial.hangs:
        _judge_which_ranks_continue(trial)
    return verdict


def _count(verdict: Verdict, trial: Trial, rank: Rank) -> None:
    verdict.killed += rank.killed
    verdict.errors += len(rank.all("failed"))
    verdict.wrong += len(rank.all("wrong"))
    verdict.excluded += rank.said("outside") and not rank.killed
    verdict.continued += rank.said("shrunk") and rank.said("ended")
    last = rank.last("ended") or rank.last("failed")
    verdict.calls += int(last.fields[0]) if last else 0
    for event in rank.all("failed"):
        since = _since(trial, rank, event)
        verdict.slowest_error = max(verdict.slowest_error, since or 0.0)
    for before, after in zip(rank.events, rank.events[1:]):
        if before.what == "failed" and after.what in ("shrunk", "outside"):
            verdict.slowest_shrink = max(verdict.slowest_shrink, after.when - before.when)


def _since(trial: Trial, rank: Rank, event: Event) -> float | None:
    """Seconds since the last fault; for a frozen rank, since its thaw.  None: no fault."""
    times = [fault.began for fault in trial.world.done]
    if rank.host in trial.world.thawed_at:
        times.append(trial.world.thawed_at[rank.host])
    before = [when for when in times if when <= event.when]
    return event.when - max(before) if before else None


def _judge_error(trial: Trial, rank: Rank, event: Event) -> None:
    _, during, _, message = event.fields
    since = _since(trial, rank, event)
    if since is None or trial.harmless:
        trial.complaints.append(f"{rank.name} failed although nothing was wrong: {message}")
        return
    deadlines = trial.ground.deadlines
    limit = deadlines.starting if during == "init" else deadlines.running
    if since > limit:
        trial.complaints.append(f"{rank.name} failed only after {since:.1f} s: {message}")
    lacks = [name for name, present in _contents(during, message) if not present]
    if lacks:
        trial.complaints.append(f"{rank.name}: the error names no {', '.join(lacks)}: {message}")


def _contents(during: str, message: str) -> list[tuple[str, bool]]:
    """The facts that an error must name, and whether it names them."""
    wanted = {
        "rank": r"\brank \d|\brank\(s\) \d|the rank that speaks for h\d",
        "host": r"\bh\d|\b10\.83\.0\.\d",
    }
    if during.startswith("exchange"):
        wanted.update(operation=r"\b(send|recv|message)\b", bytes=r"\d bytes done")
    elif during != "init":
        operation = during.split()[0].removeprefix("i")
        wanted.update(operation=operation, call=r"\bcall \d", bytes=r"\d bytes done")
    return [(name, re.search(pattern, message) is not None) for name, pattern in wanted.items()]


def _judge_which_ranks_continue(trial: Trial) -> None:
    """Ranks that reach one another and are a majority continue; if they are the only group, all of
    them do.  In a job that could not begin, no rank continues."""
    everybody = range(len(trial.crew.ranks))
    able = [each for each in trial.candidates if views.is_quorum(each, everybody)]
    if (
        trial.mended
        or not able
        or not all(trial.crew.ranks[rank].said("joined") for rank in able[0])
    ):
        return
    going = {rank.rank for rank in trial.crew if rank.said("ended")}
    if not going:
        trial.complaints.append(f"no rank continues, but {sorted(able[0])} could")
    elif trial.exact and len(trial.candidates) == 1 and not able[0] <= going:
        missing = sorted(able[0] - going)
        trial.complaints.append(f"ranks {missing} do not continue with {sorted(going)}")
