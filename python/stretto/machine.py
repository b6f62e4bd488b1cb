# SPDX-License-Identifier: BSD-3-Clause
"""The settings in force, and what Stretto finds on this machine; `stretto info` prints all of
it."""

from __future__ import annotations

from typing import NamedTuple

from stretto import _core


class Setting(NamedTuple):
    """One setting (docs/settings.md), or a variable that looks like one."""

    name: str
    """Such as "STRETTO_TIMEOUT"."""
    type: str
    """ "bytes", "duration", "count", "boolean", "choice" or "text"; "unknown": there is no such
    setting."""
    takes: str
    """Describes the values that it takes."""
    value: str
    """As it was written, or the default; "": Stretto decides as `meaning` says, or there is none.
    "set" for a secret."""
    default: str
    """In the same form; "" likewise."""
    meaning: str
    error: str | None
    """What is wrong with the value or the name, and the remedy."""
    number: int
    """The value of "bytes" and "count"; of "duration" in nanoseconds; of "boolean" 0 or 1; else 0.
    """
    source: str
    """Where the value comes from: "default"; "environment", of this process; "program", a call that
    it made; "launcher", set by mpirun, srun or torchrun; "rank 0", whose value holds for the
    job."""
    for_launchers: bool
    """It is for `stretto run` to set, rather than for users."""


class Machine(NamedTuple):
    """How the library was built, and what it finds on this machine."""

    build: str
    """The compiler and the kind of build."""
    kernels_built: tuple[str, ...]
    """Instruction sets that have kernels in the library, from narrow to wide."""
    kernels_able: tuple[str, ...]
    """Those among them that this processor has."""
    kernels: str
    """The one in use: the widest that STRETTO_ISA allowed when the process first needed it; "" if
    that cannot be read."""
    cores: int
    """The number that Stretto uses: the least known one of the next three."""
    cores_online: int | None
    """Of the machine; None: not known."""
    cores_allowed: int | None
    """By the affinity of the calling thread (taskset, cpusets); None: not known, as where
    sched_getaffinity is forbidden."""
    cores_quota: int
    """The CPU quota of the control groups, in cores rounded up; 0: none."""
    memory_available: int | None
    """Bytes that shared memory can take now: the smaller of the machine's available memory and the
    room in its control groups (v1 and v2), where page cache counts as free; None: not known."""
    asymmetric_barrier: bool
    """The kernel has membarrier(2), so that publishing costs no fence."""
    string_copies: bool
    """Copies use the processor's string instruction, which is a fast one."""
    ucx: str
    """Why ranks here do not use UCX between hosts with STRETTO_TRANSPORT=auto, and a remedy, as
    found first in this process; "": they can."""


def settings() -> list[Setting]:
    """The settings that `init` would find in the environment now.

    In the order of docs/settings.md, followed by STRETTO_ variables that are not settings.  A value
    that cannot be read has an `error`.  `Communicator.settings` has those of a communicator.
    """
    return [Setting(*line) for line in _core.settings()]


def examine() -> Machine:
    """Examines the machine now; needs no job."""
    build, built, able, *rest = _core.machine()
    return Machine(build, tuple(built.split()), tuple(able.split()), *rest)
