# SPDX-License-Identifier: BSD-3-Clause
"""How the tests build MPI programs and run them with libstretto_mpi.so before their library."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hosts import HERE, HOSTS, ROOT, Host, Missing

PROGRAMS = Path(__file__).parent / "programs"
PARTS = {  # files that a program has beside its own
    "served": (
        "collectives",
        "barriers",
        "types",
        "layouts",
        "operations",
        "requests",
        "persistent",
    )
}
TIMEOUT = 60  # seconds after which a job hangs
LIBRARY = "STRETTO_MPI_LIBRARY"


def find_library() -> Path | None:
    """The library that is tried: named, of the installed package, or of a build."""
    if named := os.environ.get(LIBRARY):
        return Path(named)
    candidates = []
    package = importlib.util.find_spec("stretto")
    if package is not None and package.origin is not None:
        candidates.append(Path(package.origin).parent / "lib" / "libstretto_mpi.so")
    candidates += [
        ROOT / "build" / build / "mpi" / "libstretto_mpi.so" for build in ("rel", "test", "t2")
    ]
    return next((each for each in candidates if each.exists()), None)


@pytest.fixture(scope="session")
def library() -> Path:
    found = find_library()
    if found is None or not found.exists():
        pytest.exit(
            f"there is no libstretto_mpi.so ({found or 'none is built'}): build the target "
            f"stretto_mpi in build/rel, install the package, or name the file in {LIBRARY}",
            returncode=1,
        )
    return found.resolve()


@pytest.fixture(scope="session")
def stretto_command() -> str:
    command = Path(sys.executable).with_name("stretto")
    if not command.exists():
        pytest.skip("the package is not installed")
    return str(command)


@dataclass(frozen=True)
class Line:
    """Of the report: so many calls, and who made them."""

    call: str
    calls: int
    reason: str | None  # why it was the MPI library; None: it was Stretto


@dataclass(frozen=True)
class Done:
    status: int
    out: str
    err: str

    def __str__(self) -> str:
        return f"status {self.status}\n{self.out}\n{self.err}"

    @property
    def checks(self) -> int:
        """That the program made on all its ranks; none failed."""
        said = re.findall(r"^(\d+) checks, (\d+) failed$", self.out, re.MULTILINE)
        assert said and all(failed == "0" for _, failed in said), str(self)
        return sum(int(checks) for checks, _ in said)

    @property
    def report(self) -> list[Line]:
        found = re.findall(
            r"^stretto: (MPI_\w+) +(\d+)  (?:by Stretto|by the MPI library: (.+))$",
            self.err,
            re.MULTILINE,
        )
        return [Line(call, int(calls), reason or None) for call, calls, reason in found]

    def served(self) -> dict[str, int]:
        return {line.call: line.calls for line in self.report if line.reason is None}


def clean_environment() -> dict[str, str]:
    """Without what another job, or the user, has set."""
    others = ("STRETTO_", "OMPI_", "PMIX_", "PMI_", "LD_PRELOAD")
    return {name: value for name, value in os.environ.items() if not name.startswith(others)}


def run(
    words: list[object], environment: dict[str, str], status: int | None = 0, **options: object
) -> Done:
    """Runs a command to its end, or fails; the launcher takes its ranks with it."""
    process = subprocess.Popen(
        [str(word) for word in words],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
        **options,
    )
    try:
        out, err = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        process.terminate()
        try:
            out, err = process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
        pytest.fail(f"{words} did not end in {TIMEOUT} s\n{out}\n{err}")
    done = Done(process.returncode, out, err)
    if status is not None:
        assert done.status == status, f"{words}: {done}"
    return done


class Mpi:
    """An MPI library, its launcher, and the programs that are built for it."""

    def __init__(self, name: str, host: Host, library: Path, folder: Path) -> None:
        self.name = name
        self.host = host
        self.library = library
        self.folder = folder
        self.environment = {**clean_environment(), **host.environment}

    def build(self, name: str, *more: object) -> Path:
        program = self.folder / name
        if program.exists():
            return program
        if name == "fortran":
            if self.host.fortran is None:
                pytest.skip("no Fortran compiler belongs to this library")
            words = [self.host.fortran, "-O1", "-w", "-o", program, PROGRAMS / "fortran.f90"]
        else:
            sources = [PROGRAMS / f"{each}.c" for each in (name, "check", *PARTS.get(name, ()))]
            compiler, *flags = self.host.compiler
            strict = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]
            words = [compiler, *strict, *flags, "-o", program, *sources, *self.host.linking]
            words += ["-pthread", *more]
        run(words, clean_environment())
        return program

    def launch(self, ranks: int, *options: str) -> list[object]:
        return [*self.host.launcher, *options, "-n", ranks]

    def program(
        self, name: str, *arguments: object, preload: bool = True, **settings: str
    ) -> list[object]:
        """What the launcher starts: the ranks alone have the library before their own, as if -x
        of Open MPI or -genv of MPICH had said so."""
        words = [f"LD_PRELOAD={self.library}"] if preload else []
        words += [f"{each}={value}" for each, value in settings.items()]
        return ["env", *words, self.build(name), *arguments]

    def run(
        self,
        name: str,
        ranks: int,
        *arguments: object,
        status: int | None = 0,
        options: tuple[str, ...] = (),
        **settings: str,
    ) -> Done:
        """Runs a program; `options` are of the launcher, `settings` of the ranks."""
        if ranks > self.host.most_ranks:
            pytest.skip(f"on more than {self.host.most_ranks} ranks {self.name} itself is too slow")
        words = [*self.launch(ranks, *options), *self.program(name, *arguments, **settings)]
        return run(words, self.environment, status, cwd=self.folder)

    def run_preloaded(self, name: str, ranks: int, **settings: str) -> Done:
        """The launcher has the library before it as well, and all that it starts."""
        environment = {**self.environment, "LD_PRELOAD": str(self.library), **settings}
        words = [*self.launch(ranks), self.build(name)]
        return run(words, environment, cwd=self.folder)

    def has(self, what: str) -> None:
        """Skips what the MPI library cannot do without Stretto."""
        if what in self.host.lacks:
            pytest.skip(f"{self.name} cannot do this itself: {what}")


@pytest.fixture(scope="session", params=HERE)
def mpi(
    request: pytest.FixtureRequest, library: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mpi]:
    try:
        host = HOSTS[request.param]()
    except Missing as reason:
        pytest.skip(str(reason))
    yield Mpi(request.param, host, library, tmp_path_factory.mktemp(request.param))
