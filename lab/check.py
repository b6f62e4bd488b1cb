# SPDX-License-Identifier: BSD-3-Clause
"""What this machine can do of a lab: each feature is tried in a network of its own."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass

import faults
import kernel
from errors import LabError

NAMESPACES = kernel.CLONE_NEWNET | kernel.CLONE_NEWUTS | kernel.CLONE_NEWIPC | kernel.CLONE_NEWNS


@dataclass(frozen=True)
class Feature:
    key: str
    meaning: str
    tool: str
    lines: tuple[str, ...]
    without: str  # what the kernel lacks if the feature does not work


_DROP = faults.program({2: 0.5})
_BYTECODE = f"{len(_DROP)}," + ",".join(" ".join(map(str, each)) for each in _DROP)

# In this order, in one network: later ones use what earlier ones have made.
FEATURES = (
    Feature(
        "links",
        "hosts on a switch",
        "ip",
        ("link add name b0 type bridge", "link add name v0 type veth peer name v1"),
        "bridges or veth pairs (CONFIG_BRIDGE, CONFIG_VETH)",
    ),
    Feature(
        "rate",
        "--rate, link slow",
        "tc",
        ("qdisc add dev v0 root tbf rate 1gbit burst 131072 limit 1000000",),
        "the token bucket (CONFIG_NET_SCH_TBF)",
    ),
    Feature(
        "loss",
        "link cut, link drop, split",
        "tc",
        (
            "qdisc add dev v1 clsact",
            f"filter add dev v1 ingress pref 1 bpf direct-action bytecode '{_BYTECODE}'",
        ),
        "filters by BPF (CONFIG_NET_SCH_INGRESS, CONFIG_NET_CLS_ACT, CONFIG_NET_CLS_BPF)",
    ),
    Feature(
        "delay",
        "--delay",
        "ip",
        ("tuntap add dev t0 mode tun",),
        "TUN devices (CONFIG_TUN, /dev/net/tun)",
    ),
)


def need_root() -> None:
    if os.geteuid() != 0:
        arguments = " ".join(["lab/cluster", *sys.argv[1:]])
        raise LabError(f"namespaces and links need root; run `sudo {arguments}`")


def need(*keys: str) -> None:
    """An error that says what is missing, if one of these is."""
    need_root()
    found = features()
    for feature in FEATURES:
        if feature.key in keys and found[feature.key]:
            raise LabError(
                f"this kernel lacks {feature.without}, which {feature.meaning} needs: "
                f"{found[feature.key]}"
            )


def features() -> dict[str, str]:
    """For each feature '', or why it does not work."""
    for each in ("ip", "tc"):
        if shutil.which(each) is None:
            raise LabError(f"there is no '{each}'; install iproute2 (apt-get install iproute2)")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            _try_all(writing)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with open(reading) as answers:
        lines = answers.read().splitlines()
    os.waitpid(child, 0)
    if not lines or lines[0]:
        reason = lines[0] if lines else "unknown"
        raise LabError(
            f"this machine lets even root make no namespaces ({reason}); in a container, start it "
            "with --privileged"
        )
    return dict(zip((feature.key for feature in FEATURES), lines[1:]))


def _try_all(answers: int) -> None:
    def answer(text: str) -> None:
        os.write(answers, (text.replace("\n", " ") + "\n").encode())

    try:
        kernel.unshare(NAMESPACES)
        found = [_failure(feature) for feature in FEATURES]
        kernel.unshare(kernel.CLONE_NEWPID)  # the first child ends it, so there is none
    except OSError as error:
        answer(str(error))
        return
    for each in ("", *found):
        answer(each)


def _failure(feature: Feature) -> str:
    try:
        kernel.tool([feature.tool], list(feature.lines))
        return ""
    except LabError as error:
        return str(error)
