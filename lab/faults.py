# SPDX-License-Identifier: BSD-3-Clause
"""Links that are slow, cut or lossy; hosts that are frozen or killed.

What is lost between hosts is one matrix: the share of packets of host a to host b that the switch
drops.  Each row is a program of classic BPF at the port by which a's frames enter the switch; a
kernel without `netem`, `gact`, `iptables` and `nft` has that as well.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable

import kernel
import links
import names
import processes
from errors import LabError
from state import Cluster

DROP, PASS = 2, 0xFFFFFFFF  # TC_ACT_SHOT, TC_ACT_UNSPEC
RANDOM = 0xFFFFF000 + 56  # SKF_AD_OFF + SKF_AD_RANDOM: loading from here gives 32 random bits
DESTINATION = 4  # where in a frame the last two bytes of the receiver's address are
LOAD_HALF, LOAD_WORD, IF_EQUAL, IF_AT_LEAST, RETURN = 0x28, 0x20, 0x15, 0x35, 0x06
ALL_SEGMENTS, ONE_SEGMENT = 65535, 1


def program(row: dict[int, float]) -> list[tuple[int, int, int, int]]:
    """Instructions (code, jump if true, jump if false, operand) that drop these shares."""
    code = [(LOAD_HALF, 0, 0, DESTINATION)]
    for host, share in sorted(row.items()):
        if share >= 1:
            code += [(IF_EQUAL, 0, 1, host), (RETURN, 0, 0, DROP)]
        else:
            code += [
                (IF_EQUAL, 0, 4, host),
                (LOAD_WORD, 0, 0, RANDOM),
                (IF_AT_LEAST, 1, 0, int(share * 2**32)),
                (RETURN, 0, 0, DROP),
                (RETURN, 0, 0, PASS),
            ]
    return [*code, (RETURN, 0, 0, PASS)]


def set_loss(cluster: Cluster, pairs: Iterable[tuple[int, int]], share: float) -> None:
    """Of each pair, both ways."""
    changed = set()
    for a, b in pairs:
        for sender, receiver in ((a, b), (b, a)):
            row = cluster.loss.setdefault(sender, {})
            if row.get(receiver, 0.0) != share:
                changed.add(sender)
            row[receiver] = share
            if not share:
                del row[receiver]
            if not row:
                del cluster.loss[sender]
    _apply_loss(cluster, changed)


def others(cluster: Cluster, host: int) -> list[tuple[int, int]]:
    return [(host, other) for other in range(1, cluster.size + 1) if other != host]


def split(cluster: Cluster, one: list[int], other: list[int]) -> None:
    both = sorted(set(one) & set(other))
    if both:
        raise LabError(f"h{both[0]} is on both sides of the split")
    set_loss(cluster, [(a, b) for a in one for b in other], 1.0)


def heal(cluster: Cluster) -> None:
    """Nothing is lost any more."""
    changed = set(cluster.loss)
    cluster.loss.clear()
    _apply_loss(cluster, changed)


def slow(cluster: Cluster, host: int, rate: int | None) -> None:
    """The link's rate both ways, as its host sees it; None: as `up` made it."""
    old = cluster.rates.get(host, cluster.links.rate)
    new = cluster.links.rate if rate is None else rate
    if new != old:
        switch = cluster.keeper.pid
        kernel.tool(["tc"], [links.shaping(cluster.links, names.port(host), new)], switch)
        line = links.shaping(cluster.links, links.sending(cluster.links), new)
        kernel.tool(["tc"], [line], cluster.host(host))
    cluster.rates.pop(host, None)
    if rate is not None:
        cluster.rates[host] = rate


def freeze(cluster: Cluster, host: int) -> None:
    processes.signal_all(cluster.host(host), signal.SIGSTOP)
    cluster.frozen = sorted({*cluster.frozen, host})


def thaw(cluster: Cluster, host: int) -> None:
    processes.signal_all(cluster.host(host), signal.SIGCONT)
    cluster.frozen = [each for each in cluster.frozen if each != host]


def kill(cluster: Cluster, host: int, power: bool) -> None:
    """Ends all processes of the host at once; with `power`, no other host receives their last
    packets."""
    if power:
        set_loss(cluster, others(cluster, host), 1.0)
    processes.signal_all(cluster.host(host), signal.SIGKILL)
    cluster.frozen = [each for each in cluster.frozen if each != host]


def _apply_loss(cluster: Cluster, hosts: Iterable[int]) -> None:
    far = names.WIRE if cluster.links.relayed else names.DEVICE
    lines = []
    for host in sorted(hosts):
        row = cluster.loss.get(host, {})
        place = f"dev {names.port(host)} ingress pref 1 handle 1 protocol all bpf"
        code = program(row)
        text = ",".join(" ".join(map(str, each)) for each in code)
        lines.append(f"filter replace {place} direct-action bytecode '{len(code)},{text}'")
        # Loss is of packets as a wire has them, so segments are split in front of it.
        lossy = any(share < 1 for share in row.values())
        segments = ONE_SEGMENT if lossy else ALL_SEGMENTS
        line = f"link set dev {far} gso_max_segs {segments}"
        kernel.tool(["ip"], [line], cluster.host(host))
    if lines:
        kernel.tool(["tc"], lines, cluster.keeper.pid)
