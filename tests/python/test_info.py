# SPDX-License-Identifier: BSD-3-Clause
"""`stretto info` and what it asks: the settings and the machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import stretto as package
from click.testing import CliRunner
from stretto.cli import cli
from stretto.cli.cpus import parse_cores, topology
from stretto.cli.facts import SECTIONS

ROOT = Path(__file__).resolve().parents[2]
KEYS = {
    "library": {
        "version", "build", "kernels_built", "kernels_able", "kernels", "string_copies", "folder",
        "python", "numpy", "system",
    },
    "cores": {
        "cores", "online", "allowed", "quota", "processor", "packages", "numa_nodes",
        "threads_of_a_core", "caches",
    },
    "memory": {
        "total_bytes", "machine_bytes", "available_bytes", "limited_by_group", "ranks",
        "needed_bytes", "enough", "dev_shm",
    },
    "network": {"interfaces", "interfaces_problem", "way", "secret"},
}  # fmt: skip
SETTING = {
    "name", "type", "takes", "value", "default", "meaning", "error", "number", "source",
    "for_launchers",
}  # fmt: skip


def told(stretto, *arguments: str, status: int = 0, **settings: str) -> dict:
    done = stretto("info", *arguments, "--json", **settings)
    assert done.returncode == status, done.stdout + done.stderr
    return json.loads(done.stdout)


def setting(found: dict, name: str) -> dict:
    return next(each for each in found["settings"] if each["name"] == name)


def test_everything_is_told(stretto):
    found = told(stretto)
    assert list(found) == [*SECTIONS, "failures"]
    assert found["failures"] == []
    for section, keys in KEYS.items():
        assert found[section].keys() == keys
    assert found["library"]["version"] == package.__version__
    assert found["library"]["kernels"] == found["library"]["kernels_able"][-1]
    assert found["types"] == package._core.supported()
    assert found["algorithms"]["allreduce"] == len(package.algorithms("allreduce"))
    assert all(each.keys() == SETTING for each in found["settings"])
    shared, ucx = found["transports"]
    assert shared["ok"] and ucx["ok"]
    (devices,) = ucx["checks"]
    assert devices["ok"] or "RDMA" in devices["found"] or "UCX" in devices["found"]
    names = ["join", "collective", "shared buffers", "memory probe", "membarrier", "attach"]
    assert [each["name"] for each in shared["checks"]] == names
    shown = stretto("info")
    assert shown.returncode == 0, shown.stderr
    for section in SECTIONS:
        assert f"\n{section}\n" in "\n" + shown.stdout
    assert "STRETTO_HEAP_BYTES" in shown.stdout and "bfloat16" in shown.stdout


def test_sections(stretto):
    assert list(told(stretto, "cores", "library")) == ["library", "cores", "failures"]
    assert "STRETTO_TIMEOUT" not in stretto("info", "memory").stdout
    assert stretto("info", "everything").returncode == 2


def test_settings_have_a_source(stretto):
    found = told(stretto, "settings", STRETTO_TIMEOUT="2min", STRETTO_SPIN="")
    timeout = setting(found, "STRETTO_TIMEOUT")
    assert (timeout["value"], timeout["source"]) == ("2min", "environment")
    assert timeout["number"] == 120 * 10**9
    assert timeout["default"] == "600"
    assert setting(found, "STRETTO_SPIN")["source"] == "default"


def test_a_value_that_cannot_be_read_is_shown(stretto):
    found = told(stretto, "settings", status=1, STRETTO_RING_BYTES="much")
    ring = setting(found, "STRETTO_RING_BYTES")
    assert ring["value"] == "much"
    assert "STRETTO_RING_BYTES is 'much'; it takes bytes" in ring["error"]
    assert found["failures"] == ["STRETTO_RING_BYTES cannot be read"]
    done = stretto("info", STRETTO_RING_BYTES="much")
    assert done.returncode == 1
    assert "it takes bytes" in done.stdout
    assert "stretto: STRETTO_RING_BYTES cannot be read" in done.stderr
    assert "shared memory does not work" in done.stderr  # as in any job with this setting


def test_an_unreadable_instruction_set_leaves_the_rest(stretto):
    found = told(stretto, "library", "settings", status=1, STRETTO_ISA="sse2")
    assert found["library"]["kernels"] is None
    assert "STRETTO_ISA cannot be read" in found["failures"]
    assert told(stretto, "library", STRETTO_ISA="baseline")["library"]["kernels"] == "baseline"


def test_an_unknown_variable_is_told_but_harmless(stretto):
    found = told(stretto, "settings", STRETTO_TIMEOT="5")
    wrong = setting(found, "STRETTO_TIMEOT")
    assert (wrong["type"], wrong["value"]) == ("unknown", "5")
    assert "did you mean STRETTO_TIMEOUT?" in wrong["error"]
    assert "did you mean STRETTO_TIMEOUT?" in stretto("info", STRETTO_TIMEOT="5").stdout


def test_whatever_the_environment_holds_can_be_shown(stretto):
    done = stretto("info", "settings", STRETTO_JOB="a\x1b[31m[bold]b\udcff", STRETTO_X="[/]")
    assert done.returncode == 0, done.stderr
    assert "a?[31m[bold]b?" in done.stdout
    assert "[/]" in done.stdout


def test_markdown_is_the_page_in_the_docs(stretto):
    page = (ROOT / "docs" / "settings.md").read_text()
    assert stretto("info", "--markdown").stdout == page
    assert stretto("info", "settings", "--markdown", STRETTO_TIMEOUT="1").stdout == page
    assert stretto("info", "cores", "--markdown").returncode == 2


def test_fewer_cores_are_seen():
    cores = sorted(os.sched_getaffinity(0))
    script = (
        f"import os, stretto; os.sched_setaffinity(0, {{{cores[-1]}}}); "
        "from stretto.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "info", "cores", "transports", "--json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert found["cores"]["cores"] == 1
    assert found["cores"]["allowed"] == cores[-1:]
    probe = next(e for e in found["transports"][0]["checks"] if e["name"] == "memory probe")
    assert "two cores" in probe["found"]


def test_a_segment_without_room(stretto):
    found = told(stretto, "memory", "transports", status=1, STRETTO_RING_BYTES="1T")
    assert not found["memory"]["enough"]
    join = found["transports"][0]["checks"][0]
    assert not join["ok"] and join["needed"]
    assert "no room for the shared segment" in join["found"]
    assert "STRETTO_RING_BYTES" in join["remedy"]
    assert len(found["transports"][0]["checks"]) == 3  # what needs a job was not tried
    assert "shared memory does not work" in found["failures"]


def test_a_machine_without_memory(tmp_path):
    """In a private view of /proc, the machine is full."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("needs root and unshare")
    full = tmp_path / "meminfo"
    full.write_text("MemTotal: 1000 kB\nMemAvailable: 100 kB\n")
    script = (
        f'mount --bind "{full}" /proc/meminfo || exit 77; '
        f'exec "{Path(sys.executable).parent / "stretto"}" info memory transports --json'
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, check=False
    )
    if done.returncode == 77 or not done.stdout:
        pytest.skip(f"cannot unshare: {done.stderr}")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["memory"]["machine_bytes"] == found["memory"]["available_bytes"] == 102400
    assert not found["memory"]["enough"]
    assert "no room" in found["transports"][0]["checks"][0]["found"]


