# SPDX-License-Identifier: BSD-3-Clause
"""The digits example without the library: its model, its data, and its training loop."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "digits"))

import uneven  # noqa: E402
from data import Digits, batches, prepare, shifted  # noqa: E402
from model import Model  # noqa: E402
from training import Alone, Recipe, train  # noqa: E402


def some_images(count: int, dtype=np.float32) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(count)
    images = generator.uniform(-1, 1, (count, 64)).astype(dtype)
    return images, generator.integers(0, 10, count).astype(np.int32)


def test_gradient_is_the_slope_of_the_loss():
    model = Model(64, 7, 10, dtype=np.float64)
    model.initialise(seed=3)
    images, labels = some_images(11, np.float64)
    gradient = np.empty(model.size)
    model.gradient(images, labels, gradient)

    scratch, step = np.empty(model.size), 1e-6
    for i in range(0, model.size, 13):
        at = model.parameters[i]
        model.parameters[i] = at + step
        above = model.gradient(images, labels, scratch).loss
        model.parameters[i] = at - step
        below = model.gradient(images, labels, scratch).loss
        model.parameters[i] = at
        assert gradient[i] == pytest.approx((above - below) / (2 * step), rel=1e-5, abs=1e-7)


def test_gradient_counts_what_is_right():
    model = Model(64, 5, 10)
    model.initialise(seed=1)
    images, labels = some_images(40)
    right = int(np.sum(model.classify(images) == labels))
    assert model.gradient(images, labels, np.empty(model.size, np.float32)).correct == right
    assert model.accuracy(images, labels) == right / 40


@pytest.mark.parametrize("parts", [1, 2, 3, 4, 7, 13])
def test_gradients_of_parts_add_up_to_that_of_the_batch(parts):
    model = Model(64, 9, 10, dtype=np.float64)
    model.initialise(seed=5)
    images, labels = some_images(10, np.float64)  # more parts than images: some have none
    whole, piece, total = (np.zeros(model.size) for _ in range(3))
    outcome = model.gradient(images, labels, whole)
    loss, correct = 0.0, 0
    for part in np.array_split(np.arange(10), parts):
        of_part = model.gradient(images[part], labels[part], piece)
        total += piece
        loss, correct = loss + of_part.loss, correct + of_part.correct
    np.testing.assert_allclose(total, whole, rtol=0, atol=1e-12)
    assert loss == pytest.approx(outcome.loss)
    assert correct == outcome.correct


def test_parameters_are_one_vector_without_gaps():
    model = Model(64, 6, 10)
    model.parameters[:] = np.arange(model.size)
    flat = np.concatenate([view.ravel() for view in model.split(model.parameters)])
    np.testing.assert_array_equal(flat, np.arange(model.size))


def test_shifts_move_ink_by_one_pixel():
    image = np.full((8, 8), -1, np.float32)
    image[0, 2], image[7, 7] = 1, 0.5
    down = shifted(image.reshape(1, 64), 1, 0).reshape(8, 8)
    assert down[1, 2] == 1 and (down[0] == -1).all() and (down == 0.5).sum() == 0
    left = shifted(image.reshape(1, 64), 0, -1).reshape(8, 8)
    assert left[0, 1] == 1 and left[7, 6] == 0.5 and (left[:, 7] == -1).all()


def test_held_out_images_are_never_trained_on():
    images = np.arange(500, dtype=np.float32).repeat(64).reshape(500, 64)
    digits = prepare(images, np.zeros(500, np.int32), seed=2)
    # An image's middle pixel is its number, and a shift leaves it in the middle of a flat image.
    trained_on = {int(image[27]) for image in digits.images}
    held_out = {int(image[27]) for image in digits.held_out_images}
    assert not trained_on & held_out
    assert trained_on | held_out == set(range(500))


def test_batches_go_through_all_images_before_any_again():
    drawn = list(batches(count=10, size=4, steps=5, seed=1))
    assert [len(batch) for batch in drawn] == [4, 4, 2, 4, 4]
    assert sorted(np.concatenate(drawn[:3])) == list(range(10))
    assert len(set(np.concatenate(drawn[3:]))) == 8


class Threads:
    """A group of threads: sums in rank order, behind barriers."""

    def __init__(self, size: int):
        self.size = size
        self.sent: list = [None] * size
        self.meet = threading.Barrier(size, timeout=30)

    def run(self, work) -> None:
        threads = [
            threading.Thread(target=work, args=(self.Member(self, rank),))
            for rank in range(self.size)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    class Member(Alone):
        def __init__(self, group: Threads, rank: int):
            self.group, self.rank, self.size = group, rank, group.size

        def allreduce(self, send, recv, op):
            assert op == "sum"
            self.group.sent[self.rank] = send
            self.group.meet.wait()
            total = sum(self.group.sent[1:], self.group.sent[0].copy())
            self.group.meet.wait()
            recv[:] = total


@pytest.mark.parametrize("workers", [2, 3, 4])
def test_workers_together_learn_what_one_learns_alone(workers):
    images, labels = some_images(90)
    digits = Digits(images, labels, images[:9], labels[:9])
    recipe = Recipe(steps=25, batch=32, rate=0.1)

    def fresh() -> Model:
        model = Model(64, 8, 10)
        model.initialise(seed=4)
        return model

    alone, losses = fresh(), []
    train(Alone(), alone, digits, recipe, lambda loss, accuracy: losses.append(loss))
    models = [fresh() for _ in range(workers)]
    seen: list[list[float]] = [[] for _ in range(workers)]
    Threads(workers).run(
        lambda member: train(
            member,
            models[member.rank],
            digits,
            recipe,
            lambda loss, accuracy: seen[member.rank].append(loss),
        )
    )

    assert losses[-1] < losses[0]
    for model, of_rank in zip(models, seen, strict=True):
        np.testing.assert_array_equal(model.parameters, models[0].parameters)
        np.testing.assert_allclose(model.parameters, alone.parameters, rtol=0, atol=1e-5)
        np.testing.assert_allclose(of_rank, losses, rtol=1e-4)


def test_workers_take_as_many_steps_as_the_slowest_has_time_for():
    pace = uneven.Pace(4)
    assert pace.steps().tolist() == [1, 1, 1, 1]
    for _ in range(4):
        pace.add(np.array([0.002, 0.003, 0.020, 0.0209]))
    assert pace.steps().tolist() == [10, 6, 1, 1]
    for _ in range(3):  # of seven, three that were disturbed change nothing
        pace.add(np.array([0.5, 0.003, 0.020, 0.0209]))
    assert pace.steps().tolist() == [10, 6, 1, 1]
    pace.add(np.array([0.5, 0.003, 0.020, 0.0209]))
    assert pace.steps().tolist() == [1, 64, 25, 23]  # at most
    pace.add(np.zeros(4))  # a clock that stands still


@pytest.mark.parametrize("even", [False, True])
def test_workers_that_nobody_waits_for_hold_the_same_model(even):
    images, labels = some_images(90)
    digits = Digits(images, labels, images[:9], labels[:9])
    models = [Model(64, 8, 10) for _ in range(3)]
    plans: list[list[np.ndarray]] = [[] for _ in models]
    for model in models:
        model.initialise(seed=4)

    def work(member) -> None:
        uneven.train(
            member, models[member.rank], digits, Recipe(steps=0, batch=24, rate=0.05), 2000,
            pause=0.003 * member.rank, even=even, on_round=plans[member.rank].append,
        )  # fmt: skip

    Threads(3).run(work)
    seen = 8 * sum(int(plan.sum()) for plan in plans[0])
    assert 2000 <= seen < 2000 + 8 * 3 * uneven.Pace.MOST
    for model, of_rank in zip(models, plans, strict=True):
        np.testing.assert_array_equal(model.parameters, models[0].parameters)
        np.testing.assert_array_equal(of_rank, plans[0])
    if even:
        assert all((plan == 1).all() for plan in plans[0])
    one = Model(64, 8, 10)
    one.initialise(seed=4)
    gradient = np.empty(one.size, np.float32)
    before = one.gradient(images, labels, gradient).loss
    assert models[0].gradient(images, labels, gradient).loss < before
