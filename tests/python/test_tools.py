# SPDX-License-Identifier: BSD-3-Clause
"""The commands that need no job: list, show, verify."""

from __future__ import annotations

import itertools
import json

import click
import pytest
import stretto as package
from click.testing import CliRunner
from stretto.cli import cli, effort
from stretto.cli.catalog import COLLECTIVES, Choice


def test_version_and_help(stretto):
    assert stretto("--version").stdout == f"stretto {package.__version__}\n"
    assert "stretto verify" in stretto("--help").stdout


def parts(group: click.Command) -> list[str]:
    return group.list_commands(click.Context(group)) if isinstance(group, click.Group) else []


@pytest.mark.parametrize("name", parts(cli))
def test_every_command_has_examples_and_json(name):
    shown = CliRunner().invoke(cli, [name, "--help"]).output
    for part in parts(cli.get_command(click.Context(cli), name)):
        shown += CliRunner().invoke(cli, [name, part, "--help"]).output
    assert f"\n  stretto {name}" in shown or f"$(stretto {name}" in shown
    # run and mpi print what their ranks print; metrics is for programs anyhow.
    assert "--json" in shown or name in ("run", "mpi", "metrics")


def test_config_as_json():
    shown = json.loads(CliRunner().invoke(cli, ["config", "--json"]).output)
    assert shown["include"] == CliRunner().invoke(cli, ["config", "--include"]).output.strip()


def test_list_is_what_the_library_has(stretto):
    entries = json.loads(stretto("list", "--json").stdout)
    names = [each["name"] for each in entries if each["collective"] == "allreduce"]
    assert names == package.algorithms("allreduce")
    assert {"one_shot", "direct", "ring", "recursive_doubling", "rabenseifner"} <= set(names)
    ring = next(each for each in entries if each["name"] == "ring")
    assert ring["runs"] == list(range(1, 65))
    assert ring["consistent"] == ring["runs"]
    assert 3 not in ring["order_preserving"]
    # A list is nothing by default, a number is one.
    defaults = {
        (each["collective"], each["name"], parameter["name"]): (
            parameter["list"],
            parameter["default"],
        )
        for each in entries
        for parameter in each["parameters"]
    }
    assert defaults["allreduce", "generalized", "group"] == (True, None)
    assert all((default is None) == of_list for of_list, default in defaults.values())
    shown = stretto("list").stdout
    assert all(each["name"] in shown for each in entries)


