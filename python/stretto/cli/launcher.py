# SPDX-License-Identifier: BSD-3-Clause
"""Starts the ranks of a job on this host."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from stretto.cli.cpus import allowed_cores
from stretto.cli.jobs import Job, forward_death

# The variables by which launchers give a process its rank and the number of ranks.
LAUNCHERS = (
    ("STRETTO_RANK", "STRETTO_SIZE"),
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)


@dataclass(frozen=True)
class Options:
    ranks: int
    prefix: bool = True  # "[3] " before each line, and stdout and stderr through this process
    pin: bool = False  # rank r on core r mod cores
    grace: float = 5.0  # seconds between asking a rank to end and ending it
    keep_going: bool = False  # a rank that fails ends no other


def in_job() -> bool:
    """Whether this process is a rank of a job already."""
    return any(
        os.environ.get(rank)
        and os.environ.get(size)
        and (rank != "SLURM_PROCID" or in_slurm_step())
        for rank, size in LAUNCHERS
    )


def in_slurm_step() -> bool:
    """Whether srun started this process: a batch script has the variables of its allocation, and
    the shell of an interactive one is a step with one of the highest numbers."""
    step = os.environ.get("SLURM_STEP_ID") or os.environ.get("SLURM_STEPID")
    if step:
        return step.isdecimal() and int(step) < 0xFFFFFFF0
    return any(os.environ.get(f"SLURM_STEP_NUM_{what}") for what in ("TASKS", "NODES"))


def launch_again(subcommand: str, options: Options) -> int:
    """This very command of `stretto` once for each rank."""
    return launch([sys.executable, "-m", "stretto", subcommand, *sys.argv[2:]], options)


def launch(command: Sequence[str], options: Options) -> int:
    """Runs the command once for each rank; the exit status for the shell (see Job.run)."""
    ranks = options.ranks
    job = secrets.token_hex(8)
    meeting = _meeting()
    cores = allowed_cores() if options.pin else []
    if cores is None:
        print(
            "stretto run: --pin: the system does not tell which cores this process may use "
            "(sched_getaffinity); leave --pin out, or allow the call",
            file=sys.stderr,
        )
        return 2

    def start(rank: int, pipe: int | None) -> subprocess.Popen[bytes]:
        def prepare() -> None:
            forward_death()
            if cores:
                os.sched_setaffinity(0, {cores[rank % len(cores)]})

        return subprocess.Popen(
            list(command),
            stdin=None if rank == 0 else subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            env={**_environment(rank, ranks, job), **meeting},
            start_new_session=True,
            preexec_fn=prepare,
        )

    width = len(str(ranks - 1))
    labels = [f"[{rank:{width}}]" for rank in range(ranks)] if options.prefix else None
    names = [f"rank {rank}" for rank in range(ranks)]
    return Job("stretto run", names, start, labels, options.grace, options.keep_going).run()


def _meeting() -> dict[str, str]:
    """Where ranks meet that are to share no memory (STRETTO_FAKE_HOSTS), if nothing says so."""
    if not os.environ.get("STRETTO_FAKE_HOSTS") or os.environ.get("STRETTO_ADDR"):
        return {}
    with socket.create_server(("127.0.0.1", 0)) as free:
        chosen = {"STRETTO_ADDR": f"127.0.0.1:{free.getsockname()[1]}"}
    if not any(os.environ.get(f"STRETTO_SECRET{file}") for file in ("", "_FILE")):
        chosen["STRETTO_SECRET"] = secrets.token_hex(32)
    return chosen


def _environment(rank: int, ranks: int, job: str) -> dict[str, str]:
    return {
        "PYTHONUNBUFFERED": "1",  # a rank's lines appear when they are printed
        **os.environ,
        "STRETTO_RANK": str(rank),
        "STRETTO_SIZE": str(ranks),
        "STRETTO_LOCAL_RANK": str(rank),
        "STRETTO_LOCAL_SIZE": str(ranks),
        "STRETTO_JOB": job,
    }
