# SPDX-License-Identifier: BSD-3-Clause
"""The commands of `lab/cluster`."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence

import check
import faults
import launch
import lifetime
import report
import units
from arguments import parser
from errors import LabError
from links import MTUS
from names import MOST_HOSTS
from state import Cluster, Links, changing, find


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        return WORK[options.command_name](options) or 0
    except LabError as error:
        print(f"lab/cluster: {error}", file=sys.stderr)
    except OSError as error:
        print(f"lab/cluster: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        return 130
    return 1


def _up(options: argparse.Namespace) -> None:
    if not 1 <= options.hosts <= MOST_HOSTS:
        raise LabError(f"a cluster has 1 to {MOST_HOSTS} hosts, not {options.hosts}")
    dilate = options.dilate
    if not dilate >= 1:
        raise LabError(f"--dilate {dilate:g} makes time run faster; it takes a factor from 1 on")
    rate = units.rate(options.rate) if options.rate else None
    delay = units.time_ns(options.delay) if options.delay else 0
    jitter = units.time_ns(options.jitter) if options.jitter else 0
    if options.mtu is not None and options.mtu not in MTUS:
        raise LabError(f"--mtu {options.mtu}: links carry packets of {MTUS[0]} to {MTUS[-1]} bytes")
    links = Links(
        rate=max(1, round(rate / dilate)) if rate else None,
        delay_ns=round(delay * dilate),
        jitter_ns=round(jitter * dilate),
        seed=options.seed,
        mtu=options.mtu,
        dilate=dilate,
        burst=units.size(options.burst) if options.burst else None,
        queue=units.size(options.queue) if options.queue else None,
    )
    shm = units.size(options.shm) if options.shm else 0
    cluster = Cluster(options.name, options.hosts, links, options.ipv6, shm, options.congestion)
    lifetime.up(cluster)
    if not options.quiet:
        print(report.headline(cluster))


def _down(options: argparse.Namespace) -> None:
    lifetime.down_all() if options.all else lifetime.down(options.name)


def _run(options: argparse.Namespace) -> int:
    check.need_root()
    cluster = find(options.name)
    variables = {}
    for each in options.env:
        name, equals, value = each.partition("=")
        if not name or not equals:
            raise LabError(f"--env {each}: write NAME=VALUE")
        variables[name] = value
    return launch.run(
        cluster,
        _command(options),
        launch.Options(
            hosts=units.hosts(options.hosts, cluster.size),
            ranks_per_host=options.ranks_per_host,
            launcher=options.launcher,
            variables=variables,
            prefix=options.prefix,
            keep_going=options.keep_going,
            grace=options.grace,
        ),
    )


def _exec(options: argparse.Namespace) -> int:
    check.need_root()
    cluster = find(options.name)
    return launch.execute(cluster, units.host(options.host, cluster.size), _command(options))


def _command(options: argparse.Namespace) -> list[str]:
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        raise LabError("which command? lab/cluster run ./a.out, lab/cluster exec h2 ip addr")
    return command


def _status(options: argparse.Namespace) -> None:
    check.need_root()
    report.status(options.json)


def _check(options: argparse.Namespace) -> int:
    check.need_root()
    return report.features(check.features(), options.json)


def _probe(options: argparse.Namespace) -> None:
    check.need_root()
    report.probe(find(options.name), options.seconds, options.json)


def _link(options: argparse.Namespace) -> None:
    if options.action in ("slow", "drop") and options.value is None:
        what = {"slow": "a rate: slow 100mbit", "drop": "a percentage: drop 2"}[options.action]
        raise LabError(f"link {options.host} {options.action} takes {what}")
    if options.action in ("cut", "restore") and options.value is not None:
        raise LabError(f"link {options.host} {options.action} takes no '{options.value}'")
    if options.action == "slow" and options.to:
        raise LabError("a link is slow to all; --to goes with cut, drop and restore")
    with (
        _explained("rate" if options.action == "slow" else "loss"),
        changing(options.name) as cluster,
    ):
        host = units.host(options.host, cluster.size)
        pairs = faults.others(cluster, host)
        if options.to:
            pairs = [(host, to) for to in units.hosts(options.to, cluster.size) if to != host]
        if options.action == "slow":
            faults.slow(cluster, host, round(units.rate(options.value) / cluster.links.dilate))
        elif options.action == "cut":
            faults.set_loss(cluster, pairs, 1.0)
        elif options.action == "drop":
            faults.set_loss(cluster, pairs, units.percent(options.value))
        else:
            faults.set_loss(cluster, pairs, 0.0)
            if not options.to:
                faults.slow(cluster, host, None)


def _split(options: argparse.Namespace) -> None:
    with _explained("loss"), changing(options.name) as cluster:
        sides = [units.hosts(each, cluster.size) for each in (options.one, options.other)]
        faults.split(cluster, *sides)


def _heal(options: argparse.Namespace) -> None:
    check.need_root()
    with changing(options.name) as cluster:
        faults.heal(cluster)


@contextlib.contextmanager
def _explained(feature: str) -> Iterator[None]:
    """If a command fails and the kernel lacks a feature, the error names the feature."""
    check.need_root()
    try:
        yield
    except LabError:
        check.need(feature)
        raise


def _each_host(work: Callable[[Cluster, int], None]) -> Callable[[argparse.Namespace], None]:
    def command(options: argparse.Namespace) -> None:
        check.need_root()
        with changing(options.name) as cluster:
            for host in units.hosts(options.hosts, cluster.size):
                work(cluster, host)

    return command


def _kill(options: argparse.Namespace) -> None:
    with _explained("loss"), changing(options.name) as cluster:
        for host in units.hosts(options.hosts, cluster.size):
            faults.kill(cluster, host, options.power)


WORK: dict[str, Callable[[argparse.Namespace], int | None]] = {
    "up": _up,
    "down": _down,
    "run": _run,
    "exec": _exec,
    "status": _status,
    "probe": _probe,
    "check": _check,
    "link": _link,
    "split": _split,
    "heal": _heal,
    "freeze": _each_host(faults.freeze),
    "thaw": _each_host(faults.thaw),
    "kill": _kill,
}
