# SPDX-License-Identifier: BSD-3-Clause
"""tools/check_house.py: calls whose meaning depends on the order of their arguments, and reads of
the environment."""

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


@pytest.mark.parametrize(
    ("path", "line", "problem"),
    [
        ("src/net/ports.cpp", 'const char *v = std::getenv("STRETTO_PORTS");', "only src/base/"),
        ("mpi/world.cpp", 'getenv("PMI_RANK")', "only mpi/launcher.cpp"),
        ("python/src/buffer.cpp", 'getenv("HOME")', "only src/base/settings.cpp"),
        ("src/net/ports.cpp", "read_config().network.ports", "take a Config"),
        ("src/comm/child.cpp", "read_settings()", "take a Config"),
        ("src/calls/selection.cpp", "from_process(name)", "take a Config"),
        ("src/tuning/network.cpp", "settings_in_force()", "take a Config"),
    ],
)
def test_who_reads_the_environment(path, line, problem):
    (found,) = check_house.environment_reads(Path(path), ["// one", line])
    assert found.startswith("line 2: ") and problem in found


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("src/base/settings.cpp", "return std::getenv(name);"),
        ("mpi/launcher.cpp", "return std::getenv(name);"),
        ("src/api/life.cpp", "stretto::ReadSettings read = stretto::read_settings();"),
        ("tests/cpp/api/test_fork.cpp", 'std::getenv("STRETTO_FAKE_HOSTS")'),
        ("src/comm/child.cpp", "parent.config().network.ports"),
    ],
)
def test_who_may_read_the_environment(path, line):
    assert not list(check_house.environment_reads(Path(path), [line]))


def test_readers_exist():
    named = [*check_house.READERS, *map(str, check_house.ENVIRONMENT.values())]
    assert all((check_house.ROOT / each).is_file() for each in named)
