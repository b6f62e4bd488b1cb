# SPDX-License-Identifier: BSD-3-Clause
"""`stretto simulate`: who comes when, who shares links, and what is printed of thousands."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result
from stretto import _core
from stretto.cli import cli
from stretto.cli.patterns import Pattern, parse_pattern
from stretto.cli.sharing import Sharing

# A message takes a second, whatever its size.
SECOND = ("--alpha", "1s", "--beta", "0s", "--gamma", "0s")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["simulate", *map(str, arguments)])


def played(*arguments: object) -> dict:
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.output)


def test_a_ring_is_the_formula():
    result = played(
        "ring", "--ranks", 4, "--bytes", "4M", "--alpha", "30us", "--beta", "10ns", "--gamma", "0s"
    )
    step = 30e-6 + (4 << 20) / 4 * 10e-9
    assert result["makespan"] == pytest.approx(6 * step)
    assert result["finish"] == pytest.approx([6 * step] * 4)


def test_a_rank_is_late():
    result = played("direct", "--ranks", 4, "--late", "2:50ms")
    assert result["arrivals"] == [0, 0, 0.05, 0]
    assert min(result["finish"]) > 0.05
    assert "50 ms" in run("direct", "--ranks", 4, "--late", "2:50ms").output
    assert run("direct", "--ranks", 4, "--late", "4:1ms").exit_code == 2


def test_patterns():
    assert Pattern("one-late", 2).arrivals(4) == [0, 2, 0, 0]
    assert Pattern("one-late", 2).arrivals(1) == [2]
    assert Pattern("ramp", 2).arrivals(5) == [0, 0.5, 1, 1.5, 2]
    assert Pattern("ramp", 2).arrivals(1) == [0]
    some = Pattern("rand-late", 2).arrivals(1000)
    assert 0 <= min(some) < 0.1 and 1.9 < max(some) < 2
    assert some == parse_pattern("rand-late:2s:1").arrivals(1000)
    assert some != parse_pattern("rand-late:2s:2").arrivals(1000)
    for wrong in ("late:1s", "one-late", "one-late:1s:3", "rand-late:1s:x", "ramp:1s:2:3", "ramp:"):
        done = run("ring", "--pattern", wrong)
        assert done.exit_code == 2
        assert "no pattern" in done.output or "no time" in done.output
    # What is said of one rank counts more.
    result = played("ring", "--ranks", 3, "--pattern", "one-late:2s", "--late", "1:1s")
    assert result["arrivals"] == [0, 1, 0]


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 7, 8, 13, 16])
@pytest.mark.parametrize("name", ["chain", "pre_reduced_ring", "late_rooted"])
def test_sorted_ranks_take_places_in_the_order_of_their_arrival(name, ranks):
    pattern = ("--ranks", ranks, "--pattern", "rand-late:20s", *SECOND)
    result = played(name, *pattern, "--sorted")
    arrivals = result["arrivals"]
    assert arrivals != sorted(arrivals) or ranks < 3
    text = name
    if name == "pre_reduced_ring":
        steps = _core.early_steps(sorted(arrivals), 1 << 20, 1.0, 0.0, 0.0)
        assert ranks < 5 or max(steps) > 0
        text = f"{name}(ahead={'x'.join(map(str, steps))})"
    schedule = _core.schedule("allreduce", text, ranks, 0)
    by_place = schedule.simulate(1 << 18, 4, sorted(arrivals), 1.0, 0.0, 0.0, "posted")
    order = sorted(range(ranks), key=arrivals.__getitem__)
    assert [result["finish"][rank] for rank in order] == by_place["finish"]
    assert result["mean_elapsed"] == by_place["mean_elapsed"]
    assert result["algorithm"] == name


def test_a_pre_reduced_ring_gains_in_the_mean_only():
    pattern = ("--ranks", 8, "--pattern", "one-late:100s", "--sorted", *SECOND)
    ring, ahead = played("ring", *pattern), played("pre_reduced_ring", *pattern)
    assert ahead["makespan"] == ring["makespan"] == 114
    assert ring["mean_elapsed"] - ahead["mean_elapsed"] == pytest.approx(6 * 5 / (2 * 8))


@pytest.mark.parametrize("mode", ["posted", "arrived", "ordered"])
def test_bounds_are_printed_and_hold(mode):
    arguments = ("--ranks", 8, "--pattern", "rand-late:30ms", "--mode", mode)
    result = played("ring", *arguments)
    assert result["bound"]["mean_elapsed"] <= result["mean_elapsed"]
    assert result["bound"]["last_finish"] <= result["makespan"]
    assert "no allreduce is done before" in run("ring", *arguments).output


def test_bounds_are_of_allreduces_that_wait_for_their_receivers():
    assert played("ring", "--mode", "eager")["bound"] is None
    assert played("binomial", "--collective", "broadcast")["bound"] is None
    done = run("binomial", "--collective", "broadcast")
    assert "no allreduce" not in done.output


def test_hosts_and_racks():
    assert Sharing(hosts="3").hosts_of(8) == [0, 0, 0, 1, 1, 1, 2, 2]
    assert Sharing(per_host=3).hosts_of(8) == [0, 0, 0, 1, 1, 1, 2, 2]
    assert Sharing(hosts="3", placement="round-robin").hosts_of(5) == [0, 1, 2, 0, 1]
    assert Sharing(per_host=2, placement="round-robin").hosts_of(5) == [0, 1, 2, 0, 1]
    assert Sharing(hosts="4", rack=3).racks_of(8) == [0, 0, 0, 1]
    assert Sharing(rack=2).racks_of(5) == [0, 0, 1, 1, 2]
    assert Sharing(rack=8, oversubscribe=4).uplinks() == 2
    assert Sharing().describe(5) == ""
    assert (
        Sharing(per_host=2, rack=2, oversubscribe=2).describe(16)
        == " on 8 hosts in 4 racks with 1 uplinks each"
    )


def test_a_ring_leaves_hosts_once_if_ranks_are_in_blocks():
    ring = ("ring", "--ranks", 16, *SECOND)
    assert played(*ring)["makespan"] == 30
    assert played(*ring, "--per-host", 4)["makespan"] == 30
    assert played(*ring, "--hosts", 4, "--placement", "round-robin")["makespan"] == 120
    # A rack's only uplink carries one message of each step.
    assert played(*ring, "--rack", 4, "--oversubscribe", 4)["makespan"] == 30
    shown = run(*ring, "--per-host", 2, "--rack", 4, "--oversubscribe", 2).output
    assert "16 ranks on 8 hosts in 2 racks with 2 uplinks each" in shown


def test_places_follow_ranks_when_they_are_sorted():
    # Ranks 0 and 1 share a host, and come last: places 2 and 3 of the schedule.
    schedule = _core.schedule("allreduce", "direct", 4, 0)
    late = ("--late", "0:1s", "--late", "1:2s", *SECOND)
    by_place = schedule.simulate(
        1 << 18, 4, [0, 0, 1, 2], 1.0, 0.0, 0.0, "posted", False, [1, 1, 0, 0]
    )
    result = played("direct", "--ranks", 4, "--per-host", 2, "--sorted", *late)
    assert [result["finish"][rank] for rank in (2, 3, 0, 1)] == by_place["finish"]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--hosts", 9], "8 ranks cannot be on 9 hosts"),
        (["--hosts", 2, "--per-host", 4], "give one of them"),
        (["--oversubscribe", 2], "needs --rack"),
        (["--rack", 4, "--oversubscribe", 3], "1.33 uplinks"),
        (["--rack", 2, "--oversubscribe", 4], "0.5 uplinks"),
    ],
)
def test_places_that_do_not_fit(arguments, said):
    done = run("ring", *arguments)
    assert done.exit_code == 2
    assert said in done.output


def test_thousands_are_summed_up():
    ring = ("ring", "--ranks", 1024, "--bytes", "4K", *SECOND)
    shown = run(*ring).output
    assert len(shown.splitlines()) < 15
    assert "median" in shown and "1024 ranks" in shown and "--all" in shown
    assert len(run(*ring, "--all").output.splitlines()) > 1024
    result = played(*ring)
    assert result["finish"] == [2046] * 1024
    assert len(run("ring", "--ranks", 64).output.splitlines()) > 64


def test_who_is_first_and_last_among_many():
    # Each waits for the next one, and rank 99 for nobody.
    shown = run("chain", "--ranks", 100, "--late", "99:1s", "--collective", "reduce").output
    assert "rank 99 is done first, 0 last; rank 99 takes least, 0 most" in shown
