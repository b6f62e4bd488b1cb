# SPDX-License-Identifier: BSD-3-Clause
"""tools/check_house.py: calls whose meaning depends on the order of their arguments."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "tools" / "check_house.py"
SPEC = importlib.util.spec_from_file_location("check_house", PATH)
check_house = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check_house)


@pytest.mark.parametrize(
    "call",
    [
        "alike(std::move(made), made.ranks)",
        "alike(made.ranks, std::move(made))",
        "alike(std::move(made),\n      [symmetry = *made.symmetry](int p) { return p; })",
        "channel(std::move(*opened), opened->peer, 3)",
        "channel(std::move(opened.socket), opened)",
        "channel(std::move(opened.socket), opened.socket.number)",
        "both(std::move(text), copy(\"(\", text), ')')",
    ],
)
def test_reads_what_another_argument_takes(call):
    found = list(check_house.read_when_moved(f"int a;\nauto made = {call};\n"))
    last = 2 + call.count("\n")
    assert len(found) == 1 and found[0].startswith(f"line {last}: moves ")


@pytest.mark.parametrize(
    "call",
    [
        "alike(std::move(made), ranks); use(made)",
        "channel(std::move(opened.socket), opened.peer)",
        "both(std::move(a.first), std::move(a.second))",
        "push({from, to}, std::move(bytes), Kind::bytes)",
        'say(std::move(text), "text") // text',
        "run([full = std::move(full)] { return full.decide(); }, 3)",
        "Pair{std::move(text), text.size()}",  # braces have an order
    ],
)
def test_an_order_that_does_not_matter(call):
    assert not list(check_house.read_when_moved(call))
