# SPDX-License-Identifier: BSD-3-Clause
"""Whether lab/reliability would notice: ranks that say what they should not, without a lab."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest
from trials import soak, views
from trials.crew import Event, Rank
from trials.judge import judge
from trials.trial import Deadlines, Shape
from trials.world import Fault, World

HOSTS = (1, 1, 2, 3, 3)
ALL = range(len(HOSTS))
MESSAGE = (
    "rank 4 has died (10.83.0.3); rank 0 on h1 in barrier (call 7, one_shot, 0 of 8 bytes done)"
)


class Process:
    """One that has ended."""

    def __init__(self, status: int = 0):
        self.returncode = status

    def poll(self) -> int:
        return self.returncode


def made_up(*told: str) -> SimpleNamespace:
    """A trial in which rank 4 was killed at second 10 and the ranks 0 to 3 said this: "what when
    fields", the fields with commas for tabs."""
    crew = Crew([Rank(rank, host, Process(), streams=0) for rank, host in enumerate(HOSTS)])
    for text in told:
        rank, line = text.split(" ", 1)
        crew.ranks[int(rank)].events.append(Event.read(line.replace("|", "\t")))
    crew.ranks[4].killed = True
    world = World("none", crew)
    world.done.append(Fault("kill -9 rank 4", 10.0))
    return SimpleNamespace(
        crew=crew, world=world, ground=SimpleNamespace(deadlines=Deadlines()), shape=Shape(HOSTS),
        complaints=[], hangs=0, harmless=False, exact=True, mended=False,
        candidates=world.largest(),
    )  # fmt: skip


class Crew:
    def __init__(self, ranks: list[Rank]):
        self.ranks = ranks

    def __iter__(self):
        return iter(self.ranks)


def as_it_should_be(rank: int) -> list[str]:
    return [
        f"{rank} joined|9",
        f"{rank} failed|11|7|barrier|peer failed|{MESSAGE}",
        f"{rank} shrunk|11.5|0,1,2,3|7|7",
        f"{rank} going|12|31",
        f"{rank} ended|13|100",
    ]


def trial_in_which(rank: int, what: str, becomes: str) -> SimpleNamespace:
    """All is as it should be, but this rank says something else in that place."""
    told = [line for each in range(4) for line in as_it_should_be(each)]
    old = next(line for line in as_it_should_be(rank) if line.startswith(f"{rank} {what}|"))
    return made_up(*[becomes if line == old else line for line in told])


def test_nothing_is_amiss_when_all_is_as_it_should_be():
    trial = made_up(*[line for rank in range(4) for line in as_it_should_be(rank)])
    verdict = judge(trial)
    assert trial.complaints == []
    assert (verdict.ranks, verdict.killed, verdict.errors, verdict.continued) == (5, 1, 4, 4)
    assert verdict.slowest_error == pytest.approx(1.0)
    assert verdict.calls == 400


@pytest.mark.parametrize(
    ("what", "becomes", "complaint"),
    [
        ("going", "2 wrong|12|30|barrier|5", "wrong answer: 30 barrier 5"),
        ("failed", f"2 failed|22|7|barrier|peer failed|{MESSAGE}", "only after 12.0 s"),
        ("failed", f"2 failed|9.5|7|barrier|peer failed|{MESSAGE}", "although nothing was wrong"),
        ("failed", "2 failed|11|7|barrier|peer failed|something died", "names no rank, host, op"),
        ("shrunk", "2 shrunk|11.5|1,2,3|7|7", "split brain"),
        ("shrunk", "2 shrunk|11.5|2,3|7|7", "without a majority"),
        ("shrunk", "2 shrunk|11.5|0,1,2|7|7", "split brain: at the end"),
        ("shrunk", "2 shrunk|11.5|0,1,2,3|6|7", "repeat different calls"),
        ("ended", "2 outside|13|7|shrink|peer failed|excluded", "ranks [2] do not continue"),
    ],
)
def test_what_is_amiss_is_noticed(what, becomes, complaint):
    trial = trial_in_which(2, what, becomes)
    judge(trial)
    assert any(complaint in each for each in trial.complaints), trial.complaints


@pytest.mark.parametrize(
    ("between", "complaints"),
    [(0, []), (3, ["(0, 1, 2) repeat different calls, from [7, 10] on"])],
)
def test_who_still_shrinks_may_skip_a_communicator_that_others_had(between, complaints):
    """Rank 0 was in one with rank 3, which then was lost while ranks 1 and 2 still shrank."""
    through = [
        "0 joined|9",
        "0 shrunk|11.2|0,1,2,3|7|7",
        f"0 shrunk|11.5|0,1,2|{between}|{between}",
        "0 going|12|31",
    ]
    late = [line.replace("0,1,2,3", "0,1,2") for rank in (1, 2) for line in as_it_should_be(rank)]
    assert views.contradictions(made_up(*through, *late).crew) == complaints


