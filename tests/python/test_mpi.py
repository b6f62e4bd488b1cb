# SPDX-License-Identifier: BSD-3-Clause
"""`stretto mpi`: what it preloads, hands on to launchers, and refuses.  Needs no MPI: the launchers
are scripts that tell what reaches them."""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from stretto.cli.mpi import preloaded

ROOT = Path(__file__).resolve().parents[2]
OTHER = "libm.so.6"  # something to preload that is there
# First lines of what real ones say.
OPEN_MPI = "mpirun (Open MPI) 5.0.11\n\nReport bugs to https://www.open-mpi.org/community/help/"
OPEN_MPI_RENAMED = "mpirun.openmpi (OpenRTE) 4.1.4"
HYDRA = "HYDRA build details:\n    Version:                                 4.0.2"
INTEL = "Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 20260929 (id: 1821d9b)"
# Asked for its version it notes that in "asked", else it tells what reached it, and the environment
# that the version was asked for in stays out of it.
LAUNCHER = """#!{python}
import json, os, pathlib, sys
if sys.argv[1:] == ["--version"]:
    pathlib.Path(__file__).with_name("asked").write_text(os.environ.get("LD_PRELOAD", ""))
    print({answer!r}, file=sys.{stream})
    sys.exit({status})
print(json.dumps({{"arguments": sys.argv[1:], "environment": dict(os.environ)}}))
"""


@dataclass
class Told:
    arguments: list[str]
    environment: dict[str, str]


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    for name in list(os.environ):
        if name.startswith("STRETTO_") or name == "LD_PRELOAD":
            monkeypatch.delenv(name)


@pytest.fixture
def library(stretto) -> str:
    done = stretto("mpi", "--library")
    assert done.returncode == 0, done.stderr
    return done.stdout.removesuffix("\n")


@pytest.fixture
def launcher(tmp_path):
    def make(name: str, answer: str, stream: str = "stdout", status: int = 0) -> Path:
        path = tmp_path / name
        path.write_text(
            LAUNCHER.format(python=sys.executable, answer=answer, stream=stream, status=status)
        )
        path.chmod(0o755)
        return path

    return make


def told(stretto, *arguments: object, **settings: str) -> Told:
    done = stretto("mpi", *arguments, **settings)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return Told(**json.loads(done.stdout))


def script(folder: Path, text: str) -> Path:
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


# ---- the library


def test_the_library_is_where_it_is_said_to_be(stretto, library):
    assert Path(library).is_absolute()
    assert Path(library).parent == Path(stretto("config", "--lib").stdout.strip())
    # It finds libstretto beside it, and stands in front of MPI's functions, for Fortran as well.
    code = (
        "import ctypes, sys\nlibrary = ctypes.CDLL(sys.argv[1])\n"
        "library.MPI_Allreduce, library.PMPI_Allreduce"
    )
    subprocess.run([sys.executable, "-c", code, library], cwd="/", check=True)


