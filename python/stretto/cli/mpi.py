# SPDX-License-Identifier: BSD-3-Clause
"""`stretto mpi`: runs MPI programs as they are, with Stretto under their collectives."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import click

import stretto
from stretto.cli.units import Unit

LIBRARY = Path(stretto.__file__).resolve().parent / "lib" / "libstretto_mpi.so"
PRELOAD = "LD_PRELOAD"
SEPARATORS = re.compile("[ :]")  # of the names in it
# What STRETTO_MPI takes, as in mpi/kinds.hpp.
CALLS = (
    "allreduce", "reduce", "bcast", "allgather", "reduce_scatter_block", "reduce_scatter",
    "barrier", "iallreduce", "allreduce_init",
)  # fmt: skip
# Open MPI's launchers take -x, and no other MPI has these two.
OPEN_MPI = {"orterun", "prterun"}
# Every MPI has these, so they are asked.  Debian adds whose they are: mpirun.openmpi.
ANYONES = {"mpirun", "mpiexec"}
# "mpirun (Open MPI) 5.0.11"; "mpirun.openmpi (OpenRTE) 4.1.4" under a name that it does not know.
OPEN_MPI_ANSWER = re.compile(r"\((Open MPI|OpenRTE|PRRTE)\)")
ANSWER_SECONDS = 20.0
# Run-time libraries of AddressSanitizer refuse to come after another library: their files, and how
# a program names the one that it needs.
ASAN = re.compile(r"lib(hw)?asan\.so[.0-9]*$")
ASAN_NEEDED = re.compile(rb"\0(lib(?:hw)?asan\.so\.[0-9]+)\0")
ELF = b"\x7fELF"


def parse_calls(text: str) -> str:
    for word in text.split(","):
        if word not in CALLS:
            raise ValueError(
                f"'{word}' is none of {', '.join(CALLS)}; several are separated by commas"
            )
    return text


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--report", is_flag=True, help="Print at the end which calls Stretto ran, and how fast."
)
@click.option(
    "--only", type=Unit("calls", parse_calls), metavar="CALLS", help="Run only these by Stretto."
)
@click.option(
    "--except",
    "excluded",
    type=Unit("calls", parse_calls),
    metavar="CALLS",
    help="Run all but these by Stretto.",
)
@click.option("--library", is_flag=True, help="Print the path of the library, and run nothing.")
@click.option("--dry-run", is_flag=True, help="Print the command without running it.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="COMMAND...")
def mpi(
    report: bool,
    only: str | None,
    excluded: str | None,
    library: bool,
    dry_run: bool,
    command: tuple[str, ...],
) -> None:
    """Runs COMMAND with Stretto under the collectives of its MPI programs, which stay as they are.

    \b
    stretto mpi mpirun -n 4 ./program
    stretto mpi --report srun -n 4 ./program
    stretto mpi --only allreduce,bcast mpiexec -n 4 python train.py
    stretto mpi --except barrier mpirun -n 4 ./program
    stretto mpi --dry-run mpirun -n 4 ./program
    LD_PRELOAD=$(stretto mpi --library) srun -n 4 ./program

    For Open MPI from 4, MPICH from 4, Intel MPI, and others with the standard ABI of MPI.  A
    library is preloaded (LD_PRELOAD), which runs the calls that it can and leaves the others to the
    MPI library.

    CALLS are allreduce, reduce, bcast, allgather, reduce_scatter_block, reduce_scatter, barrier,
    iallreduce and allreduce_init, separated by commas.

    On several hosts, Stretto must be at the same path on each.  srun and the launchers of MPICH and
    Intel MPI pass the environment on to other hosts.  Open MPI's launcher does not: if COMMAND
    begins with it, "-x LD_PRELOAD" and "-x NAME" for every STRETTO_ variable are added to its
    options.

    The exit status is that of COMMAND; 127 if there is no such program, 126 if it cannot be run.
    """
    if only is not None and excluded is not None:
        raise click.UsageError("--only and --except do not go together")
    if library:
        if command:
            raise click.UsageError("--library runs nothing: leave COMMAND out")
        click.echo(find_library())
        return
    if not command:
        raise click.UsageError("Missing argument 'COMMAND...'.")
    changes = {PRELOAD: preloaded(find_library(), os.environ.get(PRELOAD, ""))}
    if only is not None or excluded is not None:
        changes["STRETTO_MPI"] = only if excluded is None else f"^{excluded}"
    if report:
        changes["STRETTO_MPI_REPORT"] = "1"
    refuse_contradictions(command, changes)
    program = find_program(command[0])
    open_mpi = takes_x(program, command[0])
    command = with_runtimes(command, changes[PRELOAD])
    if open_mpi:
        settings = {name for name in {**os.environ, **changes} if name.startswith("STRETTO_")}
        command = handing_on(command, [PRELOAD, *sorted(settings)])
    if dry_run:
        sets = (f"{name}={shlex.quote(value)}" for name, value in changes.items())
        click.echo(" ".join([*sets, shlex.join(command)]))
        return
    become(program, command, {**os.environ, **changes})


def find_library() -> str:
    if not LIBRARY.is_file():
        raise click.ClickException(
            f"this installation of Stretto has no {LIBRARY}; install Stretto anew, in a clone of "
            "its repository with: pip install --force-reinstall ."
        )
    if SEPARATORS.search(str(LIBRARY)):
        raise click.ClickException(
            f"'{LIBRARY}' cannot be preloaded: at spaces and colons LD_PRELOAD begins another "
            "name; install Stretto in a folder without them"
        )
    return str(LIBRARY)


def preloaded(library: str, others: str) -> str:
    """Before the others, since the first library handles a call; but ASan's run-time library has to
    come before it."""
    words = [word for word in SEPARATORS.split(others) if word]
    if library in words:
        return others
    at = 0
    while at < len(words) and ASAN.search(words[at]):
        at += 1
    return ":".join([*words[:at], library, *words[at:]])


def with_runtimes(command: tuple[str, ...], preload: str) -> tuple[str, ...]:
    """Programs that need ASan's run-time library have it preloaded first, and they alone."""
    made = [command[0]]
    for word in command[1:]:
        runtime = asan_runtime(word)
        if runtime is not None and not ASAN.search(SEPARATORS.split(preload)[0]):
            made += ["env", f"{PRELOAD}={runtime}:{preload}"]
        made.append(word)
    return tuple(made)


