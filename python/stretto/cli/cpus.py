# SPDX-License-Identifier: BSD-3-Clause
"""The processor and its caches, as the kernel's files describe them."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

from stretto.cli.units import parse_size, show_ranges

SYSTEM = Path("/sys/devices/system")


def allowed_cores() -> list[int] | None:
    """The cores that this process may use; None if the system does not report them (a sandbox may
    forbid sched_getaffinity)."""
    try:
        return sorted(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return None


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    for line in text(cpuinfo).splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def topology(cores: list[int], system: Path = SYSTEM) -> dict[str, Any]:
    """The topology of these cores; a number that the kernel does not report is None."""
    near = [system / "cpu" / f"cpu{core}" / "topology" for core in cores]
    packages = {text(each / "physical_package_id") for each in near} - {""}
    siblings = {text(each / "thread_siblings_list") for each in near} - {""}
    nodes = [
        each
        for each in (system / "node").glob("node[0-9]*")
        if set(parse_cores(text(each / "cpulist"))) & set(cores)
    ]
    return {
        "packages": len(packages) or None,
        "numa_nodes": len(nodes) or None,
        "threads_of_a_core": max((len(parse_cores(each)) for each in siblings), default=None),
        "caches": caches(cores, system),
    }


def caches(cores: list[int], system: Path = SYSTEM) -> list[dict[str, Any]]:
    """Those that hold data: of each level and size, how many there are, and which of these cores
    share one."""
    found: dict[tuple[int, int], set[str]] = {}
    for core in cores:
        for cache in (system / "cpu" / f"cpu{core}" / "cache").glob("index[0-9]*"):
            if text(cache / "type") not in ("Data", "Unified"):
                continue
            shared = sorted(set(parse_cores(text(cache / "shared_cpu_list"))) & set(cores))
            key = (int(text(cache / "level") or 0), parse_size(text(cache / "size") or "0"))
            found.setdefault(key, set()).add(show_ranges(shared or [core]))
    return [
        {"level": level, "bytes": size, "shared_by": sorted(groups)}
        for (level, size), groups in sorted(found.items())
    ]


def parse_cores(listed: str) -> list[int]:
    """ "0-3,8" of the kernel: 0, 1, 2, 3, 8."""
    cores: list[int] = []
    for part in filter(None, listed.split(",")):
        first, _, last = part.partition("-")
        cores += range(int(first), int(last or first) + 1)
    return cores


def text(path: Path) -> str:
    """The file's, or "" where there is none."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""