def test_it_does_nothing_in_a_program_without_mpi(library):
    for command in (["/bin/sh", "-c", "exec echo fine"], [sys.executable, "-c", "print('fine')"]):
        done = subprocess.run(
            command, env={**os.environ, "LD_PRELOAD": library}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")


def test_its_path_is_for_job_scripts(stretto, library):
    done = stretto("mpi", "--library", "mpirun")
    assert done.returncode == 2
    assert "--library runs nothing" in done.stderr


def in_module(monkeypatch, library: Path, *arguments: str):
    # The module by this name: the package's attribute is the command.
    module = importlib.import_module("stretto.cli.mpi")
    monkeypatch.setattr(module, "LIBRARY", library)
    return CliRunner().invoke(module.mpi, list(arguments))


@pytest.mark.parametrize("arguments", [["--library"], ["true"], ["--dry-run", "true"]])
def test_a_library_that_is_not_there(monkeypatch, tmp_path, arguments):
    done = in_module(monkeypatch, tmp_path / "libstretto_mpi.so", *arguments)
    assert done.exit_code == 1
    assert done.stdout == ""
    assert f"has no {tmp_path}/libstretto_mpi.so" in done.stderr
    assert "pip install" in done.stderr


@pytest.mark.parametrize("folder", ["a folder", "a:folder"])
def test_a_library_that_cannot_be_preloaded(monkeypatch, tmp_path, folder):
    (tmp_path / folder).mkdir()
    path = tmp_path / folder / "libstretto_mpi.so"
    path.touch()
    done = in_module(monkeypatch, path, "--library")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert str(path) in done.stderr and "without them" in done.stderr


# ---- what programs find


def test_a_program_gets_the_preload_and_no_more(stretto, library, launcher):
    program = launcher("program", "")
    found = told(stretto, program, "-n", "--report", "--", "last word", "")
    assert found.arguments == ["-n", "--report", "--", "last word", ""]
    assert found.environment["LD_PRELOAD"] == library
    assert not [name for name in found.environment if name.startswith("STRETTO_")]
    assert not (program.parent / "asked").exists()


def test_other_preloads_come_after(stretto, library, launcher):
    program = launcher("program", "")
    found = told(stretto, program, LD_PRELOAD=OTHER)
    assert found.environment["LD_PRELOAD"] == f"{library}:{OTHER}"
    for already in (library, f"{OTHER}:{library}", f"{OTHER} {library}"):
        assert told(stretto, program, LD_PRELOAD=already).environment["LD_PRELOAD"] == already


def test_the_runtime_of_address_sanitizer_stays_first():
    for runtime in ("libasan.so.8", "/usr/lib/libhwasan.so.0"):
        assert preloaded("/a/stretto.so", f"{runtime}:{OTHER}") == (
            f"{runtime}:/a/stretto.so:{OTHER}"
        )
    assert preloaded("/a/stretto.so", "") == "/a/stretto.so"


def test_a_program_with_address_sanitizer_gets_its_runtime(stretto, library, launcher, tmp_path):
    path = launcher("mpiexec", HYDRA)
    program = tmp_path / "sanitized"
    program.write_bytes(b"\x7fELF...\0libasan.so.8\0libc.so.6\0")
    program.chmod(0o755)
    found = told(stretto, path, "-n", "2", "plain", ":", "-n", "1", program, "word")
    alone = ["env", f"LD_PRELOAD=libasan.so.8:{library}", str(program)]
    assert found.arguments == ["-n", "2", "plain", ":", "-n", "1", *alone, "word"]
    assert found.environment["LD_PRELOAD"] == library  # the launcher does without


def test_options_are_settings(stretto, launcher):
    program = launcher("program", "")

    def settings(*options: str, **given: str) -> dict[str, str]:
        found = told(stretto, *options, program, **given).environment
        return {name: found[name] for name in found if name.startswith("STRETTO_")}

    assert settings("--report") == {"STRETTO_MPI_REPORT": "1"}
    assert settings("--only", "allreduce,bcast") == {"STRETTO_MPI": "allreduce,bcast"}
    assert settings("--except", "barrier") == {"STRETTO_MPI": "^barrier"}
    assert settings(STRETTO_MPI="bcast") == {"STRETTO_MPI": "bcast"}
    assert settings("--except", "reduce", STRETTO_MPI="bcast", STRETTO_ISA="avx2") == {
        "STRETTO_MPI": "^reduce",
        "STRETTO_ISA": "avx2",
    }


def test_calls_are_those_that_the_library_knows():
    text = (ROOT / "mpi" / "kinds.hpp").read_text()
    names = re.findall(r'"(\w+)"', text.partition("short_name(")[2].partition("}")[0])
    assert list(importlib.import_module("stretto.cli.mpi").CALLS) == names


@pytest.mark.parametrize("option", ["--only", "--except"])
@pytest.mark.parametrize("calls", ["alltoall", "allreduce,", "", "allreduce bcast", "^bcast"])
def test_calls_that_it_does_not_serve_are_refused(stretto, option, calls):
    done = stretto("mpi", option, calls, "true")
    assert done.returncode == 2
    assert "is none of allreduce, reduce, bcast" in done.stderr


def test_only_and_except_exclude_each_other(stretto):
    done = stretto("mpi", "--only", "bcast", "--except", "barrier", "true")
    assert done.returncode == 2
    assert "--only and --except do not go together" in done.stderr


# ---- launchers


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("mpirun", OPEN_MPI),
        ("mpiexec", OPEN_MPI),
        ("mpirun.openmpi", OPEN_MPI_RENAMED),
        ("mpirun", "mpirun (PRRTE) 3.0.11"),
    ],
)
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_open_mpis_launcher_is_told_what_to_hand_on(
    stretto, library, launcher, name, answer, stream
):
    path = launcher(name, answer, stream)
    found = told(
        stretto, "--report", path, "-n", "4", "./program", "-x", "--help", STRETTO_TRACE="traces",
        STRETTO_SECRET="hush",
    )  # fmt: skip
    assert found.arguments == [
        "-x", "LD_PRELOAD", "-x", "STRETTO_MPI_REPORT", "-x", "STRETTO_SECRET", "-x",
        "STRETTO_TRACE", "-n", "4", "./program", "-x", "--help",
    ]  # fmt: skip
    assert found.environment["LD_PRELOAD"] == library
    assert found.environment["STRETTO_MPI_REPORT"] == "1"
    assert (path.parent / "asked").read_text() == ""  # and not with the library under it


