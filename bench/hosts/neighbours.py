#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a number of hosts that is no power of two costs, from the results of run.py: the time at P
over the lower bound at P, relative to the mean of the same at the powers of two below and above.

    sudo python3 bench/hosts/run.py --hosts 2,3,4,5,6,7,8,12,16 --sizes 4,1K,64K,1M,4M
    python3 bench/hosts/neighbours.py

1: P is as good as its neighbours.  The bound is ceil(log2 P) times a latency and the time of
2 (P - 1) / P of the vector.  The latency is what is left of the smallest measured size by it, on
the powers of two, of the fastest of all; a byte takes what the links were measured to carry.
Beside the libraries: messages by plain sockets, with nothing computed."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path += [str(HERE.parents[1]), str(HERE.parents[1] / "peers")]

from environment import enter  # noqa: E402

RESULTS = HERE.parents[2] / "results"
STRETTO, MESSAGES = "stretto", "messages alone"


def powers_around(hosts: int) -> tuple[int, int]:
    """Of two: the next ones below and above a number that is none itself."""
    below = 1 << (hosts.bit_length() - 1)
    return below, 2 * below


def steps(hosts: int) -> int:
    return (hosts - 1).bit_length()


def bytes_us(hosts: int, size: int, bits_per_second: float) -> float:
    return 2 * (hosts - 1) / hosts * size * 8 / bits_per_second * 1e6


def times(rows: list[dict]) -> dict[tuple[str, int, int], float]:
    """Medians in microseconds by library, hosts and bytes, of a rank on each host."""
    found = {}
    for row in rows:
        if row["placement"] == str(row["hosts"]):
            at = row["hosts"], row["bytes"]
            found[(STRETTO, *at)] = row["stretto"]["p50_us"]
            for name, peer in row["peers"].items():
                found[(name, *at)] = peer["p50_us"]
            if row.get("floor_us"):
                found[(MESSAGES, *at)] = row["floor_us"]
    return found


def latency_us(found: dict, rates: dict[int, float]) -> float:
    """Of a step: the same for all libraries."""
    smallest = min(size for _, _, size in found)
    each = [
        (us - bytes_us(hosts, size, rates[hosts])) / steps(hosts)
        for (_, hosts, size), us in found.items()
        if size == smallest and hosts > 1 and hosts & (hosts - 1) == 0
    ]
    return max(0.0, min(each, default=0.0))


def summarise(rows: list[dict], rates: dict[str, list[float]]) -> dict:
    """`rows` and `rates` are those of run.py."""
    carried = {
        int(hosts): statistics.median(each) for hosts, each in rates.items() if hosts.isdigit()
    }
    found = times(rows)
    latency = latency_us(found, carried)

    def over_bound(name: str, hosts: int, size: int) -> float | None:
        us = found.get((name, hosts, size))
        bound = steps(hosts) * latency + bytes_us(hosts, size, carried[hosts])
        return us / bound if us else None

    made = []
    for name, hosts, size in sorted(found, key=lambda at: (at[1], at[2], at[0] != STRETTO, at[0])):
        if hosts & (hosts - 1) == 0 or not {*powers_around(hosts)} <= carried.keys():
            continue
        around = [over_bound(name, each, size) for each in powers_around(hosts)]
        if None in around:
            continue
        mine = over_bound(name, hosts, size)
        made.append(
            {
                "hosts": hosts,
                "bytes": size,
                "who": name,
                "us": found[name, hosts, size],
                "over_bound": round(mine, 4),
                "around": [round(each, 4) for each in around],
                "relative": round(mine / statistics.mean(around), 4),
            }
        )
    return {"latency_us": round(latency, 2), "rows": made}


def libraries(rows: list[dict]) -> list[str]:
    names = dict.fromkeys([STRETTO, *(row["who"] for row in rows)])
    return sorted(names, key=lambda name: name == MESSAGES)


def markdown(summary: dict) -> str:
    from sizes import size_text

    rows = summary["rows"]
    names = libraries(rows)
    lines = [
        "Time over the lower bound, relative to the mean of the same at the powers of two below "
        "and above: 1 is as good as they are. The bound is ⌈log₂ P⌉ times "
        f"{summary['latency_us']} µs and 2(P−1)/P of the vector. In brackets µs.\n",
        f"| hosts | size | {' | '.join(names)} |",
        f"|---:|---:|{'---:|' * len(names)}",
    ]
    by = {(row["hosts"], row["bytes"], row["who"]): row for row in rows}
    for hosts, size in dict.fromkeys((row["hosts"], row["bytes"]) for row in rows):
        cells = []
        for name in names:
            row = by.get((hosts, size, name))
            cells.append(f"{row['relative']:.2f} ({row['us']:,.1f})" if row else "–")
        lines.append(f"| {hosts} | {size_text(size)} | {' | '.join(cells)} |")
    means = [
        statistics.geometric_mean([row["relative"] for row in rows if row["who"] == name])
        for name in names
    ]
    lines.append(f"| all | geometric mean | {' | '.join(f'{mean:.2f}' for mean in means)} |")
    return "\n".join(lines) + "\n"


def draw(summary: dict, path: Path) -> None:
    from figure import MORE_COLOURS
    from matplotlib.figure import Figure
    from sizes import size_text

    rows = summary["rows"]
    names, sizes = libraries(rows), sorted({row["bytes"] for row in rows})
    every = sorted({row["hosts"] for row in rows})
    figure = Figure(figsize=(1.5 + 2.6 * len(sizes), 3.4), layout="tight")
    axes = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    for axis, size in zip(axes, sizes, strict=True):
        for number, name in enumerate(names):
            here = [row for row in rows if row["bytes"] == size and row["who"] == name]
            shift = 0.8 * ((number + 0.5) / len(names) - 0.5)
            places = [every.index(row["hosts"]) + shift for row in here]
            tops = [row["relative"] for row in here]
            axis.bar(
                places,
                tops,
                0.8 / len(names),
                color=MORE_COLOURS["plain" if name == MESSAGES else name],
                label=name,
            )
        axis.axhline(1, color="0.3", lw=1)
        axis.set_xticks(range(len(every)), list(map(str, every)))
        axis.set(title=size_text(size), xlabel="hosts")
        axis.grid(axis="y", alpha=0.25)
    axes[0].set_ylabel("relative to powers of two")
    axes[0].legend(fontsize=7)
    figure.savefig(path, dpi=130)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--from", type=Path, default=RESULTS / "hosts-allreduce.json", dest="source",
        help="what run.py has written (results/hosts-allreduce.json)")  # fmt: skip
    for option, suffix in {"json": "json", "markdown": "md", "plot": "png"}.items():
        default = RESULTS / f"hosts-neighbours.{suffix}"
        add(f"--{option}", type=Path, default=default, help=f"results/{default.name}")
    options = parser.parse_args()
    results = json.loads(options.source.read_text())
    summary = summarise(results["rows"], results["rates"])
    if not summary["rows"]:
        sys.exit(f"{options.source} has no number of hosts between two powers of two")
    for path in (options.json, options.markdown, options.plot):
        path.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(summary, indent=1))
    text = markdown(summary)
    options.markdown.write_text(text)
    draw(summary, options.plot)
    print(text)
    return 0


if __name__ == "__main__":
    enter(HERE)
    sys.exit(main())
