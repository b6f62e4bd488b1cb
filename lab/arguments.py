# SPDX-License-Identifier: BSD-3-Clause
"""The command line of `lab/cluster`."""

from __future__ import annotations

import argparse
from typing import Callable

from launchers import LAUNCHERS
from names import MOST_HOSTS
from units import at_least

EXAMPLES = """\
examples, as root:
  lab/cluster up 16 --rate 1gbit                    16 hosts on a switch
  lab/cluster up 8 --rate 10gbit --delay 30us --dilate 400
                                                    the same network in slow motion
  lab/cluster run ./a.out                           a rank on each host
  lab/cluster run --hosts 1-4 --ranks-per-host 2 python train.py
  lab/cluster exec h2 ip addr                       any command in a host
  lab/cluster link h3 slow 100mbit                  while a job runs; then cut, restore, drop 2
  lab/cluster split 1-3 4-8                         and heal
  lab/cluster freeze h5                             and thaw; or kill h5
  lab/cluster down                                  removes everything

docs/lab.md has the picture and the limits.
"""

Add = Callable[..., argparse.ArgumentParser]  # a command: its name, its text, examples


def parser() -> argparse.ArgumentParser:
    """Of the whole command; `command_name` says which one it is."""
    made = argparse.ArgumentParser(
        prog="lab/cluster",
        description="A cluster of hosts on this machine, made of namespaces, with links "
        "whose rate, delay and faults you set.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = made.add_subparsers(
        title="commands", metavar="COMMAND", dest="command_name", required=True
    )

    def add(name: str, text: str, *examples: str) -> argparse.ArgumentParser:
        command = commands.add_parser(
            name,
            help=text[0].lower() + text[1:].split(".")[0],
            description=text,
            epilog="\n".join(["for example:", *(f"  lab/cluster {each}" for each in examples)]),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name not in ("status", "check"):
            command.add_argument(
                "--name", default="lab", help="which cluster (default: %(default)s)"
            )
        return command

    _lifetime(add)
    _programs(add)
    _facts(add)
    _faults(add)
    return made


def _lifetime(add: Add) -> None:
    up = add(
        "up",
        "Makes a cluster. Without --rate, its links are as fast as the machine.",
        "up 4",
        "up 16 --rate 1gbit --delay 30us",
        "up 8 --rate 10gbit --delay 30us --dilate 400 --name slow",
        "up 4 --rate 1gbit --delay 30us --jitter 2ms --mtu 9000",
    )
    up.add_argument("hosts", type=int, metavar="N", help=f"number of hosts, 1 to {MOST_HOSTS}")
    up.add_argument("--rate", help="rate of each link in each direction: 1gbit, 250mbit")
    up.add_argument("--delay", help="delay of each link in each direction: 30us, 1ms")
    up.add_argument(
        "--jitter", help="random delay on top, up to this time; connections overtake each other"
    )
    up.add_argument(
        "--seed", type=at_least(0), default=1, help="seed of --jitter (default: %(default)s)"
    )
    up.add_argument("--mtu", type=int, metavar="BYTES", help="longest packet: 9000 (default: 1500)")
    up.add_argument(
        "--dilate", type=float, default=1.0, metavar="F", help="slow motion: rate / F, delays x F"
    )
    up.add_argument("--ipv6", action="store_true", help="host names resolve to IPv6 addresses")
    up.add_argument("--shm", metavar="SIZE", help="size of each host's /dev/shm: 64m, 1g")
    up.add_argument("--congestion", metavar="NAME", help="TCP's congestion control: cubic, reno")
    up.add_argument(
        "--burst", metavar="SIZE", help="bytes that pass at full speed after an idle gap"
    )
    up.add_argument("--queue", metavar="SIZE", help="bytes that a link queues before it drops")
    up.add_argument("--quiet", action="store_true", help="print nothing")

    down = add(
        "down",
        "Ends a cluster and its processes, and removes its networks and mounts.",
        "down",
        "down --name slow",
        "down --all",
    )
    down.add_argument("--all", action="store_true", help="all clusters of this machine")


def _programs(add: Add) -> None:
    run = add(
        "run",
        "Starts ranks in the hosts, in the environment of a launcher. If a rank fails, the "
        "others\nare ended, and the exit status is that of the failed rank. At the end, all "
        "processes that\nthe ranks have started are ended too.",
        "run ./a.out",
        "run --hosts 1,3-5 --ranks-per-host 2 python train.py",
        "run --hosts 1-4,1-4 ./a.out      ranks placed in turn",
        "run --launcher torchrun --env A=B python train.py",
    )
    run.add_argument("--ranks-per-host", type=at_least(1), default=1, metavar="K")
    run.add_argument(
        "--hosts", default="all", help="hosts in the order of ranks: 1,3-5 (default: all)"
    )
    run.add_argument("--launcher", choices=sorted(LAUNCHERS), default="stretto")
    run.add_argument("--env", action="append", default=[], metavar="A=B", help="set a variable")
    run.add_argument(
        "--no-prefix", dest="prefix", action="store_false", help="no rank before a line"
    )
    run.add_argument(
        "--keep-going", action="store_true", help="other ranks continue after a failure"
    )
    run.add_argument(
        "--grace", type=float, default=5.0, metavar="SECONDS", help="time from SIGTERM to SIGKILL"
    )
    run.add_argument("command", nargs=argparse.REMAINDER, metavar="CMD")

    execute = add(
        "exec", "Runs a command in a host, on this terminal.", "exec h2 ip addr", "exec h1 bash"
    )
    execute.add_argument("host")
    execute.add_argument("command", nargs=argparse.REMAINDER, metavar="CMD")


def _facts(add: Add) -> None:
    status = add("status", "Shows all clusters, hosts and links.", "status --json")
    probe = add(
        "probe",
        "Measures the links. Round trips of small messages between h1 and h2, then the rate\n"
        "of TCP while every host sends to the next.",
        "probe --seconds 5",
    )
    probe.add_argument("--seconds", type=float, default=2.0, help="time of each measurement")
    check = add("check", "Prints which features of the lab this machine supports.", "check")
    for command in (status, probe, check):
        command.add_argument("--json", action="store_true", help="print JSON")


def _faults(add: Add) -> None:
    link = add(
        "link",
        "Changes a host's link while jobs run. It can be slow, cut (no device goes down, so\n"
        "programs get no error), or lose packets, in both directions, or only --to some hosts.\n"
        "`restore` undoes all of it.",
        "link h3 slow 100mbit",
        "link h3 cut",
        "link h3 drop 2 --to 4-8",
        "link h3 restore",
    )
    link.add_argument("host")
    link.add_argument("action", choices=("slow", "cut", "drop", "restore"))
    link.add_argument("value", nargs="?", metavar="RATE|PERCENT")
    link.add_argument("--to", metavar="HOSTS", help="change only the links to these hosts")

    split = add("split", "Cuts all links between two groups of hosts.", "split 1-3 4-8")
    split.add_argument("one", metavar="HOSTS")
    split.add_argument("other", metavar="HOSTS")
    add("heal", "Undoes split, cut and drop between all hosts.", "heal")

    for name, text in (
        ("freeze", "Stops all processes of hosts at once."),
        ("thaw", "Lets frozen hosts continue."),
        ("kill", "Ends all processes of hosts at once."),
    ):
        command = add(name, text, f"{name} h3")
        command.add_argument("hosts", help="such as h3 or 1,4-6")
        if name == "kill":
            command.add_argument(
                "--power",
                action="store_true",
                help="like a loss of power: cut its link first, so that no peer sees the end",
            )
