# SPDX-License-Identifier: BSD-3-Clause
"""Metrics for Prometheus: how long calls take, and which ranks come late (docs/metrics.md).

    STRETTO_METRICS=/var/lib/node_exporter/stretto stretto run -n 4 python train.py

A thread of one rank on each host writes a file into the folder every STRETTO_METRICS_INTERVAL
seconds.  It reads what the ranks record of their calls, and touches no communicator.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from pathlib import Path
from typing import Any

from stretto import _core
from stretto.communicator import Communicator
from stretto.errors import Error
from stretto.metrics.writer import Writer

__all__ = ["Thread", "Writer", "start", "start_by_settings"]


class Thread:
    """Writes the metrics of this process's job until the communicator or the process ends."""

    def __init__(self, comm: Communicator, writer: Writer, interval: float, report: Path | None):
        self._comm, self._writer, self._interval = weakref.ref(comm), writer, interval
        self._report = report
        self._pid = os.getpid()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stretto-metrics", daemon=True)
        self._thread.start()
        atexit.register(self.stop)

    def _run(self) -> None:
        while not self._over.wait(self._interval):
            comm = self._comm()
            if comm is None or comm.finalized:
                break
            del comm
            try:
                if self._writer.owns():
                    self._writer.write()
            except OSError:  # a folder that is full now, or gone, may be back the next time
                continue
        self._remove()

    def stop(self) -> None:
        """Ends the thread, and removes its file."""
        if os.getpid() == self._pid:  # and not a child that this process has forked
            self._over.set()
            self._thread.join()

    def _remove(self) -> None:
        atexit.unregister(self.stop)
        self._writer.remove()
        if self._report is not None:
            self._report.unlink(missing_ok=True)


def start(
    comm: Communicator,
    reports: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    interval: float = 30.0,
    keep_reports: bool = True,
) -> Thread | None:
    """Writes metrics of the job of `comm` into a folder, every `interval` seconds.

    reports: the folder that STRETTO_REPORT names.  keep_reports: that of this rank stays when the
    job ends.  Local; where several ranks of a host call it, one of them writes.  None: this rank
    has no report, as that of a job of one rank.  Raises OSError if the folder cannot be made.
    """
    found = own_report(Path(reports), comm.rank)
    if found is None:
        return None
    path, about = found
    job = path.name.split("-")[1]
    writer = Writer(reports, folder, job, {about["host"]})
    return Thread(comm, writer, interval, None if keep_reports else path)


def start_by_settings(comm: Communicator) -> Thread | None:
    """What `stretto.init` does for STRETTO_METRICS."""
    settings = {each.name: each for each in comm.settings()}
    folder = settings["STRETTO_METRICS"].value
    if not folder:
        return None
    reports = settings["STRETTO_REPORT"].value
    interval = settings["STRETTO_METRICS_INTERVAL"].number * 1e-9
    return start(comm, reports or folder, folder, interval, keep_reports=bool(reports))


def own_report(folder: Path, rank: int) -> tuple[Path, dict[str, Any]] | None:
    """The file of this process's rank, and what is in it."""
    files = folder.glob(f"stretto-*-rank-{rank}.calls")
    for path in sorted(files, key=lambda each: each.stat().st_mtime, reverse=True):
        try:
            about = _core.read_calls(str(path), 1 << 62)
        except Error:  # of another version
            continue
        if about["pid"] == os.getpid():
            return path, about
    return None
