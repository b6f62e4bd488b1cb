# SPDX-License-Identifier: BSD-3-Clause
"""Gets the source of p4est from Debian, and compiles it and the programs for an MPI library."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from mpis import Mpi

HERE = Path(__file__).resolve().parent
BUILD = HERE / ".build"
TOOLS = ("autoconf", "automake", "libtoolize", "make")
# Where Debian's sources of packages are: apt asks the server of the system's other packages.
SOURCES = "deb-src {server} {suite} main\n"


@dataclass(frozen=True)
class Programs:
    amr: Path
    step3: Path | None  # p4est's own example of a changing mesh, unchanged
    times: Path  # measures allreduces


def programs(mpi: Mpi, source: Path | None) -> Programs:
    """Compiles what is not there yet; `source`: a folder with p4est's source, or none."""
    folder = BUILD / mpi.name
    p4est = folder / "p4est"
    step3 = p4est / "example/steps/p8est_step3"
    if source is not None and not (source / "configure").exists():
        sys.exit(f"{source}/configure does not exist: name an unpacked release of p4est 2")
    if not step3.exists():
        _build_p4est(mpi, source.resolve() if source else _fetch(), p4est)
    from_source = Path((p4est / "source.txt").read_text())
    headers = [p4est / "config", p4est / "sc/config", p4est / "src", p4est / "sc/src"]
    headers += [from_source / "src", from_source / "sc/src"]
    libraries = [p4est / "src/.libs/libp4est.a", p4est / "sc/src/.libs/libsc.a"]
    _compile(mpi, folder, [word for each in headers for word in ("-isystem", each)], libraries)
    return Programs(folder / "amr", step3, folder / "libtimes.so")


def with_system_library(mpi: Mpi) -> Programs:
    """Compiles the proxy with the p4est that the system has, for the MPI that it was built for."""
    folder = BUILD / f"{mpi.name}-system"
    _compile(mpi, folder, [], ["-lp4est", "-lsc"])
    return Programs(folder / "amr", None, folder / "libtimes.so")


def _compile(mpi: Mpi, folder: Path, headers: list[object], libraries: list[object]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    before, after = mpi.compiler
    flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra"]
    _run([*before, *flags, *headers, *sorted(HERE.glob("amr*.c")), "-o", folder / "amr", *libraries,
          "-lz", "-lm", *after])  # fmt: skip
    _run([*before, *flags, "-shared", "-fPIC", HERE / "times.c", "-o", folder / "libtimes.so",
          *after])  # fmt: skip


def _fetch() -> Path:
    """The source that Debian has, unpacked."""
    found = sorted(BUILD.glob("source/p4est-*/configure"))
    if found:
        return found[-1].parent
    missing = [tool for tool in ("apt-get", *TOOLS) if shutil.which(tool) is None]
    if missing:
        sys.exit(
            f"there is no {', '.join(missing)}: install it (Debian: dpkg-dev autoconf automake "
            "libtool make zlib1g-dev), or name a folder with the source of p4est 2 by --source"
        )
    folder = BUILD / "source"
    (folder / "lists/partial").mkdir(parents=True, exist_ok=True)
    (folder / "sources.list").write_text(SOURCES.format(server=_server(), suite=_suite()))
    # Lists of its own: those of the system need not name sources, and stay as they are.
    apt = ["apt-get", "-q", "-o", f"Dir::Etc::sourcelist={folder / 'sources.list'}",
           "-o", "Dir::Etc::sourceparts=-", "-o", f"Dir::State::lists={folder / 'lists'}",
           "-o", "APT::Sandbox::User=root"]  # fmt: skip
    _run([*apt, "update"])
    _run([*apt, "source", "p4est"], cwd=folder)
    source = next(path for path in folder.glob("p4est-*") if path.is_dir())
    for each in (source, source / "sc"):
        (each / ".tarball-version").write_text(source.name.removeprefix("p4est-") + "\n")
    _run(["./bootstrap"], cwd=source)
    return source


def _suite() -> str:
    """Of Debian; ends the program on another system."""
    release = Path("/etc/os-release")
    words = release.read_text() if release.exists() else ""
    found = re.search(r"^VERSION_CODENAME=(\w+)$", words, re.M)
    if found is None or not re.search(r"^ID=debian$", words, re.M):
        sys.exit(
            "this is no release of Debian: name a folder with the source of p4est 2 by --source"
        )
    return found.group(1)


def _server() -> str:
    """That the system's packages come from."""
    words = ["apt-get", "indextargets", "--format", "$(SITE)", "Identifier: Packages"]
    said = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    return next((line for line in said.split() if "debian" in line), "http://deb.debian.org/debian")


def _build_p4est(mpi: Mpi, source: Path, folder: Path) -> None:
    """Out of its tree.  BLAS is for parts that the programs do not use."""
    print(f"p4est for {mpi.title} ...", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "source.txt").write_text(str(source))
    before, after = mpi.compiler
    flags = [word for word in after if word != "-lmpi"]
    libraries = ["LIBS=-lmpi"] if mpi.prefix else []
    _run([source / "configure", "--enable-mpi", "--disable-shared", "--without-blas",
          f"CC={' '.join([*before, *flags])}", "CFLAGS=-O2", *libraries], cwd=folder)  # fmt: skip
    jobs = f"-j{len(os.sched_getaffinity(0))}"
    _run(["make", jobs, "-C", "sc", "src/libsc.la"], cwd=folder)
    _run(["make", jobs, "src/libp4est.la", "example/steps/p8est_step3"], cwd=folder)


def _run(command: list[object], cwd: Path | None = None) -> None:
    """Runs a command quietly; if it fails, ends with what it said."""
    words = [str(word) for word in command]
    done = subprocess.run(words, check=False, capture_output=True, text=True, cwd=cwd,
                          stdin=subprocess.DEVNULL)  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}failed: see above")