def test_verify_counts_what_a_ring_costs(stretto, tmp_path):
    file = tmp_path / "proofs.json"
    done = stretto(
        "verify", "ring", "--collective", "allreduce", "--ranks", "1:8", "--json", file,
        "--bytes", 840 * 4,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "8 of 8 schedules proved" in done.stdout
    for row in json.loads(file.read_text()):
        ranks = row["ranks"]  # divides 840
        assert row["ok"]
        assert row["steps"] == row["messages"] == 2 * (ranks - 1)
        assert row["bytes_sent"] == 2 * (ranks - 1) * 840 * 4 // ranks
        assert row["bytes_reduced"] == (ranks - 1) * 840 * 4 // ranks
        assert row["consistent"]


def test_verify_everything_for_a_few_ranks(stretto):
    done = stretto("verify", "--ranks", "1:9,16", "--json", "-")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert {row["collective"] for row in rows} == set(COLLECTIVES)
    assert all(row["ok"] for row in rows)


def test_verify_prints_json_as_other_commands_do(stretto):
    done = stretto("verify", "ring", "--ranks", 4, "--collective", "allreduce", "--json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)
    assert row["ok"] and row["ranks"] == 4
    done = stretto("verify", "--ranks", 4, "--json", "ring")  # a file of that name is not meant
    assert done.returncode == 2
    assert "name algorithms before --json" in done.stderr


@pytest.mark.parametrize("command", ["simulate", "draw"])
def test_more_ranks_than_memory(stretto, command):
    done = stretto(command, "ring", "--ranks", 100000, "--collective", "allreduce")
    assert done.returncode == 1
    assert done.stderr == (
        "stretto: this takes more memory than there is; fewer ranks (--ranks) take less\n"
    )


@pytest.mark.parametrize("command", ["show", "verify"])
def test_more_ranks_than_memory_are_refused_before_the_work(stretto, command):
    done = stretto(command, "ring", "--ranks", 100000, "--collective", "allreduce")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("Error: allreduce by ring at 100000 ranks takes about ")
    assert done.stderr.endswith("are free; fewer ranks (--ranks) take less\n")


@pytest.mark.parametrize("many", [700, 1500])
def test_what_takes_long_says_so_before(capsys, monkeypatch, many):
    clock = itertools.count()  # each sample takes a second
    monkeypatch.setattr(effort.time, "perf_counter", lambda: next(clock))
    cases = [(Choice("allreduce", "recursive_doubling"), many, 0)] * 3
    effort.foresee(cases, lambda schedule: None, 1)
    # A sample of 128 ranks, and the square of what more are.
    seconds = 3 * (many / 128) ** 2
    about = f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
    assert capsys.readouterr().err == (
        f"stretto: this takes about {about}; fewer ranks (--ranks) take less\n"
    )


def test_a_schedule_survives_the_way_through_a_file(stretto, tmp_path):
    file = tmp_path / "mine.json"
    file.write_text(stretto("show", "ring", "--ranks", 3, "--json").stdout)
    done = stretto("verify", "--schedule", file, "--json", "-")
    assert done.returncode == 0, done.stderr
    ours = json.loads(stretto("verify", "ring", "--collective", "allreduce", "--ranks", 3,
                              "--json", "-").stdout)  # fmt: skip
    assert json.loads(done.stdout)[0]["tree"] == ours[0]["tree"]


def test_verify_every_group_and_number_of_steps(stretto):
    done = stretto(
        "verify", "generalized", "--collective", "allreduce", "--ranks", "1:12", "--all-r",
        "--groups", "all", "--json", "-",
    )  # fmt: skip
    rows = json.loads(done.stdout)
    of_12 = [row["name"] for row in rows if row["ranks"] == 12]
    # Eight products (12, 2x6, 2x2x3, ...), each of 4 descents.
    assert len(of_12) == len(set(of_12)) == 8 * 5
    assert "generalized(group=2x3x2,r=4)" in of_12
    assert all(row["ok"] for row in rows)
    same_bits = {row["name"] for row in rows if row["ranks"] == 12 and row["consistent"]}
    assert "generalized(group=2x2x3,r=4)" in same_bits
    assert "generalized(group=12,r=1)" not in same_bits
    primes = stretto(
        "verify", "generalized(r=1)", "--ranks", "12", "--groups", "primes", "--json", "-"
    )
    assert [row["name"] for row in json.loads(primes.stdout)] == ["generalized(r=1,group=2x2x3)"]


def test_a_name_with_parameters_is_of_the_collectives_that_have_them(stretto):
    rows = json.loads(stretto("verify", "generalized(r=1)", "--ranks", "5", "--json", "-").stdout)
    assert [row["collective"] for row in rows] == ["allreduce"]
    rows = json.loads(stretto("verify", "generalized", "--ranks", "5", "--json", "-").stdout)
    assert len({row["collective"] for row in rows}) == 5


def test_verify_objects_to_a_broken_schedule(stretto, tmp_path):
    schedule = json.loads(stretto("show", "ring", "--ranks", 3, "--json").stdout)
    del schedule["programs"][1]["ops"][-1]  # a message that nobody receives
    file = tmp_path / "broken.json"
    file.write_text(json.dumps(schedule))
    done = stretto("verify", "--schedule", file)
    assert done.returncode == 1
    assert "FAILED" in done.stderr
    assert "0 of 1 schedules proved" in done.stdout


def test_verify_refuses_what_is_no_schedule(stretto, tmp_path):
    file = tmp_path / "other.json"
    file.write_text('{"format": "stretto-schedule", "version": 1}')
    done = stretto("verify", "--schedule", file)
    assert done.returncode == 1
    assert str(file) in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", [["verify"], ["simulate"], ["show"]])
def test_an_unknown_algorithm_lists_what_there_is(stretto, command):
    done = stretto(*command, "rink")
    assert done.returncode == 2
    assert "there is no algorithm 'rink'" in done.stderr
    assert "ring" in done.stderr


def test_a_parameter_out_of_range_is_one_line(stretto):
    done = stretto("simulate", "segmented_ring(segments=-1)")
    assert done.returncode == 1
    assert done.stderr.startswith("stretto: ")
    assert len(done.stderr.splitlines()) == 1
