# SPDX-License-Identifier: BSD-3-Clause
"""`stretto explain`: which algorithm would be chosen for a call, and why."""

from __future__ import annotations

import math
import os
from typing import Any

import click
from rich.markup import escape

from stretto import _core, examine
from stretto.cli.catalog import COLLECTIVES, DTYPES, EXACT, REDUCING
from stretto.cli.hosts import hosts_option, read_hosts, says_ranks
from stretto.cli.tables import console, table, write_json
from stretto.cli.units import SIZE, TIME, show_seconds, show_size

MOST_RANKS = 1024


@click.command()
@click.option("-n", "--ranks", type=click.IntRange(1, 1024), help="Needed unless --hosts has it.")
@click.option("--bytes", "size", type=SIZE, default="1M", show_default=True, help="The vector.")
@hosts_option("Which ranks share a host; more than one host: over a network", default="1")
@click.option(
    "--profile",
    type=click.Path(exists=True, dir_okay=False),
    help="A profile of the network and of calls (docs/hosts.md).  [default: STRETTO_TUNING_FILE]",
)
@click.option("--latency", type=TIME, help="Of the network.  [default: the profile's, or 40us]")
@click.option(
    "--overhead", type=TIME, help="Of a port, for each message.  [default: the profile's, or 20us]"
)
@click.option("--per-byte", type=TIME, help="Of a port.  [default: the profile's, or 8.5ns]")
@click.option(
    "--per-reduced-byte", type=TIME, help="Of a processor.  [default: the profile's, or 0.1ns]"
)
@click.option(
    "--common",
    type=TIME,
    help="For each message, of something that all hosts share.  [default: the profile's, or 0]",
)
@click.option(
    "--collective", type=click.Choice(COLLECTIVES), default="allreduce", show_default=True
)
@click.option("--cores", type=click.IntRange(1), help="For all ranks.  [default: the present ones]")
@click.option(
    "--one-machine",
    is_flag=True,
    help="The hosts are containers of one machine with so many cores.",
)
@click.option("--dtype", type=click.Choice(list(DTYPES)), default="float32", show_default=True)
@click.option(
    "--in-order", is_flag=True, help="The operation does not commute: operands stay in order."
)
@click.option(
    "--reproducible",
    type=click.Choice(["off", "run", "full"]),
    default="off",
    show_default=True,
    help="How far results must repeat (docs/reproducible.md).",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (times in seconds).")
def explain(
    ranks: int | None,
    size: int,
    hosts: str,
    profile: str | None,
    latency: float | None,
    overhead: float | None,
    per_byte: float | None,
    per_reduced_byte: float | None,
    common: float | None,
    collective: str,
    cores: int | None,
    one_machine: bool,
    dtype: str,
    in_order: bool,
    reproducible: str,
    as_json: bool,
) -> None:
    """Shows which algorithm would run a call, and why not the others.

    \b
    stretto explain --ranks 8 --bytes 1M
    stretto explain --ranks 7 --bytes 4K --reproducible full
    stretto explain --ranks 64 --cores 64 --collective broadcast --json
    stretto explain --ranks 127 --hosts 127 --bytes 9K --latency 30us --per-byte 10ns
    stretto explain --ranks 8 --hosts 8 --bytes 64K --profile cluster.json
    stretto explain --hosts cyclic:8x4 --bytes 4M

    An algorithm either cannot run the call, and the output says why, or has a predicted time.  On
    one host, rules choose; if a rule was measured, the output says so, and the rule counts more
    than a prediction.  Predictions come from the schedule: latencies, streams of memory, ranks that
    share a core.  Their constants match the tables of docs/performance.md within a factor of two.

    Over a network (--hosts) the cheapest algorithm is chosen.  Its price is the time of the
    schedule if each host sends one message and receives one at a time, and each message takes a
    latency, an overhead and a time per byte.

    Measured calls in a profile, from `stretto tune` or the trials of jobs, correct prices, and on
    one host the rules.  The algorithm that STRETTO_ALGORITHM forces is shown beside the choice.

    --bytes is the whole vector: of all ranks together for reduce_scatter and allgather.  Messages
    and bytes are those of the rank with the most.
    """
    cores = cores or examine().cores
    element = DTYPES[dtype]
    commutes = not (in_order and collective in REDUCING)
    if ranks is None and not says_ranks(hosts):
        raise click.UsageError("--ranks is missing; say how many there are, or write --hosts 8x4")
    where = read_hosts(hosts, ranks or 0)
    ranks, number = where.ranks, max(where.host_of) + 1
    if ranks > MOST_RANKS:
        raise click.UsageError(f"{ranks} ranks; at most {MOST_RANKS} can be explained")
    link = (latency, overhead, per_byte, per_reduced_byte, common)
    result = _core.explain(
        collective, ranks, cores, size, element, commutes, reproducible, dtype in EXACT, where,
        link, profile or profile_of_environment(), os.environ.get("STRETTO_ALGORITHM", ""),
        one_machine,
    )  # fmt: skip
    if as_json:
        write_json("-", {
            "collective": collective, "ranks": ranks, "cores": cores, "bytes": size,
            "dtype": dtype, "in_order": in_order, "reproducible": reproducible, "hosts": number,
            "placement": str(where), "one_machine": one_machine, **result,
        })  # fmt: skip
        return
    out = console()
    what = f"{collective} of {show_size(size)}" if collective != "barrier" else collective
    place = f"{cores} {'core' if cores == 1 else 'cores'}" if number == 1 else f"{number} hosts"
    out.print(f"{what}, {ranks} ranks on {place}")
    forced = result["forced"]
    if forced:
        rule = f"STRETTO_ALGORITHM: {forced['rule']}"
        out.print(f"forced: [bold]{escape(forced['algorithm'])}[/bold] ({escape(rule)})")
    chosen = f"[bold]{result['chosen']}[/bold] ({escape(result['why'])})"
    out.print(f"{'without that' if forced else 'chosen'}: {chosen}")
    print_candidates(result)
    if result["cheapest"] != result["chosen"]:
        out.print(remark(result))


def profile_of_environment() -> str | None:
    """The file that STRETTO_TUNING_FILE names, if it names one."""
    named = os.environ.get("STRETTO_TUNING_FILE", "")
    return None if named in ("", "off", "assumed", "thorough") else named


def print_candidates(result: dict[str, Any]) -> None:
    """First the algorithms that can run, the cheapest first; then the others.  Corrected: by
    measured calls; with a star those of this algorithm, else what others have in common."""
    able = [each for each in result["candidates"] if not each["excluded"]]
    corrected = any(each["corrected_seconds"] is not None for each in able)
    shown = table(
        "", "algorithm", ">predicted", *([">corrected"] if corrected else []), ">steps",
        ">messages", ">bytes sent", ">reduced", "",
    )  # fmt: skip
    forced = result["forced"] and result["forced"]["algorithm"]

    def order(each: dict[str, Any]) -> float:
        seconds = each["corrected_seconds"]
        return each["predicted_seconds"] if seconds is None else seconds

    for each in sorted(able, key=order):
        chosen = each["algorithm"] == (forced or result["chosen"])
        word = ("forced" if forced else "chosen") if chosen else ""
        shown.add_row(
            "→" if chosen else "", each["algorithm"], show_prediction(each["predicted_seconds"]),
            *([show_corrected(each)] if corrected else []),
            str(each["steps"]), str(each["messages"]), show_size(each["bytes_sent"]),
            show_size(each["bytes_reduced"]), word,
            style="bold" if chosen else None,
        )  # fmt: skip
    for each in result["candidates"]:
        if each["excluded"]:
            blank = [""] * (6 if corrected else 5)
            shown.add_row("", each["algorithm"], *blank, each["excluded"], style="dim")
    console().print(shown)


def show_corrected(each: dict[str, Any]) -> str:
    seconds = each["corrected_seconds"]
    return "" if seconds is None else show_prediction(seconds) + ("*" if each["measured"] else " ")


def show_prediction(seconds: float) -> str:
    """Two digits: a prediction has no more."""
    if not seconds or math.isinf(seconds):
        return "0" if not seconds else "?"
    scale = 10.0 ** (math.floor(math.log10(seconds)) - 1)
    return show_seconds(round(seconds / scale) * scale)


def remark(result: dict[str, Any]) -> str:
    if "measured" in result["why"]:
        return (
            f"By prediction {result['cheapest']} would be the cheapest; what was measured counts."
        )
    return (
        f"By prediction {result['cheapest']} would be the cheapest.  Compare: stretto bench "
        f"--algorithms {result['chosen']},{result['cheapest']}"
    )
