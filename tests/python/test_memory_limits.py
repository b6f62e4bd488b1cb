# SPDX-License-Identifier: BSD-3-Clause
"""Jobs in control groups with a limit of memory: page cache is room, and what lacks is an error."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

MIB = 1 << 20


def mounted(controller: str) -> tuple[Path, int] | None:
    """The folder of this process's group, and the version of control groups that it is of."""
    mounts = [line.split(" ") for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        for fields in mounts:
            kind, options = fields[fields.index("-") + 1], fields[-1].split(",")
            first = kind == "cgroup" and controller in options and controller in names.split(",")
            second = kind == "cgroup2" and names == ""
            folder = Path(fields[4]) / path.lstrip("/")
            name = "memory.limit_in_bytes" if first else "memory.max"
            if (first or second) and fields[3] == "/" and (folder / name).exists():
                return folder, 1 if first else 2
    return None


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[Callable[[int], Callable[[], None]]]:
    """What puts a process, before it begins, into a new group with so many bytes."""
    found = mounted("memory") if os.geteuid() == 0 else None
    if found is None:
        pytest.skip("needs root and a control group whose memory can be limited")
    above, version = found
    group = above / f"stretto-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"cannot make a control group: {error}")
    name = "memory.limit_in_bytes" if version == 1 else "memory.max"

    def limit(size: int) -> Callable[[], None]:
        try:
            (group / name).write_text(str(size))
        except OSError as error:
            pytest.skip(f"cannot limit the memory of a control group: {error}")

        def enter() -> None:
            (group / "cgroup.procs").write_text(str(os.getpid()))

        return enter

    yield limit
    with contextlib.suppress(OSError):
        group.rmdir()


def test_page_cache_is_room(limited, tmp_path):
    """A group that is full of a file that it has read: init, alloc and calls go on."""
    # The group that a page of a file was first used in has it: so it is written there, and read
    # twice, after which the kernel thinks that it is in use.
    fill = 'head -c 300M /dev/zero > "$0" && sync "$0" && cat "$0" "$0" > /dev/null && exec "$@"'
    code = (
        "import sys, numpy as np, stretto\n"
        "with stretto.init() as comm:\n"
        "    mine = comm.alloc(1 << 20, np.float64)\n"
        "    mine[:] = np.arange(1 << 20) + comm.rank\n"
        "    total = comm.allreduce(mine)\n"
        "    assert (total == 2 * np.arange(1 << 20) + 1).all()\n"
        "    available = stretto.examine().memory_available\n"
        "    sys.stdout.write(f'{available >> 20}\\n')\n"
    )
    done = subprocess.run(
        ["sh", "-c", fill, str(tmp_path / "read"),
         sys.executable, "-m", "stretto", "run", "--no-prefix", "-n", "2",
         sys.executable, "-c", code],
        preexec_fn=limited(320 * MIB), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(60 < int(each) < 320 for each in done.stdout.split()), done.stdout


def test_a_group_without_room_is_an_error(limited):
    """Not the end of the process: the heap asks for more than the group leaves."""
    code = (
        "import numpy as np, stretto\n"
        "assert stretto.examine().memory_available < 200 << 20\n"
        "comm = stretto.init()\n"
        "try:\n"
        "    comm.alloc(400 << 20, np.uint8)[:] = 1\n"
        "except stretto.OutOfMemoryError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        preexec_fn=limited(200 * MIB), capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "STRETTO_HEAP_BYTES": "1G"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no memory for stretto_alloc of 419430400 bytes" in done.stdout
