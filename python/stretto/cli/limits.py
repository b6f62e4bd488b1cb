# SPDX-License-Identifier: BSD-3-Clause
"""Limits of the command's memory."""

from __future__ import annotations

import resource
from pathlib import Path

import stretto
from stretto.cli.cpus import text


def keep_to_memory() -> None:
    """From now on, to ask for more memory than there is now fails.  Without this the system would
    end the command, or another process, without a word."""
    available = stretto.examine().memory_available
    used = next(
        (
            int(line.split()[1]) << 10
            for line in text(Path("/proc/self/status")).splitlines()
            if line.startswith("VmData:")
        ),
        None,
    )
    if available is None or used is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [each for each in (soft, hard) if each != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min([used + available, *limits]), hard))
