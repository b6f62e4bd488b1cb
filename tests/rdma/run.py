#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The tests over UCX once more, over real verbs: in a virtual machine with a soft RoCE device.

The machine is Debian's kernel with its module rdma_rxe, under QEMU, and a file system in memory
that holds busybox, UCX, the drivers of libibverbs, and the tests with all libraries that they load.
It has neither disk nor network but a dummy interface, on which the device is.  make test-rdma.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
# What UCX and libibverbs load by name, so that no program lists it.
PLUGINS = [
    "libucp.so.0",
    "ucx/libuct_ib.so.0",
    "ucx/libuct_cma.so.0",
    "libibverbs/librxe-rdmav34.so",
]
# Folders of kernel modules: soft RoCE, what it needs, and an interface for it.
MODULES = [
    "drivers/infiniband/core",
    "drivers/infiniband/sw/rxe",
    "drivers/net/dummy.ko",
    "net/ipv4/udp_tunnel.ko",
    "net/ipv6/ip6_udp_tunnel.ko",
    "fs/configfs",
    "crypto",
    "arch/x86/crypto",
    "lib",
]
KERNEL_PACKAGE = "linux-image-amd64"
# What of another release of Debian takes the place of this machine's: UCX, the libraries that it
# needs, and libc6, which works for programs of earlier releases as well.
RELEASE_PACKAGES = [
    "libucx0",
    "libc6",
    "libibverbs1",
    "ibverbs-providers",
    "libnl-3-200",
    "libnl-route-3-200",
]
MIRROR = "http://deb.debian.org/debian"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# All that run over UCX but those of children, which cannot (docs/ucx.md).
TESTS, CHILDREN = "^ucx_|_ucx$", "^api_fork"
PATIENCE_S = 900  # for one test: the emulated machine takes seconds for a communicator
# Nothing but the device; "self" would keep ranks that are threads off it.
SETTINGS = {
    "UCX_TLS": "rc,ud",
    "STRETTO_TEST_UCX_TLS": "rc,ud",
    "UCX_LOG_LEVEL": "fatal",
    # A communicator takes seconds, and what is measured there is of no use.
    "STRETTO_INIT_TIMEOUT": "600",
    "STRETTO_TUNING_FILE": "assumed",
    # Soft RoCE takes UCX's default, 7, for "for ever", and no link to a dead rank would break.
    "UCX_RC_VERBS_RETRY_COUNT": "6",
    # By default each worker gives the device 66 MiB to receive into.
    "UCX_RC_VERBS_RX_QUEUE_LEN": "256",
    "UCX_UD_VERBS_RX_QUEUE_LEN": "256",
}


COLOR = re.compile(r"\x1b\[[0-9;]*m")


class Impossible(Exception):
    """This machine cannot run it: why, and what to install."""


@dataclass(frozen=True)
class Test:
    name: str
    command: list[str]
    environment: dict[str, str]


