# SPDX-License-Identifier: BSD-3-Clause
"""Trains a classifier of handwritten digits on several workers, and shows what that cost.

    stretto run -n 4 python examples/digits/train.py
    stretto run -n 4 python examples/digits/train.py --steps 300 --slow 2:20

Exits with an error unless the workers end with identical weights, are as accurate as one process
that trains on the whole batches, and more than 95 % accurate on images that none of them has seen.
"""

# ruff: noqa: E402
from __future__ import annotations

import os

# One thread per worker: together the workers already fill the machine.  NumPy reads it on import.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse

import numpy as np
import report
import stretto
from comparison import compare
from data import CLASSES, PIXELS, Digits, prepare, read_digits
from model import Model
from progress import Progress
from rich.console import Console
from training import Alone, Recipe, train

HIDDEN = 256
WANTED = 0.95
APART = 1e-4  # of the largest weight: rounding, grown over all steps, and no more


def main() -> None:
    options = parse_arguments()
    comm = stretto.init()
    console = Console(quiet=comm.rank != 0, highlight=False)
    digits = share_digits(comm, options.seed)
    recipe = Recipe(steps=options.steps, seed=options.seed)
    slow_rank, pause = options.slow or (None, 0.0)
    if slow_rank is not None and slow_rank not in range(comm.size):
        raise SystemExit(f"--slow: there is no rank {slow_rank} among {comm.size}")
    console.print(
        f"{comm.size} workers, {len(digits.labels):,} images, {recipe.steps} steps "
        f"of {recipe.batch} images" + (f"; rank {slow_rank} slowed" if options.slow else "")
    )

    model = new_model(options.seed)
    comm.barrier()  # the wait for scikit-learn to load is not what the tables are about
    comm.reset_stats()
    with Progress(console, recipe.steps) as progress:
        computing = train(
            comm, model, digits, recipe, progress, pause if comm.rank == slow_rank else 0.0
        )
    stats = [line._asdict() for line in comm.stats()]

    check_replicas(comm, model)
    gathered = report.gather(comm, (computing, stats))
    if comm.rank == 0:
        check_accuracy(console, model, train_alone(digits, recipe), digits)
        report.show_collectives(console, [lines for _, lines in gathered])
        shares = [report.share(rank, *each) for rank, each in enumerate(gathered)]
        report.show_shares(console, shares, slow_rank)
    if options.compare:
        show_comparison(comm, console, model.size)
    comm.finalize()


def new_model(seed: int) -> Model:
    model = Model(PIXELS, HIDDEN, CLASSES)
    model.initialise(seed)
    return model


def train_alone(digits: Digits, recipe: Recipe) -> Model:
    """What one process makes of the same batches, undivided."""
    model = new_model(recipe.seed)
    train(Alone(), model, digits, recipe)
    return model


def share_digits(comm, seed: int) -> Digits:
    """Rank 0 reads the images, the others get them from it."""
    images, labels = read_digits() if comm.rank == 0 else (None, None)
    count = np.array([0 if labels is None else len(labels)])
    comm.broadcast(count)
    if labels is None:
        images = np.empty((count[0], PIXELS), np.float32)
        labels = np.empty(count[0], np.int32)
    comm.broadcast(images)
    comm.broadcast(labels)
    return prepare(images, labels, seed)


def check_replicas(comm, model: Model) -> None:
    """All workers must hold the same weights, to the last bit."""
    least, most = np.empty_like(model.parameters), np.empty_like(model.parameters)
    comm.allreduce(model.parameters, least, op="min")
    comm.allreduce(model.parameters, most, op="max")
    if not np.array_equal(least, most):
        raise SystemExit(f"rank {comm.rank}: the workers' weights differ after training")


def check_accuracy(console: Console, model: Model, alone: Model, digits: Digits) -> None:
    together, single = (
        each.accuracy(digits.held_out_images, digits.held_out_labels) for each in (model, alone)
    )
    apart = np.abs(model.parameters - alone.parameters).max() / np.abs(alone.parameters).max()
    console.print(
        f"accuracy on {len(digits.held_out_labels)} unseen images: [bold]{together:.2%}[/bold]; "
        f"one process on the whole batches: {single:.2%}\n"
        f"the workers hold the same weights to the last bit; they differ from those of the one "
        f"process by {apart:.0e} of the largest (the order of additions)\n"
    )
    if apart > APART:
        raise SystemExit(f"weights differ from those of one process by {apart:.0e}")
    if together != single:
        raise SystemExit(f"accuracy {together:.2%}, but {single:.2%} for one process")
    if together <= WANTED:
        raise SystemExit(f"accuracy {together:.2%}; more than {WANTED:.0%} was expected")


def show_comparison(comm, console: Console, count: int) -> None:
    names = stretto.algorithms("allreduce", comm.size)
    medians = compare(comm, names, count)
    chosen = comm.chosen_algorithm("allreduce", count, np.float32)
    if comm.rank == 0:
        report.show_algorithms(console, medians, chosen, 4 * count, comm.size)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1000, help="batches to train on")
    parser.add_argument("--seed", type=int, default=1, help="of split, weights and batches")
    parser.add_argument(
        "--slow", type=rank_and_pause, metavar="RANK:MS", help="slow a worker, per step"
    )
    parser.add_argument(
        "--compare", action="store_true", help="time every algorithm on this gradient"
    )
    return parser.parse_args()


def rank_and_pause(text: str) -> tuple[int, float]:
    """Turns "2:20" into rank 2, 0.020 seconds."""
    rank, milliseconds = text.split(":")
    return int(rank), float(milliseconds) / 1000


if __name__ == "__main__":
    main()
