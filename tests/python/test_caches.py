# SPDX-License-Identifier: BSD-3-Clause
"""Real ranks that are bound to processors, in a private view of the kernel's files on caches."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import JOBS, TIMEOUT

SYSTEM = Path("/sys/devices/system/cpu")


def groups_found(
    command, tmp_path, cache_of: dict[int, int], ranks: list[list[int]], **environment: str
) -> list[str]:
    """What each rank prints, if rank i may use the processors `ranks[i]`."""
    tree = tmp_path / "cpu"
    for processor, cache in cache_of.items():
        index = tree / f"cpu{processor}" / "cache" / "index0"
        index.mkdir(parents=True)
        (index / "level").write_text("3\n")
        (index / "type").write_text("Unified\n")
        shared = [str(each) for each, other in cache_of.items() if other == cache]
        (index / "shared_cpu_list").write_text(",".join(shared) + "\n")
    for name in ("online", "possible", "present"):
        shutil.copyfile(SYSTEM / name, tree / name)
    bound = [",".join(map(str, each)) for each in ranks]
    script = 'mount --bind "$1" /sys/devices/system/cpu || exit 77; shift; exec "$@"'
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", tree,
         command.path, "run", "-n", str(len(ranks)), sys.executable, JOBS / "caches.py", *bound],
        capture_output=True, text=True, check=False, timeout=TIMEOUT,
        env=os.environ | environment,
    )  # fmt: skip
    if done.returncode == 77 or done.stderr.startswith("unshare"):
        pytest.skip(f"cannot mount: {done.stderr}")
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(line.partition("] ")[2] for line in done.stdout.splitlines())


def by_all(ranks: int, found: str) -> list[str]:
    return [f"rank {rank}: {found}" for rank in range(ranks)]


def test_groups_are_the_ranks_bound_to_each_cache(stretto, tmp_path):
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("needs two processors")
    a, b = allowed[:2]
    two, one = {a: 0, b: 1}, {a: 0, b: 0}
    # Of two caches: neighbours, with 4 and 1 or 3 and 2 ranks, and ranks in turns.
    for number, (cache_of, ranks, found) in enumerate([
        (two, [[a], [a], [a], [a], [b]], "ordered canonical"),
        (two, [[a], [a], [a], [b], [b]], "ordered"),
        (two, [[a], [b], [a], [b], [a]], ""),
        # One cache: one group.
        (one, [[a], [b], [a, b], [b], [a]], "ordered canonical"),
        # Where the cache of any rank is not known, all ranks are one group.
        (two, [[a], [b], [a, b], [b], [a]], "ordered canonical"),
        ({a: 0}, [[a], [b], [a]], "ordered canonical"),
    ]):  # fmt: skip
        (folder := tmp_path / str(number)).mkdir()
        assert groups_found(stretto, folder, cache_of, ranks) == by_all(len(ranks), found), (
            cache_of,
            ranks,
        )


def test_a_job_with_an_address_whose_ranks_share_a_host_has_the_same_groups(stretto, tmp_path):
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("needs two processors")
    a, b = allowed[:2]
    ranks = [[a], [a], [a], [b], [b]]
    found = groups_found(stretto, tmp_path, {a: 0, b: 1}, ranks, STRETTO_FAKE_HOSTS="here")
    assert found == by_all(len(ranks), "ordered")
