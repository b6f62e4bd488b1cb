# SPDX-License-Identifier: BSD-3-Clause
"""The processes of a cluster, and their work before they sleep.

    up starts the keeper, waits for all reports, writes the state, ends
    keeper  process 1 of a process-id namespace of its own, and its network is the switch
    init    one for each host: process 1 of the host's namespaces, child of the keeper
    relay   one for each host, if packets are delayed; outside of the host's process-id namespace
    agent   starts processes in hosts for processes inside other hosts (rsh.py)

The kernel ends all others when the keeper ends, and their namespaces, devices and mounts go with
them.  So a cluster can be cleared away whatever state it is in.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import kernel
import links
import names
import relay
import rsh
from errors import LabError
from state import Cluster, Process

SCM_CREDENTIALS = 2  # of Linux; Python has no name for it
CREDENTIALS = struct.Struct("3i")
START_TIMEOUT = 60.0  # seconds until all hosts must be there
MESSAGE = 1 << 16
ALL_NAMESPACES = (
    kernel.CLONE_NEWNET
    | kernel.CLONE_NEWUTS
    | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWNS
    | kernel.CLONE_NEWPID
)


def start(cluster: Cluster) -> None:
    """Starts keeper and hosts; their processes are in `cluster` when this returns."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        # Each message comes with the sender's process id as it is called here, not in there.
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        ours.settimeout(START_TIMEOUT)
        helper = os.fork()
        if helper == 0:
            ours.close()
            _in_child(lambda: _become_keeper(cluster, theirs), theirs)
        theirs.close()
        os.waitpid(helper, 0)
        keeper, _ = _receive(ours)
        cluster.keeper = Process.of(keeper)
        cluster.save()  # from here on `down` finds it
        ours.send(b"go")  # without it, or if we are gone, the keeper ends
        found: dict[int, Process] = {}
        while len(found) < cluster.size:
            pid, message = _receive(ours)
            found[message["host"]] = Process.of(pid)
        cluster.hosts = [found[host] for host in range(1, cluster.size + 1)]
        cluster.save()
        ours.send(b"done")


def _receive(connection: socket.socket) -> tuple[int, dict]:
    try:
        data, ancillary, _, _ = connection.recvmsg(MESSAGE, socket.CMSG_SPACE(CREDENTIALS.size))
    except socket.timeout:
        raise LabError(f"the hosts did not start within {START_TIMEOUT:g} s") from None
    if not data:
        raise LabError("the cluster's first process ended while the hosts were made")
    message = json.loads(data)
    if "error" in message:
        raise LabError(message["error"])
    for _, kind, value in ancillary:
        if kind == SCM_CREDENTIALS:
            return CREDENTIALS.unpack(value[: CREDENTIALS.size])[0], message
    raise LabError("the kernel does not report the sender of a message (SO_PASSCRED)")


def _in_child(work: Callable[[], None], report: socket.socket) -> NoReturn:
    """Does the work of a forked process, and reports a failure to `up`."""
    status = 1
    try:
        work()
        status = 0
    except BaseException as error:  # nothing may unwind into the code of the parent process
        text = str(error) if isinstance(error, (LabError, OSError)) else traceback.format_exc()
        report.send(json.dumps({"error": text}).encode()[:MESSAGE])
    finally:
        os._exit(status)


def _become_keeper(cluster: Cluster, report: socket.socket) -> None:
    os.setsid()
    kernel.unshare(ALL_NAMESPACES)  # so that no slip in a host can reach the machine
    if os.fork() == 0:
        _in_child(lambda: _keep(cluster, report), report)


def _keep(cluster: Cluster, report: socket.socket) -> None:
    kernel.name_process("lab-keeper")
    _detach()
    report.send(json.dumps({"keeper": cluster.name}).encode())
    if report.recv(MESSAGE) != b"go":
        return
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("proc", "/proc", "proc")  # `ip` looks at it; also ends what others may see of us
    has_ipv6 = os.path.exists("/proc/net/if_inet6")
    if has_ipv6:  # the switch has no addresses
        Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1")
    if cluster.ipv6 and not has_ipv6:
        raise LabError("--ipv6: this kernel has no IPv6, or it is switched off")

    inits = [_Init(cluster, host, report, has_ipv6) for host in range(1, cluster.size + 1)]
    pids = [init.pid for init in inits]
    kernel.tool(["ip"], links.switch_ip(cluster, pids))
    kernel.tool(["tc"], links.switch_tc(cluster))
    if cluster.links.relayed:
        for host, pid in enumerate(pids, 1):
            relay.start(cluster, host, pid)
    rsh.start(cluster, pids)
    for init in inits:
        init.go()
    if report.recv(MESSAGE) != b"done":
        return
    report.close()
    _reap_for_ever()