def test_a_process_without_address_space():
    """Heaps are mapped when first needed: the second step of a job that began well."""
    script = (
        "import resource, stretto; from stretto.cli import main; "
        "resource.setrlimit(resource.RLIMIT_AS, (32 << 30, 32 << 30)); main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "info", "transports", "--json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    checks = json.loads(done.stdout)["transports"][0]["checks"]
    assert [each["ok"] for each in checks[:3]] == [True, True, False]
    assert "STRETTO_HEAP_BYTES" in checks[2]["found"] + checks[2]["remedy"]


def test_interfaces_and_what_is_left_of_them(stretto):
    found = told(stretto, "network", STRETTO_IFACE="^lo")["network"]
    loopback = next(each for each in found["interfaces"] if each["loopback"])
    assert not loopback["used"]
    assert loopback["name"].startswith("lo") and loopback["mtu"] > 0
    assert "not used: STRETTO_IFACE" in stretto("info", "network", STRETTO_IFACE="^lo").stdout
    found = told(stretto, "network", status=1, STRETTO_IFACE="eth0,^lo")
    assert "STRETTO_IFACE is 'eth0,^lo'" in found["network"]["interfaces_problem"]
    assert found["network"]["interfaces"]
    assert found["failures"] == ["STRETTO_IFACE cannot be read"]


def test_the_way_to_the_job(stretto):
    """By the kernel's way to STRETTO_ADDR, and what STRETTO_IFACE leaves of it."""
    nowhere = {"to": None, "interface": None, "address": None, "problem": None}
    assert told(stretto, "network")["network"]["way"] == nowhere
    assert "STRETTO_ADDR is not set" in stretto("info", "network").stdout

    found = told(stretto, "network", STRETTO_ADDR="127.0.0.1:29400")["network"]
    loopback = next(each for each in found["interfaces"] if each["loopback"])
    assert found["way"] == {
        "to": "127.0.0.1:29400", "interface": loopback["name"], "address": "127.0.0.1",
        "problem": None,
    }  # fmt: skip
    shown = stretto("info", "network", STRETTO_ADDR="127.0.0.1:29400").stdout
    assert f"way: to 127.0.0.1:29400 from 127.0.0.1 on {loopback['name']}" in shown

    settings = {"STRETTO_ADDR": "127.0.0.1:29400", "STRETTO_IFACE": "nothing"}
    found = told(stretto, "network", status=1, **settings)
    assert "STRETTO_IFACE='nothing'" in found["network"]["way"]["problem"]
    assert found["network"]["way"]["to"] is None
    assert found["failures"] == ["there is no way to STRETTO_ADDR"]

    found = told(stretto, "network", status=1, STRETTO_ADDR="node7")
    assert "STRETTO_ADDR" in found["network"]["way"]["problem"]


def test_a_secret_is_never_shown(stretto, tmp_path):
    value = "do-not-show-" + 32 * "x"
    found = told(stretto, STRETTO_SECRET=value, STRETTO_SECRT=value)
    assert value not in json.dumps(found)
    assert setting(found, "STRETTO_SECRET")["value"] == "set"
    assert setting(found, "STRETTO_SECRT")["value"] == "set"
    assert found["network"]["secret"] == {
        "origin": "STRETTO_SECRET", "given": True, "problem": None,
    }  # fmt: skip
    assert value not in stretto("info", STRETTO_SECRET=value, STRETTO_SECRT=value).stdout
    found = told(stretto, "network", status=1, STRETTO_SECRET="do-not-show")
    assert "has 11 characters" in found["network"]["secret"]["problem"]
    assert "do-not-show" not in json.dumps(found)
    assert found["failures"] == ["the secret cannot be used"]
    # Whoever asks for none needs none.
    found = told(stretto, "network", XDG_CONFIG_HOME=str(tmp_path), STRETTO_SECRET="")
    assert "stretto secret" in found["network"]["secret"]["problem"]


def test_a_forced_algorithm_does_not_disturb_the_trial(stretto):
    found = told(stretto, "transports", "settings", STRETTO_ALGORITHM="ring", STRETTO_TIMEOUT="1")
    assert found["transports"][0]["ok"]
    assert setting(found, "STRETTO_TIMEOUT")["value"] == "1"  # the trial's own patience is not told


def test_typed_records(monkeypatch):
    monkeypatch.setenv("STRETTO_HEAP_BYTES", "1G")
    monkeypatch.setenv("STRETTO_ISB", "\udcff")  # no UTF-8
    settings = {each.name: each for each in package.settings()}
    assert settings["STRETTO_HEAP_BYTES"].number == 1 << 30
    assert settings["STRETTO_HEAP_BYTES"].source == "environment"
    assert settings["STRETTO_RANK"].for_launchers
    assert settings["STRETTO_ISB"].value == "\udcff"
    assert "STRETTO_ISA" in settings["STRETTO_ISB"].error
    machine = package.examine()
    assert 1 <= machine.cores <= machine.cores_allowed <= machine.cores_online
    assert machine.kernels in machine.kernels_able
    assert machine.memory_available > 0


def test_a_communicator_tells_what_it_goes_by():
    comm = package.init(0, 1, f"info-{os.getpid()}")
    before = {each.name: each for each in comm.settings()}
    assert before["STRETTO_SIZE"].source == "program"
    assert before["STRETTO_REPRODUCIBLE"].source == "default"
    comm.set_reproducible("full")
    after = {each.name: each for each in comm.settings()}
    assert (after["STRETTO_REPRODUCIBLE"].value, after["STRETTO_REPRODUCIBLE"].source) == (
        "full", "program",
    )  # fmt: skip
    comm.finalize()
    with pytest.raises(package.ArgumentError):
        comm.settings()


def test_caches_are_counted_once(tmp_path):
    """Four cores of two, with a thread each; two levels of cache."""
    for core in range(4):
        pair = "0-1" if core < 2 else "2-3"
        write(tmp_path / f"cpu/cpu{core}/topology", physical_package_id=core // 2,
              thread_siblings_list=core)  # fmt: skip
        caches = (
            ("Data", 1, "32K", core),
            ("Instruction", 1, "32K", core),
            ("Unified", 2, "1M", pair),
        )
        for index, (kind, level, size, shared) in enumerate(caches):
            write(tmp_path / f"cpu/cpu{core}/cache/index{index}", type=kind, level=level, size=size,
                  shared_cpu_list=shared)  # fmt: skip
    write(tmp_path / "node/node0", cpulist="0-3")
    write(tmp_path / "node/node1", cpulist="4-7")
    assert topology([0, 1, 3], tmp_path) == {
        "packages": 2,
        "numa_nodes": 1,
        "threads_of_a_core": 1,
        "caches": [
            {"level": 1, "bytes": 32 << 10, "shared_by": ["0", "1", "3"]},
            {"level": 2, "bytes": 1 << 20, "shared_by": ["0-1", "3"]},
        ],
    }
    assert topology([0], tmp_path / "nowhere") == {
        "packages": None, "numa_nodes": None, "threads_of_a_core": None, "caches": [],
    }  # fmt: skip
    assert parse_cores("0-2,8,10-11") == [0, 1, 2, 8, 10, 11]


def write(folder: Path, **files: object) -> None:
    folder.mkdir(parents=True)
    for name, value in files.items():
        (folder / name).write_text(f"{value}\n")


def test_help_names_the_sections():
    shown = CliRunner().invoke(cli, ["info", "--help"]).output
    assert all(section in shown for section in SECTIONS)
