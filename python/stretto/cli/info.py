# SPDX-License-Identifier: BSD-3-Clause
"""`stretto info`: version, machine and settings."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click
from rich.markup import escape

from stretto import _core
from stretto.cli.facts import SECTIONS, failures
from stretto.cli.tables import console, table, write_json
from stretto.cli.units import show_ranges, show_size

SHOWN_CACHES = 8


@click.command()
@click.argument("sections", nargs=-1, type=click.Choice(tuple(SECTIONS)), metavar="[SECTION]...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/info.md names the keys).")
@click.option(
    "--markdown", is_flag=True, help="Print the reference of all settings, docs/settings.md."
)
def info(sections: tuple[str, ...], as_json: bool, markdown: bool) -> None:
    """Shows this build of Stretto, what it finds on this machine, and every setting in force.

    \b
    stretto info
    stretto info transports settings
    taskset -c 0 stretto info cores
    stretto info --json > info.json
    stretto info --markdown > docs/settings.md

    SECTIONs are library, cores, memory, transports, network, algorithms, types and settings;
    without any, all of them.  For transports a job of two ranks is tried out.

    The exit status is 1 if something without which no job runs does not work: too little memory, a
    transport, a setting that cannot be read.
    """
    if markdown:
        if as_json or set(sections) - {"settings"}:
            raise click.UsageError("--markdown is of settings, and no JSON")
        click.echo(_core.settings_page(), nl=False)
        return
    facts = {name: SECTIONS[name]() for name in SECTIONS if not sections or name in sections}
    broken = failures(facts)
    if as_json:
        write_json("-", {**facts, "failures": broken})
    else:
        for name, found in facts.items():
            console().print(f"[bold]{name}[/bold]")
            SHOWN[name](found)
        for each in broken:
            click.echo(f"stretto: {each}", err=True)
    sys.exit(1 if broken else 0)


def show_library(found: dict[str, Any]) -> None:
    lacking = [each for each in found["kernels_built"] if each not in found["kernels_able"]]
    kernels = (found["kernels"] or "none: STRETTO_ISA cannot be read") + (
        f" (of {', '.join(found['kernels_built'])})" if len(found["kernels_built"]) > 1 else ""
    )
    if lacking:
        kernels += f"; this processor lacks {', '.join(lacking)}"
    show_pairs({
        "version": found["version"],
        "build": found["build"],
        "kernels": kernels,
        "copies": "string instruction" if found["string_copies"] else "vectors",
        "folder": found["folder"],
        "Python": f"{found['python']}, NumPy {found['numpy']}",
        "system": found["system"],
    })  # fmt: skip


def show_cores(found: dict[str, Any]) -> None:
    quota = found["quota"]
    allowed = "not known" if found["allowed"] is None else show_ranges(found["allowed"])
    pairs = {
        "processor": found["processor"],
        "cores": f"{found['cores']}; ranks of a larger job do not spin",
        "allowed": f"{allowed}, of {found['online'] or 'an unknown number'} (affinity)",
        "quota": f"{quota} (control group)" if quota else "none",
    }
    parts = [
        f"{found[key]} {one if found[key] == 1 else many}"
        for key, one, many in (
            ("packages", "package", "packages"),
            ("numa_nodes", "NUMA node", "NUMA nodes"),
            ("threads_of_a_core", "thread a core", "threads a core"),
        )
        if found[key]
    ]
    if parts:
        pairs["topology"] = ", ".join(parts)
    for cache in found["caches"]:
        groups = " | ".join(cache["shared_by"][:SHOWN_CACHES])
        groups += " | ..." if len(cache["shared_by"]) > SHOWN_CACHES else ""
        pairs[f"L{cache['level']}"] = f"{show_size(cache['bytes'])} of cores {groups}"
    show_pairs(pairs)


def show_memory(found: dict[str, Any]) -> None:
    def size_of(key: str) -> str:
        return "not known" if found[key] is None else show_size(found[key])

    limit = " (the control group limits it)" if found["limited_by_group"] else ""
    needed = f"{show_size(found['needed_bytes'])} for the rings of {found['ranks']} ranks"
    pairs = {
        "machine": f"{size_of('total_bytes')}, {size_of('machine_bytes')} free",
        "available": f"{size_of('available_bytes')}{limit}",
        "needed": f"{needed}: {'enough' if found['enough'] else 'NOT ENOUGH; free memory'}",
    }
    shm = found["dev_shm"]
    size = (
        f"{show_size(shm['free_bytes'])} of {show_size(shm['total_bytes'])} free; " if shm else ""
    )
    pairs["/dev/shm"] = f"{size}not used, its size does not matter (memfd_create)"
    show_pairs(pairs)


def show_transports(found: list[dict[str, Any]]) -> None:
    shown = table("transport", "check", "", "found")
    for transport in found:
        for check in transport["checks"]:
            without = "unused" if transport["name"] == "UCX" else "slower"
            state = "ok" if check["ok"] else "FAILED" if check["needed"] else without
            remedy = check["remedy"]
            also = f" ({remedy})" if remedy and remedy not in check["found"] else ""
            shown.add_row(transport["name"], check["name"], state, escape(check["found"] + also))
    console().print(shown)


def show_network(found: dict[str, Any]) -> None:
    shown = table("interface", "state", ">MTU", ">Mbit/s", "addresses")
    for each in found["interfaces"]:
        state = "down" if not each["up"] else "up" if each["used"] else "not used: STRETTO_IFACE"
        shown.add_row(
            each["name"], state, str(each["mtu"] or "-"), str(each["megabits"] or "-"),
            ", ".join(each["addresses"]) or "-",
        )  # fmt: skip
    console().print(shown)
    if found["interfaces_problem"]:
        console().print("  " + escape(found["interfaces_problem"]), soft_wrap=True)
    console().print("  way: " + escape(way(found["way"])), soft_wrap=True)
    secret = found["secret"]
    console().print(
        "  secret: " + escape(secret["problem"] or f"set, from {secret['origin']}"), soft_wrap=True
    )


def way(found: dict[str, Any]) -> str:
    if found["problem"]:
        return found["problem"]
    if not found["to"]:
        return "STRETTO_ADDR is not set: each job uses the interface that leads to its rank 0"
    return f"to {found['to']} from {found['address']} on {found['interface'] or 'no interface'}"


def show_algorithms(found: dict[str, int]) -> None:
    show_pairs({name: f"{count}" for name, count in found.items()})


def show_types(found: dict[str, list[str]]) -> None:
    """Types that can do the same share a row."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for dtype, ops in found.items():
        rows.setdefault(tuple(ops), []).append(dtype)
    shown = table("types", "operations, and your own")
    for ops, dtypes in rows.items():
        shown.add_row(" ".join(dtypes), " ".join(ops))
    console().print(shown)


def show_settings(found: list[dict[str, Any]]) -> None:
    shown = table("setting", "value", "source", "default", "meaning")
    for each in found:
        shown.add_row(
            printable(each["name"]), printable(each["value"]) or "-", each["source"],
            each["default"] or "-", escape(each["error"] or each["meaning"]),
            style="bold" if each["error"] else None,
        )  # fmt: skip
    console().print(shown)


def printable(text: str) -> str:
    """What an environment holds may move the cursor, or be no text at all."""
    return escape("".join(letter if letter.isprintable() else "?" for letter in text))


def show_pairs(pairs: dict[str, str]) -> None:
    shown = table("", "")
    shown.show_header = False
    for name, value in pairs.items():
        shown.add_row(name, escape(value))
    console().print(shown)


SHOWN: dict[str, Callable[[Any], None]] = {
    "library": show_library,
    "cores": show_cores,
    "memory": show_memory,
    "transports": show_transports,
    "network": show_network,
    "algorithms": show_algorithms,
    "types": show_types,
    "settings": show_settings,
}
