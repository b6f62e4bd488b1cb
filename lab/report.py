# SPDX-License-Identifier: BSD-3-Clause
"""The output of the commands about clusters."""

from __future__ import annotations

import json

import check
import names
import probe as probing
import processes
import relay
import state
from state import Cluster, Links
from units import show_rate, show_time


def headline(cluster: Cluster) -> str:
    plural = "s" if cluster.size > 1 else ""
    return f"cluster '{cluster.name}': {cluster.size} host{plural}, {_links(cluster.links)}"


def _links(links: Links) -> str:
    rate = show_rate(links.rate) if links.rate else "not shaped"
    delay = f", {show_time(links.delay_ns)} each way" if links.delay_ns else ""
    delay += f", up to {show_time(links.jitter_ns)} more by chance" if links.jitter_ns else ""
    delay += f", packets of {links.mtu} bytes" if links.mtu else ""
    dilated = f" (time dilated {links.dilate:g} times)" if links.dilate != 1 else ""
    return f"links {rate}{delay}{dilated}"


def status(as_json: bool) -> None:
    found = [(each, state.load(each)) for each in state.names()]
    if as_json:
        clusters = [_facts(each, cluster) for each, cluster in found]
        print(json.dumps(clusters, indent=2))
        return
    if not found:
        print("no cluster; start one with `lab/cluster up 4`")
    for each, cluster in found:
        if cluster is None or not cluster.alive():
            print(f"cluster '{each}': does not run; `lab/cluster down --name {each}`")
        else:
            _print(cluster)


def _print(cluster: Cluster) -> None:
    print(headline(cluster))
    for host in _facts(cluster.name, cluster)["hosts"]:
        notes = [f"{host['processes']} processes"] if host["alive"] else ["gone"]
        if host["frozen"]:
            notes.append("frozen")
        if host["rate"] != cluster.links.rate:
            notes.append(f"slowed to {show_rate(host['rate'])}")
        cut = [other for other, share in host["loss"].items() if share >= 1]
        if len(cut) == cluster.size - 1 and cut:
            notes.append("cut off")
        elif cut:
            notes.append("cut from " + ",".join(cut))
        notes += [
            f"loses {share:.3g} to {other}" for other, share in host["loss"].items() if share < 1
        ]
        if host["relay_says"]:
            notes.append(f"its relay: {host['relay_says']}")
        late = host["relay"]
        if late and late["packets"]:
            notes.append(
                f"relay {late['late_us_mean']:.0f} us late on average, 99 % below "
                f"{late['late_us_p99_below']} us, {late['dropped']} dropped"
            )
        print(f"  {host['name']:5}{host['ipv4']:13}{host['ipv6']:26}{', '.join(notes)}")


def _facts(name: str, cluster: Cluster | None) -> dict:
    if cluster is None or not cluster.alive():
        return {"name": name, "running": False, "hosts": []}
    hosts = []
    for host in range(1, cluster.size + 1):
        init = cluster.hosts[host - 1]
        alive = init.alive()
        late = relay.exactness(cluster, host)
        row = cluster.loss.get(host, {})
        hosts.append(
            {
                "name": names.hostname(host),
                "ipv4": names.ipv4(host),
                "ipv6": names.ipv6(host),
                "init": init.pid,
                "alive": alive,
                "processes": len(processes.of_host(init.pid)) if alive else 0,
                "frozen": host in cluster.frozen,
                "rate": cluster.rates.get(host, cluster.links.rate),
                "loss": {names.hostname(other): share for other, share in sorted(row.items())},
                "relay": late.as_json() if late else None,
                "relay_says": relay.complaints(cluster, host),
            }
        )
    return {
        "name": name,
        "running": True,
        "rate": cluster.links.rate,
        "delay_ns": cluster.links.delay_ns,
        "jitter_ns": cluster.links.jitter_ns,
        "dilate": cluster.links.dilate,
        "hosts": hosts,
    }


def probe(cluster: Cluster, seconds: float, as_json: bool) -> None:
    found = probing.measure(cluster, seconds)
    if as_json:
        print(json.dumps(found, indent=2))
        return
    trip = found["round_trip_us"]
    rates = found["payload_bits_per_second"]
    print(headline(cluster))
    print(
        f"  round trip h1-h2   {trip['median']:.1f} us median, {trip['least']:.1f} least, "
        f"{trip['p99']:.1f} p99, {trip['most']:.1f} most; {found['sent']} sent"
    )
    print(
        f"  payload, all full  {show_rate(round(min(rates), -4))} to "
        f"{show_rate(round(max(rates), -4))} each, "
        f"{show_rate(round(found['total_bits_per_second'], -4))} in all"
    )


def features(found: dict[str, str], as_json: bool) -> int:
    if as_json:
        print(json.dumps({key: not reason for key, reason in found.items()}, indent=2))
    else:
        for feature in check.FEATURES:
            reason = found[feature.key]
            lacks = f"no: the kernel lacks {feature.without}; {reason}" if reason else "yes"
            print(f"{feature.meaning:28}{lacks}")
    return int(any(found.values()))
