# SPDX-License-Identifier: BSD-3-Clause
"""`stretto run`: what it starts, prints, forwards, and returns."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import alive

SAY_RANK = "import os; print('rank', os.environ['STRETTO_RANK'], 'of', os.environ['STRETTO_SIZE'])"

FORBIDDEN = """
def forbidden(*_):
    raise PermissionError(1, "Operation not permitted")
os.sched_getaffinity = forbidden
"""


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def assert_ended(pids: list[int]) -> None:
    """A killed process needs a moment to go."""
    deadline = time.monotonic() + 30
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, pids))


@pytest.mark.parametrize("ranks", [1, 3, 12])
def test_every_rank_runs_once_with_its_prefix(stretto, ranks):
    done = stretto("run", "-n", ranks, *python(SAY_RANK))
    assert done.returncode == 0, done.stderr
    width = len(str(ranks - 1))
    expected = {f"[{rank:{width}}] rank {rank} of {ranks}" for rank in range(ranks)}
    assert set(done.stdout.splitlines()) == expected
    assert len(done.stdout.splitlines()) == ranks


def test_environment_names_one_job(stretto):
    code = (
        "import os\n"
        "names = ('LOCAL_RANK', 'LOCAL_SIZE', 'JOB')\n"
        "text = ' '.join(os.environ['STRETTO_' + each] for each in names)\n"
        "os.write(1, (text + '\\n').encode())"  # in one piece
    )
    runs = [stretto("run", "-n", 2, "--no-prefix", *python(code)) for _ in range(2)]
    lines = [sorted(line.split() for line in run.stdout.splitlines()) for run in runs]
    for first, second in lines:
        assert (first[:2], second[:2]) == (["0", "2"], ["1", "2"])
        assert first[2] == second[2]
    assert lines[0][0][2] != lines[1][0][2]


def test_long_lines_of_many_ranks_stay_whole(stretto):
    code = (
        "import os\nr = os.environ['STRETTO_RANK']\n"
        "for i in range(50):\n"
        "    for end in ('', '\\n'): os.write(1, (r * 3000 + end).encode())"
    )
    done = stretto("run", "-n", 4, *python(code))
    lines = done.stdout.splitlines()
    assert len(lines) == 200
    for rank in "0123":
        assert lines.count(f"[{rank}] " + rank * 6000) == 50


def test_a_last_line_without_an_end_is_printed(stretto):
    done = stretto("run", "-n", 1, *python("import sys; sys.stdout.write('no end')"))
    assert done.stdout == "[0] no end\n"


def test_errors_go_to_standard_error(stretto):
    done = stretto(
        "run", "-n", 2, *python("import sys; print('out'); print('err', file=sys.stderr)")
    )
    assert sorted(done.stdout.splitlines()) == ["[0] out", "[1] out"]
    assert sorted(done.stderr.splitlines()) == ["[0] err", "[1] err"]


def test_only_rank_0_reads_the_input(stretto):
    code = "import sys; print(repr(sys.stdin.read()))"
    done = subprocess.run(
        [stretto.path, "run", "-n", "2", *python(code)],
        input="hello", capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert sorted(done.stdout.splitlines()) == ["[0] 'hello'", "[1] ''"]


def test_the_first_failing_rank_ends_the_job(stretto):
    code = (
        "import os, sys, time\nif os.environ['STRETTO_RANK'] == '2': sys.exit(7)\ntime.sleep(600)"
    )
    done = stretto("run", "-n", 4, *python(code))
    assert done.returncode == 7
    assert done.stderr == "stretto run: rank 2 exited with status 7\n"


def test_a_rank_that_a_signal_ended_is_named(stretto):
    code = (
        "import os, signal, time\n"
        "if os.environ['STRETTO_RANK'] == '1': os.kill(os.getpid(), signal.SIGKILL)\n"
        "time.sleep(600)"
    )
    done = stretto("run", "-n", 3, *python(code))
    assert done.returncode == 128 + signal.SIGKILL
    assert "rank 1 was ended by SIGKILL" in done.stderr


def test_ranks_that_will_not_end_are_killed(stretto, tmp_path):
    code = (
        "import os, pathlib, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"folder = pathlib.Path({str(tmp_path)!r})\n"
        "if os.environ['STRETTO_RANK'] == '0':\n"
        "    while len(list(folder.iterdir())) < 2: time.sleep(0.01)\n"  # the others ignore it now
        "    sys.exit(3)\n"
        "(folder / str(os.getpid())).touch()\n"
        "time.sleep(600)"
    )
    done = stretto("run", "-n", 3, "--grace", "0.5", *python(code))
    assert done.returncode == 3
    assert done.stderr == "stretto run: rank 0 exited with status 3\n"
    ranks = [int(path.name) for path in tmp_path.iterdir()]
    assert len(ranks) == 2
    assert not any(map(alive, ranks))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_reach_ranks_and_their_children(stretto, number):
    # What sleeps is a child of the rank, which bash keeps from SIGINT.
    script = "sleep 600 & echo $!; wait"
    process = stretto.start("run", "-n", 2, "--no-prefix", "bash", "-c", script)
    children = [int(process.stdout.readline()) for _ in range(2)]
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert out == ""
    assert_ended(children)


def test_no_rank_outlives_a_killed_launcher(stretto):
    code = "import os, time; print(os.getpid()); time.sleep(600)"
    process = stretto.start("run", "-n", 2, *python(code))
    ranks = [int(process.stdout.readline().split()[1]) for _ in range(2)]
    process.kill()
    process.communicate()
    assert_ended(ranks)


def test_a_program_that_is_not_there(stretto):
    done = stretto("run", "-n", 2, "no-such-program")
    assert done.returncode == 127
    assert "no-such-program" in done.stderr


def test_pinned_ranks_take_turns_on_the_cores(stretto):
    done = stretto("run", "-n", 3, "--pin", *python("import os; print(*os.sched_getaffinity(0))"))
    cores = sorted(os.sched_getaffinity(0))
    expected = [f"[{rank}] {cores[rank % len(cores)]}" for rank in range(3)]
    assert sorted(done.stdout.splitlines()) == expected


def test_64_ranks(stretto):
    done = stretto("run", "-n", 64, "sh", "-c", "echo $STRETTO_RANK")
    assert done.returncode == 0
    assert sorted(int(line.split("]")[1]) for line in done.stdout.splitlines()) == list(range(64))


def test_hosts_that_are_tried_on_one_need_no_address(stretto, monkeypatch):
    """`stretto run` chooses one, and a secret, unless they are given."""
    for name in ("STRETTO_ADDR", "STRETTO_SECRET", "STRETTO_SECRET_FILE"):
        monkeypatch.delenv(name, raising=False)
    code = (
        "import os, numpy, stretto\n"
        "with stretto.init() as comm:\n"
        "    sums = comm.allreduce(numpy.arange(3.0) + comm.rank)\n"
        "    address, secret = os.environ['STRETTO_ADDR'], os.environ['STRETTO_SECRET']\n"
        "    text = ' '.join(map(str, [comm.size, *sums, address, len(secret)]))\n"
        "    os.write(1, (text + '\\n').encode())"  # in one piece
    )
    monkeypatch.setenv("STRETTO_FAKE_HOSTS", "a,b")
    done = stretto("run", "-n", 2, "--no-prefix", *python(code))
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first == second
    *numbers, address, secret = first.split()
    assert numbers == ["2", "1.0", "3.0", "5.0"]
    assert address.startswith("127.0.0.1:")
    assert int(secret) >= 32
    monkeypatch.setenv("STRETTO_ADDR", "127.0.0.1:29477")
    monkeypatch.setenv("STRETTO_SECRET", "of-tests-only-0123456789abcdef-0123")
    given = stretto("run", "-n", 2, "--no-prefix", *python(code))
    assert given.returncode == 0, given.stderr
    assert "127.0.0.1:29477 35" in given.stdout


@pytest.mark.parametrize("step", [None, "4294967290"])
def test_an_allocation_without_a_step_is_no_job(stretto, monkeypatch, step):
    """`stretto bench` starts ranks of its own there, as anywhere else."""
    for name, value in (("PROCID", "0"), ("NTASKS", "4"), ("JOB_ID", "7"), ("STEP_ID", step)):
        if value is not None:
            monkeypatch.setenv(f"SLURM_{name}", value)
    from stretto.cli.launcher import in_job

    assert not in_job()
    monkeypatch.setenv("SLURM_STEP_ID", "0")
    assert in_job()


def test_a_reader_that_has_seen_enough_ends_the_job(stretto):
    """As `stretto run ... | head -1`: also if the ranks ignore that nobody reads."""
    process = stretto.start("run", "-n", 2, "sh", "-c", "while :; do echo x; done")
    assert process.stdout.readline() in ("[0] x\n", "[1] x\n")
    process.stdout.close()
    assert process.wait(60) == 128 + signal.SIGPIPE
    assert process.stderr.read() == ""


@pytest.mark.parametrize("how", ["del os.sched_getaffinity", FORBIDDEN])
def test_where_nobody_tells_which_cores_may_be_used(how):
    """Only --pin needs to know."""
    code = f"import os, sys\n{how}\nfrom stretto.cli import main\nmain()"
    for pin in ([], ["--pin"]):
        done = subprocess.run(
            [sys.executable, "-c", code, "run", "-n", "2", *pin, "true"],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == (2 if pin else 0), done.stderr
        assert ("--pin: the system does not tell which cores" in done.stderr) == bool(pin)
        assert "Traceback" not in done.stderr
