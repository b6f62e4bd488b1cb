# SPDX-License-Identifier: BSD-3-Clause
"""`stretto explain`: a choice, its reason, and a price or a reason for every other algorithm."""

from __future__ import annotations

import json
import sys

import pytest
import stretto as package
from click.testing import CliRunner, Result
from stretto.cli import cli
from stretto.cli.catalog import COLLECTIVES
from stretto.cli.explain import show_prediction


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["explain", *map(str, arguments)])


def explained(*arguments: object) -> dict:
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.output)


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("ranks", [1, 7, 16])
def test_every_algorithm_has_a_price_or_a_reason(collective, ranks):
    result = explained("--collective", collective, "--ranks", ranks, "--cores", 4)
    names = [each["algorithm"] for each in result["candidates"]]
    assert names == package.algorithms(collective)
    for each in result["candidates"]:
        assert each["excluded"] or each["predicted_seconds"] >= 0
    (chosen,) = (each for each in result["candidates"] if each["algorithm"] == result["chosen"])
    assert not chosen["excluded"]
    assert result["why"]


def test_what_is_explained_is_what_is_chosen(stretto):
    """By a communicator of this host."""
    code = (
        "import stretto; c = stretto.init(); c.rank or "
        "print(*(c.chosen_algorithm('allreduce', n) for n in (1, 1 << 20)))"
    )
    done = stretto("run", "--no-prefix", "-n", 3, sys.executable, "-c", code)
    chosen = done.stdout.splitlines()[0].split()
    for name, size in zip(chosen, (4, 4 << 20), strict=True):
        assert explained("--ranks", 3, "--bytes", size)["chosen"] == name


def test_the_costs_are_those_of_the_schedule():
    result = explained("--ranks", 4, "--bytes", 4000)
    ring = next(each for each in result["candidates"] if each["algorithm"] == "ring")
    assert (ring["steps"], ring["messages"], ring["messages_total"]) == (6, 6, 24)
    assert (ring["bytes_sent"], ring["bytes_reduced"]) == (6000, 3000)


TABLE_2 = (
    "--latency", "0", "--overhead", "30us", "--per-byte", "10ns", "--per-reduced-byte", "0.2ns",
)  # fmt: skip


def over_network(ranks: int, size: object, *more: object) -> dict:
    return explained("--ranks", ranks, "--hosts", ranks, "--bytes", size, *TABLE_2, *more)


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_over_a_network_the_cheapest_serves(collective):
    for ranks, size in ((6, 100), (7, 100_000), (12, 10_000_000)):
        result = over_network(ranks, size, "--collective", collective)
        able = [each for each in result["candidates"] if not each["excluded"]]
        least = min(each["predicted_seconds"] for each in able)
        (chosen,) = (each for each in able if each["algorithm"] == result["chosen"])
        assert chosen["predicted_seconds"] <= 1.02 * least
        names = [each["algorithm"] for each in result["candidates"]]
        assert len(names) == len(set(names))
        assert {name.partition("(")[0] for name in names} == set(package.algorithms(collective))


def test_the_generalized_allreduce_costs_what_the_paper_says():
    """Kolmakov and Zhang, table 2: 425 B at 127 processes with r = 7 take 240.8 us."""
    result = over_network(127, 425, "--dtype", "int8")
    prices = {each["algorithm"]: each["predicted_seconds"] for each in result["candidates"]
              if not each["excluded"]}  # fmt: skip
    assert prices["generalized(r=7)"] == pytest.approx(240.8e-6, rel=1e-3)
    assert result["chosen"] in ("dissemination", "generalized(r=7)")
    # Floats would be rounded differently on every rank.
    floats = over_network(127, 424)
    why = {each["algorithm"]: each["excluded"] for each in floats["candidates"]}
    assert "same bits" in why["generalized(r=7)"]
    assert not why["generalized"]


def test_more_hosts_than_ranks_make_no_sense():
    assert "cannot be on" in run("--ranks", 2, "--hosts", 3).output


def test_what_excludes():
    full = explained("--ranks", 7, "--reproducible", "full")
    reasons = {each["algorithm"]: each["excluded"] for each in full["candidates"]}
    assert "canonical tree at 7 ranks" in reasons["ring"]
    assert full["chosen"] == "direct_canonical"
    assert "direct is not the canonical tree" in full["why"]
    ordered = explained("--ranks", 7, "--in-order")
    reasons = {each["algorithm"]: each["excluded"] for each in ordered["candidates"]}
    assert "order of ranks" in reasons["ring"] and not reasons["direct"]


def test_the_table_has_the_reasons():
    shown = run("--ranks", 7, "--reproducible", "full", "--bytes", "4M", "--cores", 8).output
    assert "chosen: direct_canonical" in shown
    assert "not the canonical tree at 7 ranks" in shown
    for name in package.algorithms("allreduce"):
        assert name in shown
    # A rule that nobody measured yields to no prediction, but says so.
    assert "prediction" in run("--ranks", 7, "--cores", 8, "--bytes", "4K",
                               "--reproducible", "full").output  # fmt: skip


def test_wrong_arguments():
    assert run("--bytes", 4).exit_code == 2  # no ranks
    assert run("--ranks", 0).exit_code == 2
    assert run("--ranks", 2, "--reproducible", "some").exit_code == 2


@pytest.mark.parametrize(
    "seconds, shown",
    [(0.0, "0"), (1.234e-6, "1.2 µs"), (9.96e-5, "100 µs"), (0.0123, "12 ms"), (9e99 * 9e299, "?")],
)
def test_two_digits(seconds, shown):
    assert show_prediction(seconds) == shown