@pytest.mark.parametrize("name", ["orterun", "prterun"])
def test_launchers_that_only_open_mpi_has_are_not_asked(stretto, launcher, name):
    # That of the wheel of Open MPI 5.0.11 has no answer.
    path = launcher(name, "Sorry!  You were supposed to get help about:", "stderr")
    assert told(stretto, path, "./program").arguments == ["-x", "LD_PRELOAD", "./program"]
    assert not (path.parent / "asked").exists()


@pytest.mark.parametrize("name", ["mpirun", "mpiexec", "mpiexec.hydra"])
@pytest.mark.parametrize("answer", [HYDRA, INTEL, ""])
def test_launchers_that_hand_on_the_environment_stay_as_they_are(
    stretto, library, launcher, name, answer
):
    path = launcher(name, answer, status=0 if answer else 3)
    found = told(stretto, "--only", "bcast", path, "-n", "2", "./program")
    assert found.arguments == ["-n", "2", "./program"]
    assert found.environment["LD_PRELOAD"] == library
    assert found.environment["STRETTO_MPI"] == "bcast"
    assert (path.parent / "asked").exists()


@pytest.mark.parametrize("name", ["srun", "flux", "my_mpirun", "mpirun_wrapper"])
def test_other_launchers_are_not_asked(stretto, launcher, name):
    path = launcher(name, OPEN_MPI)
    assert told(stretto, path, "./program").arguments == ["./program"]
    assert not (path.parent / "asked").exists()


def test_a_launcher_that_does_not_answer(monkeypatch, tmp_path):
    module = importlib.import_module("stretto.cli.mpi")
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.2)
    path = tmp_path / "mpirun"
    path.write_text("#!/bin/sh\nexec sleep 600\n")
    path.chmod(0o755)
    done = CliRunner().invoke(module.mpi, ["--dry-run", str(path), "./program"])
    assert done.exit_code == 0, done.output
    assert shlex.split(done.stdout)[1:] == [str(path), "./program"]


def test_what_the_launcher_is_told_already_is_not_told_again(stretto, launcher):
    path = launcher("mpirun", OPEN_MPI)
    given = ["-x", "HOME", "-x", "LD_PRELOAD", "-x", "STRETTO_ISA=avx2", "./program"]
    found = told(stretto, "--report", path, *given, STRETTO_ISA="generic")
    assert found.arguments == ["-x", "STRETTO_MPI_REPORT", *given]


def test_every_program_of_several_is_handed_them(stretto, launcher):
    path = launcher("mpirun", OPEN_MPI)
    found = told(
        stretto, "--report", path, "-n", "1", "./a", ":", "-x", "LD_PRELOAD", "-n", "2", "./b"
    )
    assert found.arguments == [
        "-x", "LD_PRELOAD", "-x", "STRETTO_MPI_REPORT", "-n", "1", "./a", ":",
        "-x", "STRETTO_MPI_REPORT", "-x", "LD_PRELOAD", "-n", "2", "./b",
    ]  # fmt: skip


@pytest.mark.parametrize("given", [["-x", "LD_PRELOAD=a.so"], ["-genv", "LD_PRELOAD", "a.so"]])
def test_a_launcher_that_would_preload_something_else_instead(stretto, launcher, given):
    done = stretto("mpi", launcher("mpirun", OPEN_MPI), *given, "./program")
    assert done.returncode == 2
    assert f"with '{' '.join(given)}' Stretto would not be preloaded" in done.stderr
    assert "LD_PRELOAD=a.so stretto mpi ..." in done.stderr


def test_a_launcher_that_preloads_both(stretto, library, launcher):
    given = ["-x", f"LD_PRELOAD={library}:a.so", "./program"]
    assert told(stretto, launcher("mpirun", OPEN_MPI), *given).arguments == given


@pytest.mark.parametrize("given", [["-x", "STRETTO_MPI=all"], ["-env", "STRETTO_MPI", "all"]])
def test_a_launcher_that_contradicts_the_options(stretto, launcher, given):
    path = launcher("mpirun", OPEN_MPI)
    done = stretto("mpi", "--only", "bcast", path, *given, "./program")
    assert done.returncode == 2
    assert f"'{' '.join(given)}' contradicts STRETTO_MPI=bcast" in done.stderr
    assert told(stretto, path, *given, "./program").arguments == ["-x", "LD_PRELOAD", *given] + [
        "./program"
    ]


