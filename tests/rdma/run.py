#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The tests over UCX once more, over real verbs: in a virtual machine with a soft RoCE device
(machine.py).  make test-rdma."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import machine
from machine import Impossible, Run

# All that run over UCX but those of children, which cannot (docs/ucx.md).
TESTS, CHILDREN = "^ucx_|_ucx$", "^api_fork"
SETTINGS = {
    "STRETTO_TEST_UCX_TLS": machine.SETTINGS["UCX_TLS"],
    # A communicator takes seconds, and what is measured there is of no use.
    "STRETTO_INIT_TIMEOUT": "600",
    "STRETTO_TUNING_FILE": "assumed",
}
COLOR = re.compile(r"\x1b\[[0-9;]*m")


def find_tests(build: Path, ctest: str, pattern: str, settings: dict[str, str]) -> list[Run]:
    listing = json.loads(
        machine.output(
            ctest, "--test-dir", build, "--show-only=json-v1", "-R", pattern, "-E", CHILDREN
        )
    )
    tests = []
    for each in listing["tests"]:
        properties = {p["name"]: p["value"] for p in each.get("properties", [])}
        environment = dict(item.split("=", 1) for item in properties.get("ENVIRONMENT", []))
        tests.append(Run(each["name"], each["command"], environment | settings))
    if not tests:
        raise Impossible(f"{build} has no test {pattern}")
    return tests


def results(console: str, tests: Sequence[Run]) -> Iterator[tuple[bool, str]]:
    """Of each test, whether it passed, and a line that says so."""
    for test in tests:
        outcome = machine.outcome(console, test)
        if outcome is None:
            yield False, f"{test.name}: the machine ended before it"
            continue
        took = f"{outcome.packets} packets, {outcome.seconds} s"
        if outcome.code != 0:
            yield False, f"{test.name}: exit code {outcome.code}, {took}{outcome.said.rstrip()}"
        elif outcome.packets == 0:
            yield False, f"{test.name}: the device has sent nothing: it has not gone over RDMA"
        else:
            cases = re.search(
                r"test cases: +(\d+).*assertions: +(\d+)", COLOR.sub("", outcome.said), re.S
            )
            count = f"{cases[1]} cases, {cases[2]} checks, " if cases else ""
            yield True, f"{test.name}: passed, {count}{took}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--build", type=Path, required=True, help="folder where the tests are built")
    add("--ctest", required=True, help="the ctest that lists them")
    add("--tests", default=TESTS, metavar="REGEX", help=f"which tests (default: {TESTS})")
    add("--set", metavar="NAME=VALUE", action="append", default=[], help="for all tests")
    machine.add_options(parser)
    options = parser.parse_args()
    settings = machine.SETTINGS | SETTINGS | dict(each.split("=", 1) for each in options.set)
    folder = options.folder.resolve()
    try:
        tests = find_tests(options.build, options.ctest, options.tests, settings)
        image = machine.prepare(folder, tests, options.release, options.kernel_release)
    except Impossible as why:
        print(f"SKIPPED: no test over RDMA runs here: {why}")
        return 0
    print(
        f"{len(tests)} tests over soft RoCE, emulated: {folder / 'console.txt'} grows", flush=True
    )
    failed = 0
    for passed, line in results(machine.boot(folder, image), tests):
        print(line)
        failed += not passed
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
