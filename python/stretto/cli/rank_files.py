# SPDX-License-Identifier: BSD-3-Clause
"""Files that the ranks of a job write into a folder: those of one job, one for each rank."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import click


def files_of_job(
    folder: str, endings: Sequence[str], what: str, setting: str, job: str | None = None
) -> dict[int, Path]:
    """By rank.  Of a rank's files the one with the first of these endings counts; `what` they are
    ("traces"), and the setting by which jobs write them, are for errors, which end the command."""
    name = re.compile(rf"stretto-([0-9a-f]{{8}})-rank-(\d+)\.({'|'.join(endings)})")
    try:
        files = sorted(path for path in Path(folder).iterdir() if name.fullmatch(path.name))
    except OSError as error:
        raise click.ClickException(f"cannot look into {folder}: {error.strerror}") from None
    if not files:
        raise click.ClickException(
            f"there are no {what} in {folder}; a job that runs with {setting}={folder} writes them"
        )
    jobs: dict[str, dict[int, Path]] = {}
    for path in files:
        found = name.fullmatch(path.name)
        assert found is not None
        ranks = jobs.setdefault(found[1], {})
        if found[3] == endings[0] or int(found[2]) not in ranks:
            ranks[int(found[2])] = path
    chosen = [each for each in jobs if job is None or each == job]
    if not chosen:
        raise click.ClickException(
            f"there are no {what} of a job {job} in {folder}: {listed(jobs)}"
        )
    if len(chosen) > 1:
        raise click.ClickException(
            f"{folder} has {what} of {len(jobs)} jobs: {listed(jobs)}; choose one with --job, or "
            "give each job a folder of its own"
        )
    return dict(sorted(jobs[chosen[0]].items()))


def listed(jobs: dict[str, dict[int, Path]]) -> str:
    return ", ".join(f"{job} ({len(ranks)} ranks)" for job, ranks in jobs.items())