# ---- the command itself


def test_a_dry_run_prints_what_a_shell_would_run(stretto, library, launcher, tmp_path):
    path = launcher("mpirun", OPEN_MPI)
    options = ["--report", "--except", "barrier,bcast"]
    command = [path, "-n", "1", "./my program", "$HOME"]
    settings = {"STRETTO_SECRET": "hush", "LD_PRELOAD": OTHER}
    done = stretto("mpi", "--dry-run", *options, *command, **settings)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        f"LD_PRELOAD={library}:{settings['LD_PRELOAD']} STRETTO_MPI='^barrier,bcast' "
        f"STRETTO_MPI_REPORT=1 {path} -x LD_PRELOAD -x STRETTO_MPI -x STRETTO_MPI_REPORT "
        "-x STRETTO_SECRET -n 1 './my program' '$HOME'\n"
    )
    ran = subprocess.run(
        ["/bin/sh", "-c", done.stdout], env={**os.environ, **settings}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    by_shell = json.loads(ran.stdout)
    found = told(stretto, *options, *command, **settings)
    assert by_shell["arguments"] == found.arguments
    for name in ("LD_PRELOAD", "STRETTO_MPI", "STRETTO_MPI_REPORT", "STRETTO_SECRET"):
        assert by_shell["environment"][name] == found.environment[name]


def test_commands_are_looked_for_in_path(stretto, launcher, tmp_path):
    launcher("mpirun", OPEN_MPI)
    path = f"{tmp_path}:{os.environ['PATH']}"
    assert told(stretto, "mpirun", "./program", PATH=path).arguments[:2] == ["-x", "LD_PRELOAD"]


def test_a_launcher_that_is_not_there(stretto, tmp_path):
    done = stretto("mpi", "mpirum", "-n", "4", "./program", PATH=f"{tmp_path}:/nowhere")
    assert done.returncode == 127
    assert done.stderr == (
        "Error: cannot run 'mpirum': no folder of PATH has a program of this name "
        f"(looked in {tmp_path}:/nowhere)\n"
    )
    done = stretto("mpi", "--dry-run", tmp_path / "program")
    assert done.returncode == 127
    assert done.stderr == f"Error: cannot run '{tmp_path}/program': there is no such file\n"


def test_files_that_are_no_programs(stretto, tmp_path):
    (tmp_path / "text").write_text("")
    for name in ("", "text"):
        done = stretto("mpi", f"{tmp_path}/{name}")
        assert done.returncode == 126
        assert "it is no executable file" in done.stderr
    (tmp_path / "text").chmod(0o755)
    done = stretto("mpi", tmp_path / "text")
    assert done.returncode == 126
    assert done.stderr == f"Error: cannot run '{tmp_path}/text': Exec format error\n"


def test_options_that_do_not_exist_are_no_command(stretto):
    done = stretto("mpi", "--reprot", "true")
    assert done.returncode == 2
    assert "--reprot" in done.stderr
    done = stretto("mpi", "--report")
    assert done.returncode == 2
    assert "COMMAND" in done.stderr


def test_the_exit_status_is_the_commands(stretto, tmp_path):
    assert stretto("mpi", script(tmp_path, "exit 7")).returncode == 7
    # Nothing stands between: whoever waits for `stretto mpi` sees the signal itself.
    assert stretto("mpi", script(tmp_path, "kill -KILL $$")).returncode == -signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_signals_reach_the_command(stretto, tmp_path, number):
    name = number.name.removeprefix("SIG")
    text = f"trap 'echo got {name}; exit 3' {name}\necho $$\nwhile :; do sleep 0.05; done"
    # Who runs these tests in the background may have it ignored, and so would the command.
    before = signal.signal(number, signal.SIG_DFL)
    try:
        process = stretto.start("mpi", script(tmp_path, text))
    finally:
        signal.signal(number, before)
    assert int(process.stdout.readline()) == process.pid
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (3, f"got {name}\n")


def test_no_signal_is_ignored_that_was_not(stretto):
    # Python ignores SIGPIPE; a program that should end with its reader would never.
    command = [shutil.which("grep"), "SigIgn", "/proc/self/status"]
    plain = subprocess.run(command, capture_output=True, text=True, check=True)
    assert stretto("mpi", *command).stdout == plain.stdout


def test_the_command_reads_the_input(stretto):
    done = subprocess.run(
        [stretto.path, "mpi", "cat"], input="hello", capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "hello")
