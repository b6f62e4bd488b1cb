# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that print what they measure as lines of JSON, and their ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator


class LaunchError(Exception):
    """A job that failed or did not end; the message holds the end of what it said."""


def lines(command: list[str], environment: dict[str, str], limit: float) -> Iterator[dict]:
    """The lines of JSON that a job prints.  Raises LaunchError if it fails or lasts longer than
    `limit` seconds."""
    with tempfile.TemporaryFile("w+") as complaints:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            start_new_session=True,  # so that the job can be ended with its launcher
        )
        watchdog = threading.Timer(limit, _end, [process])
        watchdog.start()
        others = []
        try:
            for line in process.stdout:
                if line.startswith("{"):
                    yield json.loads(line)
                else:
                    others.append(line)
            status = process.wait()
        finally:
            watchdog.cancel()
            _end(process)
        if status != 0:
            complaints.seek(0)
            said = "".join(others) + complaints.read()
            raise LaunchError(f"{' '.join(command)}: status {status}\n{said[-2000:].strip()}")


def _end(process: subprocess.Popen) -> None:
    """A launcher takes its ranks with it when it is asked to end, not when it is killed."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=10)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