def test_a_communicator_that_all_skip_is_known_from_those_who_are_left_out():
    """Of 5 ranks 4 were left, then 2 with the lowest of those."""
    ends = [line.replace("0,1,2,3", "0,3") for rank in (0, 3) for line in as_it_should_be(rank)]
    assert "without a majority" in views.contradictions(made_up(*ends).crew)[0]
    why = "rank 1 of the job cannot go on: the ranks that it hears are no majority of ranks 0-2, 3"
    outside = (
        f"1 outside|12|7|shrink|excluded|{why}, and the others may go on without it; the failure"
    )
    assert views.contradictions(made_up(*ends, outside).crew) == []


def test_who_is_killed_while_it_goes_on_leaves_the_others_to_shrink_again():
    told = [line for rank in range(4) for line in as_it_should_be(rank)]
    told = [line for line in told if line != "3 ended|13|100"]
    for rank in range(3):
        told += [f"{rank} failed|14|9|barrier|peer failed|{MESSAGE}",
                 f"{rank} shrunk|14.5|0,1,2|9|9", f"{rank} going|15|40"]  # fmt: skip
    trial = made_up(*told)
    assert "split brain: at the end" in views.contradictions(trial.crew)[0]
    trial.crew.ranks[3].killed = True
    assert views.contradictions(trial.crew) == []


def test_an_orderly_end_has_status_0():
    trial = made_up(*[line for rank in range(4) for line in as_it_should_be(rank)])
    trial.crew.ranks[1].process = Process(-11)
    judge(trial)
    assert trial.complaints == ["rank 1 on h1 ended with status -11: "]


@pytest.mark.parametrize(
    ("some", "of", "expected"),
    [
        ({0, 1, 2}, range(5), True),
        ({3, 4}, range(5), False),
        ({0, 3}, range(4), True),
        ({1, 2}, range(4), False),
        ({1}, {1, 2}, True),
    ],
)
def test_a_quorum_is_the_majority_or_the_half_with_the_lowest(some, of, expected):
    assert views.is_quorum(some, of) is expected


def test_the_largest_set_that_can_go_on():
    trial = made_up()
    assert trial.world.largest() == [frozenset({0, 1, 2, 3})]
    trial.world.frozen.add(1)
    assert trial.world.largest() == [frozenset({2, 3})]
    trial.world.cuts.add((2, 3))
    assert sorted(map(set, trial.world.largest())) == [{2}, {3}]


def test_the_same_seed_gives_the_same_shape():
    shapes = [Shape.by_chance(random.Random(5), 8, (2, 8)) for _ in range(2)]
    assert shapes[0] == shapes[1]
    for seed in range(100):
        hosts = Shape.by_chance(random.Random(seed), 8, (2, 8)).hosts
        assert 2 <= len(set(hosts)) <= 8
        assert all(1 <= hosts.count(host) <= 3 for host in hosts)


def soaked(*told: str, hung: bool = False) -> dict:
    """What lab/soak says of three ranks that have made ten calls, and have said this on top."""
    crew = Crew([Rank(rank, rank + 1, Process(), streams=0) for rank in range(3)])
    usual = [f"{rank} ended|9|10|4" for rank in range(3) if not hung]
    for text in ("0 served|9|allreduce|chain(blocks=7)|10", *usual, *told):
        rank, line = text.split(" ", 1)
        crew.ranks[int(rank)].events.append(Event.read(line.replace("|", "\t")))
    return soak.summary(crew, hung, 1.0)


def test_calls_that_were_right_are_not_amiss():
    seen = soaked()
    assert (seen["calls"], seen["announcements"], seen["served"]) == (
        10,
        12,
        {"allreduce chain": 10},
    )
    assert seen["failed_checks"] == []


@pytest.mark.parametrize(
    ("what", "count"),
    [
        ("1 wrong|5|3|allreduce of 9 int32 sum|2", "wrong"),
        ("1 failed|5|3|allreduce of 9 int32 sum|timeout|rank 2 has not come", "hangs"),
        ("1 failed|5|3|allreduce of 9 int32 sum|mismatched collectives|call 3 is", "mismatches"),
    ],
)
def test_what_is_wrong_in_one_call_is_amiss(what, count):
    seen = soaked(what)
    assert seen[count] == 1
    assert what.split("|")[-1] in seen["failed_checks"][0]


def test_a_hang_says_where_each_rank_stands():
    seen = soaked(
        "0 at|8|7|is in the call", "1 at|8|7|is in the call", "2 at|8|6|computes", hung=True
    )
    assert (seen["hangs"], seen["calls"]) == (1, 6)
    assert "rank 2 on h3: call 6, computes" in seen["failed_checks"]
