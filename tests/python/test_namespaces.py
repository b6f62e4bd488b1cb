# SPDX-License-Identifier: BSD-3-Clause
"""Jobs in namespaces of the kernel, as containers are."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import JOBS, TIMEOUT

UNSHARE = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")


@pytest.fixture(autouse=True)
def namespaces() -> None:
    """Skips where this user may not have namespaces of its own."""
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare")
    done = subprocess.run([*UNSHARE, "true"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"cannot unshare: {done.stderr}")


def start(
    command: list[object], stdin: int | None = None, **settings: str
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        list(map(str, command)),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "STRETTO_INIT_TIMEOUT": "60", **settings},
    )


def test_a_death_is_seen_where_all_ranks_are_process_1():
    """Two containers of a pod: PID namespaces of their own, and one network namespace."""
    settings = {"STRETTO_SIZE": "2", "STRETTO_JOB": f"pid-{os.getpid()}"}
    ranks = [
        start([*UNSHARE, sys.executable, JOBS / "watched.py"], STRETTO_RANK=str(rank), **settings)
        for rank in range(2)
    ]
    try:
        for number, rank in enumerate(ranks):
            assert rank.stdout.readline() == f"rank {number} of 2 is process 1\n"
        outside = ranks[1].pid  # of unshare, whose only child is the rank
        children = Path(f"/proc/{outside}/task/{outside}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGKILL)
        out, _ = ranks[0].communicate(timeout=TIMEOUT)
        assert out.startswith("rank 1 has died"), out
        assert ranks[0].returncode == 0
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()


def test_memory_that_may_not_be_executable(stretto):
    """The limit is one of the PID namespace."""
    script = 'echo 2 > /proc/sys/vm/memfd_noexec && exec "$@"'
    job = [stretto.path, "run", "-n", 2, sys.executable, JOBS / "operations.py"]
    if not Path("/proc/sys/vm/memfd_noexec").exists() or os.geteuid() != 0:
        pytest.skip("needs root and Linux 6.3")
    done = start(["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", script, "sh", *job])
    out, _ = done.communicate(timeout=TIMEOUT)
    assert done.returncode == 0, out


@pytest.mark.parametrize("launcher", ["env", "pmi"])
@pytest.mark.parametrize("apart", [True, False], ids=["PID namespaces", "one PID namespace"])
def test_jobs_do_not_mix(launcher, apart):
    """Jobs of one name: the same port, or the same process numbers."""
    before = UNSHARE if apart else ()
    command = [*before, sys.executable, JOBS / "launcher.py", launcher, sys.executable]
    jobs = [start([*command, JOBS / "own.py", str(number)]) for number in range(3)]
    for number, job in enumerate(jobs):
        out, _ = job.communicate(timeout=TIMEOUT)
        assert (job.returncode, out) == (0, f"job {number} has 2 ranks")


@pytest.mark.parametrize("launcher", ["env", "pmi"])
def test_jobs_do_not_mix_where_proc_is_hidden(launcher):
    """Nothing can be read of processes, and the parent of each rank is another one."""
    script = 'mount -t tmpfs none /proc && exec "$@"'
    hidden = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]
    command = [*hidden, sys.executable, JOBS / "launcher.py", launcher, sys.executable]
    # Then two jobs in one PID namespace can be told apart by a launcher's socket only.
    number_of_jobs = 1 if launcher == "env" else 2
    jobs = [start([*command, JOBS / "own.py", str(number)]) for number in range(number_of_jobs)]
    for number, job in enumerate(jobs):
        out, _ = job.communicate(timeout=TIMEOUT)
        assert (job.returncode, out) == (0, f"job {number} has 2 ranks")


def own_address() -> str:
    """An address of this host that is no loopback address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.77", 9))  # sends nothing
        except OSError as error:
            pytest.skip(f"needs a network: {error}")
        return probe.getsockname()[0]


def test_jobs_do_not_mix_over_the_network():
    """env:// with an address of this host: the port is taken for that of the job by two."""
    with socket.socket() as free:
        free.bind(("", 0))
        port = free.getsockname()[1]
    settings = {
        "WORLD_SIZE": "2",
        "MASTER_ADDR": own_address(),
        "MASTER_PORT": str(port - 1),
        "STRETTO_SECRET": "of-tests-only-0123456789abcdef-0123",
    }
    rank = f"{sys.executable} {JOBS / 'own.py'}"
    # Its rank 1 starts when that of the other job has ended.
    mine = start(
        ["/bin/sh", "-c", f"RANK=0 {rank} 1 & read line; RANK=1 {rank} 1; wait $!"],
        stdin=subprocess.PIPE,
        **settings,
    )
    try:
        other = start(["/bin/sh", "-c", f"RANK=1 {rank} 2; true"], **settings)
        out, _ = other.communicate(timeout=TIMEOUT)
        assert "another job meets at" in out
        out, _ = mine.communicate("\n", timeout=TIMEOUT)
        assert (mine.returncode, out) == (0, "job 1 has 2 ranks")
    finally:
        mine.kill()
        mine.wait()


def socket_of(process: subprocess.Popen[str]) -> str:
    """The abstract name that this rank has bound; other jobs of this user may run as well."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end and process.poll() is None:
        if found := sockets(process.pid):
            return found.pop()
        time.sleep(0.01)
    raise AssertionError(process.communicate()[0])


def sockets(process: int) -> set[str]:
    held = set()
    for descriptor in Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            held.add(os.readlink(descriptor))
    lines = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()]
    return {
        line[-1]
        for line in lines
        if line[-1].startswith(f"@stretto-{os.geteuid()}-") and f"socket:[{line[6]}]" in held
    }


SQUATTER = """
import os, socket, sys
os.setuid(54321)
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
    listener.bind("\\0" + sys.argv[1])
    listener.listen()
    print("ready", flush=True)
    caller = listener.accept()[0]
    print(len(caller.recv(4096)), flush=True)
    input()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
@pytest.mark.parametrize("rank", [0, 1])
def test_another_user_who_listens_where_the_ranks_meet_is_told_nothing(where, rank):
    job = {"STRETTO_JOB": f"squatted-{os.getpid()}", "STRETTO_SIZE": "2", **where}
    command = [sys.executable, "-c", "import stretto; stretto.init()"]
    first = start(command, STRETTO_RANK=str(rank if where else 0), **job)
    name = socket_of(first)
    first.kill()
    first.wait()
    squatter = subprocess.Popen(
        [sys.executable, "-c", SQUATTER, name.removeprefix("@")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert squatter.stdout.readline() == "ready\n"
        victim = start(command, STRETTO_RANK=str(rank), **job)
        out, _ = victim.communicate(timeout=TIMEOUT)
        assert victim.returncode != 0
        assert "a process of another user (54321) has the socket" in out
        assert squatter.stdout.readline() == "0\n"  # the connection was closed without a word
    finally:
        squatter.kill()
        squatter.communicate()