def output(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def find_tests(build: Path, ctest: str, pattern: str, settings: dict[str, str]) -> list[Test]:
    listing = json.loads(
        output(ctest, "--test-dir", build, "--show-only=json-v1", "-R", pattern, "-E", CHILDREN)
    )
    tests = []
    for each in listing["tests"]:
        properties = {p["name"]: p["value"] for p in each.get("properties", [])}
        environment = dict(item.split("=", 1) for item in properties.get("ENVIRONMENT", []))
        tests.append(Test(each["name"], each["command"], environment | settings))
    if not tests:
        raise Impossible(f"{build} has no test {pattern}")
    return tests


# ---- packages, which are unpacked and not installed


def download(folder: Path, options: Sequence[str], packages: Sequence[str], to: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for archive in folder.glob("*.deb"):
        archive.unlink()
    subprocess.run(
        ["apt-get", *options, "download", "-q", *packages], cwd=folder, check=True,
        capture_output=True,
    )  # fmt: skip
    for archive in folder.glob("*.deb"):
        subprocess.run(["dpkg", "-x", archive, to], check=True)
        archive.unlink()


def kernel(folder: Path) -> Path:
    """Where Debian's kernel and its modules lie unpacked; nothing is installed."""
    unpacked = folder / "kernel"
    if not list(unpacked.glob("boot/vmlinuz-*")):
        depends = output("apt-cache", "depends", "--important", KERNEL_PACKAGE)
        package = re.search(r"Depends: (linux-image-\S+)", depends)
        if package is None:
            raise Impossible(f"apt-get knows no package {KERNEL_PACKAGE} (apt-get update)")
        download(folder, [], [package[1]], unpacked)
    return unpacked


def release(name: str, folder: Path) -> Path:
    """Where UCX of that release of Debian lies unpacked, with all that it needs."""
    unpacked = folder / name
    if not (unpacked / LIBRARIES.relative_to("/") / PLUGINS[0]).exists():
        lists = folder / f"apt-{name}"
        for each in ("lists/partial", "cache/archives/partial"):
            (lists / each).mkdir(parents=True, exist_ok=True)
        (lists / "sources.list").write_text(f"deb [signed-by={KEYRING}] {MIRROR} {name} main\n")
        apt = {
            "Etc::SourceList": lists / "sources.list",
            "Etc::SourceParts": "/dev/null",
            "State::Lists": lists / "lists",
            "Cache": lists / "cache",
        }
        options = [word for key, path in apt.items() for word in ("-o", f"Dir::{key}={path}")]
        try:
            subprocess.run(["apt-get", *options, "update", "-q"], check=True, capture_output=True)
            packages = [f"{package}/{name}" for package in RELEASE_PACKAGES]
            download(folder, options, packages, unpacked)
        except subprocess.CalledProcessError as error:
            raise Impossible(f"no UCX of Debian {name}: {error.stderr.decode()}") from error
    return unpacked


def copy_modules(unpacked: Path, root: Path) -> None:
    (tree,) = unpacked.glob("lib/modules/*")
    target = root / "lib/modules" / tree.name
    for each in MODULES:
        source = tree / "kernel" / each
        if source.is_dir():
            shutil.copytree(source, target / "kernel" / each)
        elif source.exists():
            (target / "kernel" / each).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target / "kernel" / each)
    for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
        shutil.copy(tree / name, target / name)
    subprocess.run(["/sbin/depmod", "-b", root, tree.name], check=True)


# ---- the file system


def libraries_of(files: Iterable[Path]) -> set[Path]:
    found = set()
    for line in output("ldd", *files).splitlines():
        if path := re.search(r"(?:=> )?(/\S+) \(0x", line):
            found.add(Path(path[1]))
        elif "not found" in line:
            raise Impossible(f"a test needs {line.strip()}")
    return found


def copy(file: Path, root: Path) -> None:
    target = root / file.relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        shutil.copy(file, target)


def fill(root: Path, tests: Sequence[Test], other: Path | None) -> None:
    """`other`: a folder whose libraries take the place of this machine's."""
    for folder in ("lib", "lib64"):
        (root / "usr" / folder).mkdir(parents=True)
        (root / folder).symlink_to(f"usr/{folder}")
    programs = {Path(word) for test in tests for word in test.command if word.startswith("/")}
    plugins = [LIBRARIES / name for name in PLUGINS]
    if absent := [str(plugin) for plugin in plugins if not plugin.exists()]:
        raise Impossible(f"no {', '.join(absent)} (apt-get install libucx0 ibverbs-providers)")
    for file in {*programs, *plugins, *libraries_of([*programs, *plugins])}:
        copy(file, root)
    copy(Path("/etc/libibverbs.d/rxe.driver"), root)
    for folder in ("bin", "dev", "proc", "sys", "tmp"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for tool in ("busybox", "rdma"):
        shutil.copy(shutil.which(tool) or "", root / "bin" / tool)
        for library in libraries_of([root / "bin" / tool]) if tool != "busybox" else ():
            copy(library, root)
    if other is not None:
        for folder in ("lib", "lib64"):
            subprocess.run(
                ["cp", "-a", "--remove-destination", f"{other}/usr/{folder}/.",
                 root / "usr" / folder], check=True,
            )  # fmt: skip
    shutil.copy(HERE / "init.sh", root / "init")
    (root / "init").chmod(0o755)


def script(tests: Sequence[Test]) -> str:
    """Runs the tests one after another, each between two lines that results() reads."""
    lines = []
    for test in tests:
        words = [f"{name}={shlex.quote(value)}" for name, value in test.environment.items()]
        words += ["timeout", str(PATIENCE_S), *map(shlex.quote, test.command)]
        lines.append(f"run {test.name} {' '.join(words)}")
    return "\n".join(lines) + "\n"


# ---- the machine


def boot(folder: Path) -> str:
    """What the machine writes to its console until it is off."""
    (image,) = (folder / "kernel/boot").glob("vmlinuz-*")
    root, archive, console = folder / "root", folder / "root.cpio", folder / "console.txt"
    names = output("find", root, "-mindepth", "1", "-printf", "%P\n")
    with archive.open("wb") as to:
        subprocess.run(
            ["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, input=names.encode(), stdout=to,
            check=True,
        )  # fmt: skip
    with console.open("wb") as to:
        subprocess.run(
            ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-smp", "2", "-m", "6G",
             "-nographic", "-no-reboot", "-nic", "none", "-kernel", image, "-initrd", archive,
             "-append", "console=ttyS0 panic=-1 quiet loglevel=3 no_timer_check"],
            stdin=subprocess.DEVNULL, stdout=to, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    return console.read_text(errors="replace")


def results(console: str, tests: Sequence[Test]) -> Iterator[tuple[bool, str]]:
    """Of each test, whether it passed, and a line that says so."""
    for test in tests:
        found = re.search(
            rf"# begin {test.name}\s*$(?P<said>.*?)"
            r"^# end (?P<code>\d+) (?P<packets>\d+) (?P<seconds>\d+)",
            console, re.MULTILINE | re.DOTALL,
        )  # fmt: skip
        if found is None:
            yield False, f"{test.name}: the machine ended before it"
            continue
        took = f"{found['packets']} packets, {found['seconds']} s"
        if found["code"] != "0":
            yield False, f"{test.name}: exit code {found['code']}, {took}{found['said'].rstrip()}"
        elif found["packets"] == "0":
            yield False, f"{test.name}: the device has sent nothing: it has not gone over RDMA"
        else:
            cases = re.search(
                r"test cases: +(\d+).*assertions: +(\d+)", COLOR.sub("", found["said"]), re.S
            )
            count = f"{cases[1]} cases, {cases[2]} checks, " if cases else ""
            yield True, f"{test.name}: passed, {count}{took}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--build", type=Path, required=True, help="folder where the tests are built")
    add("--ctest", required=True, help="the ctest that lists them")
    add("--folder", type=Path, required=True, help="for the machine, 1 GiB; kept for the next run")
    add("--tests", default=TESTS, metavar="REGEX", help=f"which tests (default: {TESTS})")
    add(
        "--release", metavar="NAME", help="of Debian, whose UCX to use (default: the installed one)"
    )
    add("--set", metavar="NAME=VALUE", action="append", default=[], help="for all tests")
    options = parser.parse_args()
    settings = SETTINGS | dict(each.split("=", 1) for each in options.set)
    folder = options.folder.resolve()
    try:
        tests = find_tests(options.build, options.ctest, options.tests, settings)
        unpacked = kernel(folder)
        other = release(options.release, folder) if options.release else None
        shutil.rmtree(folder / "root", ignore_errors=True)
        fill(folder / "root", tests, other)
    except Impossible as why:
        print(f"SKIPPED: no test over RDMA runs here: {why}")
        return 0
    copy_modules(unpacked, folder / "root")
    (folder / "root/tests").write_text(script(tests))
    print(
        f"{len(tests)} tests over soft RoCE, emulated: {folder / 'console.txt'} grows", flush=True
    )
    failed = 0
    for passed, line in results(boot(folder), tests):
        print(line)
        failed += not passed
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
