# SPDX-License-Identifier: BSD-3-Clause
"""A virtual machine with a soft RoCE device, and what it runs.

The machine is Debian's kernel with its module rdma_rxe, under QEMU, and a file system in memory
that holds busybox, UCX, the drivers of libibverbs, and programs with all libraries that they load.
It has neither disk nor network but a dummy interface, on which the device is.
"""

from __future__ import annotations

import argparse
import lzma
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[1] / "build/rdma"
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
# Nothing but the device; "self" would keep ranks that are threads off it.
SETTINGS = {
    "UCX_TLS": "rc,ud",
    "UCX_LOG_LEVEL": "fatal",
    # Soft RoCE takes UCX's default, 7, for "for ever", and no link to a dead rank would break.
    "UCX_RC_VERBS_RETRY_COUNT": "6",
    # By default each worker gives the device 66 MiB to receive into.
    "UCX_RC_VERBS_RX_QUEUE_LEN": "256",
    "UCX_UD_VERBS_RX_QUEUE_LEN": "256",
}


class Impossible(Exception):
    """This machine cannot run it: why, and what to install."""


@dataclass(frozen=True, eq=False)
class Run:
    """A command of the machine; files that it names are copied there."""

    name: str
    command: list[str]
    environment: dict[str, str]
    # The emulated machine takes seconds for a communicator.
    patience_s: int = 900


@dataclass(frozen=True)
class Outcome:
    code: int
    packets: int  # that the device has sent meanwhile
    seconds: int
    said: str


def output(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


# ---- packages, which are unpacked and not installed


def run_apt(*command: str, folder: Path | None = None) -> None:
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    except subprocess.CalledProcessError as error:
        raise Impossible(f"{' '.join(command)}: {error.stderr.decode()}") from error


def download(folder: Path, options: Sequence[str], packages: Sequence[str], to: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for archive in folder.glob("*.deb"):
        archive.unlink()
    run_apt("apt-get", *options, "download", "-q", *packages, folder=folder)
    for archive in folder.glob("*.deb"):
        subprocess.run(["dpkg", "-x", archive, to], check=True)
        archive.unlink()


def lists_of(name: str | None, folder: Path) -> list[str]:
    """Options of apt for that release of Debian, whose lists are fetched (None: the installed)."""
    if name is None:
        return []
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
    run_apt("apt-get", *options, "update", "-q")
    return options


def kernel(name: str | None, folder: Path) -> Path:
    """Where the kernel of that release of Debian and its modules lie unpacked."""
    unpacked = folder / ("kernel" if name is None else f"kernel-{name}")
    if not list(unpacked.glob("boot/vmlinuz-*")):
        options = lists_of(name, folder)
        depends = output("apt-cache", *options, "depends", "--important", KERNEL_PACKAGE)
        package = re.search(r"Depends: (linux-image-\S+)", depends)
        if package is None:
            raise Impossible(f"apt-get knows no package {KERNEL_PACKAGE} (apt-get update)")
        download(folder, options, [package[1]], unpacked)
    return unpacked


def release(name: str, folder: Path) -> Path:
    """Where UCX of that release of Debian lies unpacked, with all that it needs."""
    unpacked = folder / name
    if not (unpacked / LIBRARIES.relative_to("/") / PLUGINS[0]).exists():
        packages = [f"{package}/{name}" for package in RELEASE_PACKAGES]
        download(folder, lists_of(name, folder), packages, unpacked)
    return unpacked


# ---- the file system


def libraries_of(files: Iterable[Path]) -> set[Path]:
    found = set()
    for line in output("ldd", *files).splitlines():
        if path := re.search(r"(?:=> )?(/\S+) \(0x", line):
            found.add(Path(path[1]))
        elif "not found" in line:
            raise Impossible(f"a program needs {line.strip()}")
    return found


def copy(file: Path, root: Path) -> None:
    target = root / file.relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        shutil.copy(file, target)


def copy_modules(unpacked: Path, root: Path) -> None:
    (tree,) = [*unpacked.glob("lib/modules/*"), *unpacked.glob("usr/lib/modules/*")]
    target = root / "lib/modules" / tree.name
    for each in MODULES:
        source = tree / "kernel" / each
        if source.is_dir():
            shutil.copytree(source, target / "kernel" / each)
        else:
            (target / "kernel" / each).parent.mkdir(parents=True, exist_ok=True)
            for file in source.parent.glob(f"{source.name}*"):
                shutil.copy(file, (target / "kernel" / each).parent)
    for packed in target.rglob("*.ko.xz"):  # busybox unpacks none
        packed.with_suffix("").write_bytes(lzma.decompress(packed.read_bytes()))
        packed.unlink()
    for name in ("modules.builtin", "modules.builtin.modinfo"):
        shutil.copy(tree / name, target / name)
    order = (tree / "modules.order").read_text()
    (target / "modules.order").write_text(order.replace(".ko.xz", ".ko"))
    subprocess.run(["/sbin/depmod", "-b", root, tree.name], check=True)


def fill(root: Path, runs: Sequence[Run], other: Path | None) -> None:
    """`other`: a folder whose libraries take the place of this machine's."""
    for folder in ("lib", "lib64"):
        (root / "usr" / folder).mkdir(parents=True)
        (root / folder).symlink_to(f"usr/{folder}")
    programs = {Path(word) for run in runs for word in run.command if word.startswith("/")}
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


def script(runs: Sequence[Run]) -> str:
    """Runs them one after another, each between two lines that outcome() reads."""
    lines = []
    for run in runs:
        words = [f"{name}={shlex.quote(value)}" for name, value in run.environment.items()]
        words += ["timeout", str(run.patience_s), *map(shlex.quote, run.command)]
        lines.append(f"run {run.name} {' '.join(words)}")
    return "\n".join(lines) + "\n"


# ---- the machine


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--folder", type=Path, default=FOLDER, help="for the machine, 1 GiB, kept (build/rdma)")
    add(
        "--release", metavar="NAME", help="of Debian, whose UCX to use (default: the installed one)"
    )
    add("--kernel-release", metavar="NAME", help="of Debian, whose kernel to use (the installed)")


def prepare(
    folder: Path, runs: Sequence[Run], ucx_release: str | None, kernel_release: str | None
) -> Path:
    """The kernel of a machine that will run these.  Throws Impossible."""
    unpacked = kernel(kernel_release, folder)
    other = release(ucx_release, folder) if ucx_release else None
    root = folder / "root"
    shutil.rmtree(root, ignore_errors=True)
    fill(root, runs, other)
    copy_modules(unpacked, root)
    (root / "runs").write_text(script(runs))
    (image,) = (unpacked / "boot").glob("vmlinuz-*")
    return image


def boot(folder: Path, image: Path) -> str:
    """What the machine writes to its console until it is off."""
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


def outcome(console: str, run: Run) -> Outcome | None:
    """None: the machine ended before."""
    found = re.search(
        rf"# begin {run.name}\s*$(?P<said>.*?)"
        r"^# end (?P<code>\d+) (?P<packets>\d+) (?P<seconds>\d+)",
        console, re.MULTILINE | re.DOTALL,
    )  # fmt: skip
    if found is None:
        return None
    code, packets, seconds = (int(found[name]) for name in ("code", "packets", "seconds"))
    return Outcome(code, packets, seconds, found["said"])
