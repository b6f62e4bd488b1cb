# SPDX-License-Identifier: BSD-3-Clause
"""Writes the metrics of a job into a folder again and again, by one process of each folder."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from stretto import _core
from stretto.errors import Error
from stretto.metrics.measured import Measured
from stretto.metrics.text import text


class Records:
    """The reports of a job in a folder, with what is new in them."""

    def __init__(self, folder: Path, job: str):
        self._folder = folder
        self._name = re.compile(rf"stretto-{job}-rank-\d+\.calls")
        # Of each file, when the newest call began at the last look, and at the one before: a call
        # that runs at a look is read again at the next.
        self._newest: dict[Path, tuple[int, int]] = {}

    def read(self) -> list[dict[str, Any]]:
        """As `_core.read_calls` has them.  A report that is not complete yet is left out."""
        found = []
        for path in sorted(self._folder.iterdir()):
            if not self._name.fullmatch(path.name):
                continue
            last, before = self._newest.get(path, (0, 0))
            try:
                about = _core.read_calls(str(path), before)
            except Error:
                continue
            begun = (call[1] for kind in about["kinds"] for call in kind["kept"])
            self._newest[path] = (max(begun, default=last), last)
            found.append(about)
        return found


class Writer:
    """Writes the file of one job.

    reports: the folder with what its ranks record.  job: its id, as in the names of these files.
    hosts: whose ranks are written; all ranks are compared.  None: all.
    """

    def __init__(
        self,
        reports: str | os.PathLike[str],
        folder: str | os.PathLike[str],
        job: str,
        hosts: Collection[str] | None = None,
    ):
        self._records, self._hosts = Records(Path(reports), job), hosts
        self._measured = Measured()
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        where = f"-{'-'.join(sorted(hosts))}" if hosts else ""
        self.path = self._folder / f"stretto-{job}{where}.prom"
        self._lock_path = self.path.with_suffix(".lock")
        self._lock: int | None = None

    def owns(self) -> bool:
        """Whether this process writes the file: the first to ask does, as long as it lives."""
        if self._lock is None:
            lock = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(lock)
                return False
            self._lock = lock
        return True

    def write(self) -> str:
        """Writes the file at once, so that no reader finds a part of it; returns its content."""
        content = text(self._measured.look(self._records.read(), self._hosts))
        part = self.path.with_suffix(".part")
        part.write_text(content)
        part.replace(self.path)
        return content

    def remove(self) -> None:
        """Of a job that ends: nobody takes its last metrics for those of a running job."""
        if self._lock is None:
            return
        self.path.unlink(missing_ok=True)
        self._lock_path.unlink(missing_ok=True)
        os.close(self._lock)
        self._lock = None
