# SPDX-License-Identifier: BSD-3-Clause
"""Names of a host and its devices, and their addresses.

Every cluster uses the same ones: none is seen outside of its namespaces.  The last two bytes of
each address of host n are n; the relay turns IP into Ethernet addresses by that.
"""

from __future__ import annotations

MOST_HOSTS = 250
BRIDGE = "bridge0"
DEVICE = "eth0"  # of a host, with its addresses
WIRE = "wire"  # of a host whose eth0 ends in a relay: what the relay sends on
TEMPORARY = "/run/tmp"  # a host's own folder for temporary files
IPV4_BITS = 24
NETWORK = f"10.83.0.0/{IPV4_BITS}"
IPV6_BITS = 64


def hostname(host: int) -> str:
    return f"h{host}"


def port(host: int) -> str:
    """The switch's end of the host's link."""
    return f"h{host}"


def ipv4(host: int) -> str:
    return f"10.83.0.{host}"


def ipv6(host: int) -> str:
    return f"fd53:7472:6574:746f::{host:x}"


def mac(host: int) -> str:
    return f"02:53:54:52:{host >> 8:02x}:{host & 255:02x}"


def hosts_file(count: int, prefer_ipv6: bool) -> str:
    """/etc/hosts.  One version of addresses for each name, so that all agree what it means."""
    address = ipv6 if prefer_ipv6 else ipv4
    lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost"]
    lines += [f"{address(host)} {hostname(host)}" for host in range(1, count + 1)]
    return "\n".join(lines) + "\n"
