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


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    for name in ("STRETTO_TUNING_FILE", "STRETTO_ALGORITHM"):
        monkeypatch.delenv(name, raising=False)


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


def test_hosts_that_share_cores_pay_for_each_message():
    network = ("--latency", "50us", "--overhead", "9us", "--per-byte", "8.2ns", "--common", "30us")
    containers = ("--hosts", "8x2", "--bytes", "8K", "--cores", 2, *network)
    composed = "hierarchical(inter=recursive_doubling, leaders=1)"
    assert explained(*containers)["chosen"] == composed
    assert explained(*containers, "--one-machine")["chosen"] == "binomial"
    enough = ("--hosts", "8x2", "--bytes", "8K", "--cores", 16, *network)
    assert explained(*enough, "--one-machine")["chosen"] == composed


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
    assert "prediction" in run("--ranks", 4, "--cores", 4, "--bytes", "12K",
                               "--reproducible", "full").output  # fmt: skip


LINK = {"latency": 0, "overhead": 3e-5, "byte": 1e-8, "reduce": 2e-10}


def profile(path, *times: tuple[int, str, float], links: bool = True, **kind: object) -> str:
    """A file: table 2's network, and what these algorithms took at these bytes."""
    calls = {"collective": "allreduce", "ranks": 6, "hosts": 6, **kind, "times": [
        {"bytes": size, "algorithm": name, "seconds": seconds} for size, name, seconds in times
    ]}  # fmt: skip
    link = {"date": "today", "links": {"inside": LINK, "between": LINK}} if links else {}
    path.write_text(json.dumps({**link, "calls": [calls]}))
    return str(path)


def test_a_profile_in_place_of_numbers(tmp_path, monkeypatch):
    path = profile(tmp_path / "p.json")
    plain = over_network(6, 4096)
    network = ("--ranks", 6, "--hosts", 6, "--bytes", 4096)

    def same(found: dict) -> bool:
        return found["chosen"] == plain["chosen"] and found["candidates"] == plain["candidates"]

    given = explained(*network, "--profile", path)
    assert same(given) and path in given["profile"]
    assert not same(explained(*network))
    monkeypatch.setenv("STRETTO_TUNING_FILE", path)
    assert same(explained(*network))
    # Flags count more.
    slow = explained(*network, "--latency", "1s")
    assert min(each["predicted_seconds"] for each in slow["candidates"]
               if not each["excluded"]) > 1  # fmt: skip
    monkeypatch.setenv("STRETTO_TUNING_FILE", "assumed")
    assert not same(explained(*network))
    assert "does not exist" in run(*network, "--profile", "/nowhere").output


def test_measured_calls_correct_prices(tmp_path):
    plain = over_network(6, 4096)
    price = {each["algorithm"]: each["predicted_seconds"] for each in plain["candidates"]
             if not each["excluded"]}  # fmt: skip
    best = plain["chosen"]
    path = profile(
        tmp_path / "p.json", (4096, best, 4 * price[best]), (4096, "ring", price["ring"] / 4)
    )
    network = ("--ranks", 6, "--hosts", 6, "--bytes", 4096, "--profile", path)
    found = explained(*network)
    assert found["chosen"] == "ring" and found["cheapest"] == best
    assert f"uncorrected the cheapest is {best}" in found["why"]
    for each in found["candidates"]:
        if not each["excluded"]:
            factor = {"ring": 0.25, best: 4}.get(each["algorithm"], 1)
            assert each["corrected_seconds"] == pytest.approx(
                factor * price[each["algorithm"]], rel=1e-6
            )
            assert each["measured"] == (each["algorithm"] in ("ring", best))
    shown = run(*network).output
    assert "chosen: ring" in shown and "corrected" in shown and "*" in shown
    # Results that must repeat do not depend on it.
    assert explained(*network, "--reproducible", "full")["why"].startswith("measured rule")


def test_measured_calls_on_one_host(tmp_path):
    here = ("--ranks", 4, "--cores", 4, "--bytes", "4K")
    assert explained(*here)["chosen"] == "one_shot"
    times = ((4096, "one_shot", 9e-6), (4096, "ring", 5e-6))
    path = profile(tmp_path / "p.json", *times, links=False, ranks=4, hosts=1)
    found = explained(*here, "--profile", path)
    assert found["chosen"] == "ring"
    assert "fastest as measured" in found["why"]


def test_what_is_forced_is_shown_beside_the_choice(monkeypatch):
    here = ("--ranks", 4, "--cores", 4)
    monkeypatch.setenv("STRETTO_ALGORITHM", "allreduce:-4K=auto,allreduce:4K-64K=ring,direct")
    found = explained(*here, "--bytes", "8K")
    assert found["forced"] == {"algorithm": "ring", "rule": "allreduce:4K-64K=ring"}
    assert found["chosen"] == "one_shot"
    shown = run(*here, "--bytes", "8K").output
    assert "forced: ring (STRETTO_ALGORITHM: allreduce:4K-64K=ring)" in shown
    assert "without that: one_shot" in shown
    assert explained(*here, "--bytes", "1K")["forced"] is None
    assert explained(*here, "--bytes", "1M")["forced"]["algorithm"] == "direct"
    assert explained(*here, "--collective", "broadcast")["forced"] is None
    # What the call could not have is the error that it would get.
    monkeypatch.setenv("STRETTO_ALGORITHM", "ring")
    refused = run(*here, "--in-order")
    assert refused.exit_code == 1
    assert "order of ranks" in str(refused.exception)
    monkeypatch.setenv("STRETTO_ALGORITHM", "rink")
    assert "rink" in str(run(*here).exception)


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