def asan_runtime(name: str) -> str | None:
    """Which one a program is linked with; None: it is none, or has no need of one."""
    path = shutil.which(name)
    if path is None:
        return None
    try:
        content = Path(path).read_bytes()
    except OSError:
        return None
    found = ASAN_NEEDED.search(content) if content.startswith(ELF) else None
    return found[1].decode() if found else None


def find_program(name: str) -> str:
    found = shutil.which(name)
    if found is not None:
        return found
    if os.sep not in name:
        folders = os.environ.get("PATH", os.defpath)
        raise unable(
            name, f"no folder of PATH has a program of this name (looked in {folders})", 127
        )
    if os.path.exists(name):
        raise unable(name, "it is no executable file", 126)
    raise unable(name, "there is no such file", 127)


def unable(name: str, problem: str, status: int) -> click.ClickException:
    error = click.ClickException(f"cannot run '{name}': {problem}")
    error.exit_code = status
    return error


def takes_x(program: str, name: str) -> bool:
    """Whether it is Open MPI's launcher."""
    kind = Path(name).name.partition(".")[0]
    if kind not in ANYONES:
        return kind in OPEN_MPI
    try:
        answer = subprocess.run(
            [program, "--version"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=ANSWER_SECONDS, check=False,
        ).stdout  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    return OPEN_MPI_ANSWER.search(answer.decode(errors="replace")) is not None


def handing_on(command: tuple[str, ...], names: list[str]) -> tuple[str, ...]:
    """With "-x NAME" where the options of Open MPI's launcher begin.

    That is after its own name and after each ":", where those of the next program begin: Open MPI 4
    hands on to a program what its own options say.
    """
    made = [command[0]]
    part: list[str] = []
    for word in (*command[1:], ":"):
        if word != ":":
            part.append(word)
            continue
        given = {name for _, name, _ in variables(part)}
        for name in names:
            if name not in given:
                made += ["-x", name]
        made += [*part, ":"]
        part = []
    return tuple(made[:-1])


def variables(words: list[str] | tuple[str, ...]) -> Iterator[tuple[str, str, str | None]]:
    """A variable passed by a launcher's option: the option as written, the name, the value."""
    for at, (option, word) in enumerate(zip(words, words[1:], strict=False)):
        if option == "-x":  # Open MPI: -x NAME, -x NAME=VALUE
            name, equals, value = word.partition("=")
            yield f"{option} {word}", name, value if equals else None
        elif option in ("-env", "-genv") and at + 2 < len(words):  # hydra: -genv NAME VALUE
            yield f"{option} {word} {words[at + 2]}", word, words[at + 2]


def refuse_contradictions(command: tuple[str, ...], changes: dict[str, str]) -> None:
    """A launcher's own value of a variable would override the value that is set here."""
    for option, name, value in variables(command):
        if value is None or name not in changes or value == changes[name]:
            continue
        if name != PRELOAD:
            raise click.UsageError(
                f"'{option}' contradicts {name}={changes[name]}, which the options before the "
                "command say; leave one of them out"
            )
        if str(LIBRARY) not in SEPARATORS.split(value):
            raise click.UsageError(
                f"with '{option}' Stretto would not be preloaded; write it as "
                f"{PRELOAD}={shlex.quote(value)} stretto mpi ..."
            )


def become(program: str, command: tuple[str, ...], environment: dict[str, str]) -> NoReturn:
    """Its exit status and all signals are the command's own, as this process becomes it."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores them, which a program would inherit
    try:
        os.execve(program, command, environment)
    except OSError as error:
        raise unable(command[0], error.strerror or str(error), 126) from None
