# SPDX-License-Identifier: BSD-3-Clause
"""The devices of switch and hosts, their addresses and their rates, as lines for `ip` and `tc`.

                   host 1                      switch                      host 2
    programs - eth0 ======== veth ======== h1 - bridge0 - h2 ======== veth ======== eth0 - programs
               tbf: what it sends   tbf: what it gets       tbf                tbf

With a delay or a jitter, eth0 is a TUN device of the relay, and the veth's end is called `wire`:

    programs - eth0 (tbf) -> relay -> wire == veth == h1 (tbf) ...
                             what arrives on the wire goes straight to the programs

In slow motion it is the wire that has the bucket.
"""

from __future__ import annotations

import names
from state import Cluster, Links

# From here on segments as long as TCP makes them (64 KiB) pass unsplit: splitting them for every
# link of a large cluster takes more processor time than a small machine has.
FULL_BURST = 128 * 1024
FULL_BURST_FROM = 100 * 10**6
LEAST_BURST = 8 * 1024
LEAST_QUEUE = 256 * 1024
QUEUE_SECONDS = 0.032
USUAL_MTU = 1500  # of the kernel, for Ethernet
MTUS = range(1280, 9217)  # from the least that IPv6 allows to what switches carry
WIRE_QUEUE = 4 * 1024 * 1024


def burst(links: Links, rate: int) -> int:
    """Bytes that may pass unshaped after an idle gap: below 100 Mbit/s, those of a millisecond."""
    if links.burst is not None:
        return links.burst
    least = max(LEAST_BURST, (links.mtu or 0) + 64)  # less than a frame lets none pass
    return FULL_BURST if rate >= FULL_BURST_FROM else max(least, rate // 8000)


def queue(links: Links, rate: int) -> int:
    """Bytes that wait for the link before more is dropped."""
    if links.queue is not None:
        return links.queue
    return max(LEAST_QUEUE, int(rate / 8 * QUEUE_SECONDS))


def exact(links: Links) -> bool:
    """Whether what a host sends is made slow behind its relay, in slow motion.

    TCP lets a connection have but a millisecond of its rate in the queues of a host, or two
    packets, which is all there is of it in slow motion: connections would take turns packet by
    packet where each hands over its message at once if time is not dilated.  It counts what is in
    front of a TUN device, but not what is behind it.

    And a bucket lets the first frame after a pause pass at once, which short messages would gain
    from; so the relay keeps it for as long as the link takes for it."""
    return links.relayed and links.dilate > 1


def sending(links: Links) -> str:
    """The device whose bucket makes what a host sends as slow as its link."""
    return names.WIRE if exact(links) else names.DEVICE


def shaping(links: Links, device: str, rate: int | None) -> str:
    if rate is None:
        return f"qdisc del dev {device} root"
    # Behind a relay nothing holds TCP back.
    most = max(queue(links, rate), WIRE_QUEUE if device == names.WIRE else 0)
    shape = f"rate {rate}bit burst {burst(links, rate)} limit {most}"
    return f"qdisc replace dev {device} root tbf {shape}"


def switch_ip(cluster: Cluster, pids: list[int]) -> list[str]:
    """The bridge and all links; pids: the hosts' first processes."""
    lines = [
        f"link add name {names.BRIDGE} type bridge stp_state 0 mcast_snooping 0",
        f"link set dev {names.BRIDGE} up",
    ]
    mtu = f" mtu {cluster.links.mtu}" if cluster.links.mtu else ""
    far = names.WIRE if cluster.links.relayed else names.DEVICE
    for host, pid in enumerate(pids, 1):
        port = names.port(host)
        lines += [
            f"link add name {port}{mtu} type veth peer name {far}{mtu} "
            f"address {names.mac(host)} netns {pid}",
            f"link set dev {port} master {names.BRIDGE} up",
        ]
    return lines


def switch_tc(cluster: Cluster) -> list[str]:
    lines = [f"qdisc add dev {names.port(host)} clsact" for host in range(1, cluster.size + 1)]
    if cluster.links.rate is not None:
        for host in range(1, cluster.size + 1):
            lines.append(shaping(cluster.links, names.port(host), cluster.links.rate))
    return lines


def host_ip(cluster: Cluster, host: int, has_ipv6: bool) -> list[str]:
    lines = ["link set dev lo up"]
    if cluster.links.relayed:
        lines.append(f"link set dev {names.WIRE} up")
        lines.append(f"link set dev {names.DEVICE} txqueuelen 10000")
        if cluster.links.mtu:
            lines.append(f"link set dev {names.DEVICE} mtu {cluster.links.mtu}")
    lines.append(f"link set dev {names.DEVICE} up")
    lines.append(f"addr add {names.ipv4(host)}/{names.IPV4_BITS} dev {names.DEVICE}")
    if has_ipv6:
        lines.append(f"addr add {names.ipv6(host)}/{names.IPV6_BITS} dev {names.DEVICE} nodad")
    if cluster.links.dilate > 1:
        lines.append(patient_route(host, cluster.links.dilate))
    if cluster.links.relayed:
        return lines
    # All neighbours are known from the start: the first message pays for no question.
    for other in range(1, cluster.size + 1):
        if other != host:
            addresses = [names.ipv4(other)] + ([names.ipv6(other)] if has_ipv6 else [])
            for address in addresses:
                lines.append(
                    f"neigh add {address} lladdr {names.mac(other)} dev {names.DEVICE} "
                    "nud permanent"
                )
    return lines


def patient_route(host: int, dilate: float) -> str:
    """TCP takes a segment for lost after 200 ms: in slow motion that is nothing."""
    milliseconds = min(round(200 * dilate), 120_000)  # the kernel's most
    return (
        f"route change {names.NETWORK} dev {names.DEVICE} proto kernel scope link "
        f"src {names.ipv4(host)} rto_min {milliseconds}ms"
    )


def host_tc(cluster: Cluster) -> list[str]:
    if cluster.links.rate is None:
        return []
    return [shaping(cluster.links, sending(cluster.links), cluster.links.rate)]


def host_sysctls(cluster: Cluster, has_ipv6: bool) -> dict[str, str]:
    """Settings of the host's own network, not of the machine."""
    # What arrives on the wire is for an address of eth0.
    values = {f"net/ipv4/conf/{which}/rp_filter": "0" for which in ("all", "default")}
    if has_ipv6:
        for which in ("all", "default"):
            values[f"net/ipv6/conf/{which}/accept_dad"] = "0"
            values[f"net/ipv6/conf/{which}/accept_ra"] = "0"
    if cluster.links.dilate > 1:  # what is a moment then is a pause to TCP, which begins anew
        values["net/ipv4/tcp_slow_start_after_idle"] = "0"
    if cluster.congestion:
        values["net/ipv4/tcp_congestion_control"] = cluster.congestion
    return values