class _Init:
    """Process 1 of a host, as the keeper sees it."""

    def __init__(self, cluster: Cluster, host: int, report: socket.socket, has_ipv6: bool):
        namespaces_made, made = os.pipe()
        links_made, self._go = os.pipe()

        def unshared() -> None:
            kernel.unshare(ALL_NAMESPACES)
            init = os.fork()
            if init == 0:
                _in_child(inside, report)
            os.write(made, struct.pack("i", init))

        def inside() -> None:
            os.close(self._go)
            _be_host(cluster, host, report, links_made, has_ipv6)

        helper = os.fork()
        if helper == 0:
            _in_child(unshared, report)
        os.close(made)
        os.close(links_made)
        os.waitpid(helper, 0)
        answer = os.read(namespaces_made, 4)
        os.close(namespaces_made)
        if not answer:
            raise LabError(f"host h{host} could not be made")
        self.pid: int = struct.unpack("i", answer)[0]

    def go(self) -> None:
        os.write(self._go, b"g")
        os.close(self._go)


def _be_host(
    cluster: Cluster, host: int, report: socket.socket, links_made: int, has_ipv6: bool
) -> None:
    name = names.hostname(host)
    kernel.name_process(f"lab-{name}")
    socket.sethostname(name)
    _mount_own(cluster, name)
    if os.read(links_made, 1) != b"g":
        return
    for path, value in links.host_sysctls(cluster, has_ipv6).items():
        _write_sysctl(path, value)
    kernel.tool(["ip"], links.host_ip(cluster, host, has_ipv6))
    tc = links.host_tc(cluster)
    if tc:
        kernel.tool(["tc"], tc)
    report.send(json.dumps({"host": host}).encode())
    report.close()
    _reap_for_ever()


def _mount_own(cluster: Cluster, name: str) -> None:
    """The parts of the file system that a host has for itself; they are not visible outside."""
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("proc", "/proc", "proc")
    limit = f",size={cluster.shm}" if cluster.shm else ""
    kernel.mount("tmpfs", os.path.realpath("/dev/shm"), "tmpfs", 0, "mode=1777" + limit)

    # Sockets with a path reach across network namespaces, so /run, where services and the lab have
    # theirs, is the host's own.  The new one is prepared elsewhere, and then moved onto the old.
    own = cluster.folder / "mount"
    kernel.mount("tmpfs", str(own), "tmpfs", 0, "mode=755")
    for folder in ("tmp", "lock", "lab", "sys"):
        (own / folder).mkdir()
    for folder in ("tmp", "lock"):
        (own / folder).chmod(0o1777)
    kernel.mount(str(cluster.folder / "inside"), str(own / "lab"), None, kernel.MS_BIND)
    (own / "hostname").write_text(name + "\n")
    (own / "hosts").write_text(names.hosts_file(cluster.size, cluster.ipv6))
    for file in ("hostname", "hosts"):
        target = os.path.realpath(f"/etc/{file}")
        if os.path.exists(target):
            kernel.mount(str(own / file), target, None, kernel.MS_BIND)
        elif file == "hosts":
            raise LabError("there is no /etc/hosts to put the hosts' names in place of; create one")

    # /sys/class/net shows the network of the process that mounted it.
    kernel.mount("sysfs", str(own / "sys"), "sysfs")
    if os.path.ismount("/sys/fs/cgroup"):
        groups = str(own / "sys/fs/cgroup")
        kernel.mount("/sys/fs/cgroup", groups, None, kernel.MS_BIND | kernel.MS_REC)
    kernel.mount(str(own / "sys"), "/sys", None, kernel.MS_MOVE)
    (own / "sys").rmdir()
    kernel.mount(str(own), "/run", None, kernel.MS_MOVE)


def _write_sysctl(path: str, value: str) -> None:
    try:
        Path("/proc/sys", path).write_text(value)
    except OSError as error:
        if path.endswith("tcp_congestion_control"):
            allowed = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text().strip()
            raise LabError(
                f"--congestion {value}: {error.strerror}; hosts may have what the machine allows, "
                f"which is {allowed} (sysctl net.ipv4.tcp_allowed_congestion_control)"
            ) from None
        raise


def _detach() -> None:
    """Lets go of the terminal and of the folder that `up` was started in."""
    os.chdir("/")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (sys.stdin, sys.stdout, sys.stderr):
        os.dup2(nothing, descriptor.fileno())
    os.close(nothing)
    # Without handlers, the kernel keeps all but SIGKILL from a process 1.  Not ignored either: what
    # is ignored would be so in programs that the agent starts.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _reap_for_ever() -> NoReturn:
    """The work of process 1: orphans are its children."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
        signal.sigwait([signal.SIGCHLD])
