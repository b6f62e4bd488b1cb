# SPDX-License-Identifier: BSD-3-Clause
"""A host is a machine of its own to those who are in it."""

from __future__ import annotations

import os
import subprocess

import pytest
from conftest import LAB, Lab


@pytest.fixture(scope="module")
def pair(make_lab) -> Lab:
    return make_lab(2, "--shm", "1m")


def test_names_and_devices(pair):
    for host in (1, 2):
        said = pair(
            "exec", f"h{host}", "sh", "-c", "hostname; cat /etc/hostname; ls /sys/class/net"
        )
        assert said.stdout.split() == [f"h{host}", f"h{host}", "eth0", "lo"]
    assert os.uname().nodename not in ("h1", "h2")


def test_names_are_addresses(pair):
    code = "import socket; print(*(socket.gethostbyname(h) for h in ('h1', 'h2')))"
    assert pair.python(2, code) == "10.83.0.1 10.83.0.2\n"


@pytest.mark.parametrize("address", ["10.83.0.2", "fd53:7472:6574:746f::2"])
def test_both_versions_of_addresses_reach(pair, address):
    serve = (
        "import socket, sys\nfamily = socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET\n"
        "s = socket.create_server((sys.argv[1], 7001), family=family)\nprint('ready', flush=True)\n"
        "c, peer = s.accept(); c.sendall(peer[0].encode())"
    )
    server = pair.serve(2, serve, address)
    code = (
        "import socket, sys\nc = socket.create_connection((sys.argv[1], 7001), 20)\n"
        "print(c.makefile().read())"
    )
    assert pair.python(1, code, address) == address[:-1] + "1\n"
    server.communicate(timeout=60)


def test_shared_memory_does_not_reach_across(pair):
    pair("exec", "h1", "sh", "-c", "echo mine > /dev/shm/lab-file")
    assert pair("exec", "h1", "cat", "/dev/shm/lab-file").stdout == "mine\n"
    assert pair("exec", "h2", "ls", "/dev/shm").stdout == ""
    assert not os.path.exists("/dev/shm/lab-file")


def test_shared_memory_has_the_size_that_was_asked_for(pair):
    code = "import os; s = os.statvfs('/dev/shm'); print(s.f_blocks * s.f_frsize)"
    assert pair.python(1, code) == f"{1 << 20}\n"


def test_abstract_sockets_do_not_reach_across(pair):
    server = pair.serve(
        1,
        "import socket\ns = socket.socket(socket.AF_UNIX); s.bind('\\0lab-test'); s.listen()\n"
        "print('ready', flush=True)\ns.accept(); s.accept()",
    )
    code = (
        "import socket\ns = socket.socket(socket.AF_UNIX)\n"
        "try: s.connect('\\0lab-test'); print('there')\n"
        "except ConnectionRefusedError: print('nobody')"
    )
    assert pair.python(1, code) == "there\n"
    assert pair.python(2, code) == "nobody\n"
    server.terminate()
    server.communicate(timeout=60)


def test_processes_are_not_seen_across(pair):
    sleeper = pair.serve(
        1, "print('ready', flush=True); import time; time.sleep(600)", "look-for-this"
    )
    code = (  # which does not hold the word that it looks for
        "import os\nfor p in filter(str.isdigit, os.listdir('/proc')):\n"
        "    if '-'.join(('look', 'for', 'this')) in open(f'/proc/{p}/cmdline').read(): print(p)"
    )
    assert len(pair.python(1, code).split()) == 1
    assert pair.python(2, code) == ""
    sleeper.terminate()
    sleeper.communicate(timeout=60)
    first = "import os; print(os.path.exists('/proc/1'), os.getpid() < 1000)"
    assert pair.python(2, first) == "True True\n"


def test_exec_passes_on_status_and_folder(pair):
    assert pair("exec", "h1", "sh", "-c", "exit 7", status=7).stdout == ""
    assert pair("exec", "h1", "sh", "-c", "kill -9 $$", status=137).stdout == ""
    assert pair("exec", "h1", "pwd", cwd="/usr").stdout == "/usr\n"
    assert "no-such-program" in pair("exec", "h1", "no-such-program", status=1).stderr
    failed = pair("exec", "h1", "pwd", cwd="/run", status=None)
    assert failed.stdout == "/run\n"  # which is the host's own
    assert "the cluster has the hosts h1 to h2" in pair("exec", "h3", "true", status=1).stderr


def test_a_host_starts_programs_in_another(pair):
    rsh = LAB / "rsh"
    said = pair("exec", "h1", rsh, "-x", "h2", "hostname;", "echo", "$((2 + 3))")
    assert said.stdout == "h2\n5\n"
    assert pair("exec", "h1", rsh, "10.83.0.2", "exit 9", status=9).stdout == ""
    assert pair("exec", "h1", rsh, "h2", "kill $$; echo alive", status=143).stdout == ""
    assert "there is no host h7" in pair("exec", "h1", rsh, "h7", "true", status=255).stderr
    outside = subprocess.run([rsh, "h2", "true"], capture_output=True, text=True, check=False)
    assert outside.returncode == 255
    assert "works inside of a host" in outside.stderr
