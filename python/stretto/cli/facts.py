# SPDX-License-Identifier: BSD-3-Clause
"""The contents of `stretto info`, section by section, as in its JSON (docs/info.md)."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import stretto
from stretto import _core
from stretto.cli.cpus import allowed_cores, processor, text, topology
from stretto.cli.trial import checks, ucx


def library() -> dict[str, Any]:
    machine = stretto.examine()
    return {
        "version": stretto.__version__,
        "build": machine.build,
        "kernels_built": list(machine.kernels_built),
        "kernels_able": list(machine.kernels_able),
        "kernels": machine.kernels or None,
        "string_copies": machine.string_copies,
        "folder": str(Path(stretto.__file__).resolve().parent),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": platform.platform(),
    }


def cores() -> dict[str, Any]:
    machine = stretto.examine()
    allowed = allowed_cores()
    return {
        "cores": machine.cores,
        "online": machine.cores_online,
        "allowed": allowed,
        "quota": machine.cores_quota or None,
        "processor": processor(),
        **topology(allowed or []),
    }


def memory() -> dict[str, Any]:
    machine = stretto.examine()
    known = dict(
        line.split(":", 1) for line in text(Path("/proc/meminfo")).splitlines() if ":" in line
    )
    # What is not known is None.
    total, free = (
        int(known[name].split()[0]) << 10 if name in known else None
        for name in ("MemTotal", "MemAvailable")
    )
    available = machine.memory_available
    ranks = max(2, machine.cores)
    need = 2 * ranks * ring_bytes(ranks)
    return {
        "total_bytes": total,
        "machine_bytes": free,
        "available_bytes": available,
        "limited_by_group": None not in (available, free) and available < 0.9 * free,
        "ranks": ranks,
        "needed_bytes": need,
        "enough": available is None or need <= available,
        "dev_shm": dev_shm(),
    }


def ring_bytes(ranks: int) -> int:
    asked = next(each for each in stretto.settings() if each.name == "STRETTO_RING_BYTES")
    return asked.number or _core.ring_bytes(ranks)


def dev_shm() -> dict[str, int] | None:
    try:
        found = os.statvfs("/dev/shm")
    except OSError:
        return None
    return {
        "total_bytes": found.f_frsize * found.f_blocks,
        "free_bytes": found.f_frsize * found.f_bavail,
    }


def transports() -> list[dict[str, Any]]:
    found = [each._asdict() for each in checks(allowed_cores() or [])]
    return [
        {
            "name": "shared memory",
            "ok": all(each["ok"] for each in found if each["needed"]),
            "checks": found,
        },
        {"name": "UCX", "ok": True, "checks": [ucx()._asdict()]},  # no job needs it
    ]


def network() -> dict[str, Any]:
    keys = ("name", "up", "used", "loopback", "mtu", "megabits", "addresses")
    problem = None
    try:
        found = _core.interfaces(True)
    except stretto.Error as error:
        problem = str(error)
        found = _core.interfaces(False)
    return {
        "interfaces": [dict(zip(keys, each, strict=True)) for each in found],
        "interfaces_problem": problem,
        "way": way(),
        "secret": secret(),
    }


def way() -> dict[str, Any]:
    """By which interface and from which address this host would join the job at STRETTO_ADDR."""
    none = {"to": None, "interface": None, "address": None, "problem": None}
    try:
        found = _core.way_to_job()
    except stretto.Error as error:
        return {**none, "problem": str(error)}
    if found is None:
        return none
    to, interface, address = found
    return {"to": to, "interface": interface or None, "address": address, "problem": None}


def secret() -> dict[str, Any]:
    given = any(
        each.source != "default"
        for each in stretto.settings()
        if each.name in ("STRETTO_SECRET", "STRETTO_SECRET_FILE")
    )
    try:
        return {"origin": _core.secret_origin(), "given": given, "problem": None}
    except stretto.Error as error:
        return {"origin": None, "given": given, "problem": str(error)}


def algorithms() -> dict[str, int]:
    counts: dict[str, int] = {}
    for each in _core.algorithms():
        counts[each["collective"]] = counts.get(each["collective"], 0) + 1
    return counts


def types() -> dict[str, list[str]]:
    return _core.supported()


def settings() -> list[dict[str, Any]]:
    return [each._asdict() for each in stretto.settings()]


SECTIONS: dict[str, Callable[[], Any]] = {
    "library": library,
    "cores": cores,
    "memory": memory,
    "transports": transports,
    "network": network,
    "algorithms": algorithms,
    "types": types,
    "settings": settings,
}


def failures(facts: dict[str, Any]) -> list[str]:
    """The reasons why jobs cannot run, as sentences.  Conditions that only make jobs slower do not
    count."""
    broken = []
    if not facts.get("memory", {}).get("enough", True):
        broken.append("there is not enough memory for a job")
    for transport in facts.get("transports", []):
        if not transport["ok"]:
            broken.append(f"{transport['name']} does not work")
    network = facts.get("network")
    if network and network["interfaces_problem"]:
        broken.append("STRETTO_IFACE cannot be read")
    elif network and network["way"]["problem"]:
        broken.append("there is no way to STRETTO_ADDR")
    if network and network["secret"]["given"] and network["secret"]["problem"]:
        broken.append("the secret cannot be used")
    broken += [
        f"{each['name']} cannot be read"
        for each in facts.get("settings", [])
        if each["error"] and each["type"] != "unknown"
    ]
    return broken
