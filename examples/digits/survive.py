# SPDX-License-Identifier: BSD-3-Clause
"""Trains on through the death of workers.

    stretto run --keep-going -n 4 python examples/digits/survive.py --kill 2:300 --kill 0:600

When a worker dies, the others get an error of their present call.  They shrink the communicator to
the remaining workers, agree on the weights, and repeat the step that was lost. The batches stay
what they were, only their parts grow: so the training ends where the survivors alone would have
ended.  Exits with an error unless it does.
"""

# ruff: noqa: E402
from __future__ import annotations

import os

# One thread per worker: together the workers already fill the machine.  NumPy reads it on import.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import signal

import numpy as np
import stretto
from data import Digits, batches
from model import Momentum
from rich.console import Console
from train import check_accuracy, check_replicas, new_model, share_digits, train_alone
from training import Recipe

LOST = (stretto.PeerError, stretto.RevokedError, stretto.TimeoutError)


class Training:
    """A worker's state of the training: after each step it is the same on all workers."""

    def __init__(self, recipe: Recipe):
        self.model = new_model(recipe.seed)
        self.descend = Momentum(self.model, recipe.rate)
        self.step = 0  # steps done

    def agree(self, comm) -> None:
        """The state of the lowest worker counts."""
        step = np.array([self.step])
        comm.broadcast(step)
        comm.broadcast(self.model.parameters)
        comm.broadcast(self.descend.velocity)
        self.step = int(step[0])


def main() -> None:
    options = parse_arguments()
    comm = stretto.init()
    deaths = {step for rank, step in options.kill if rank == comm.rank}
    recipe = Recipe(steps=options.steps, seed=options.seed)
    digits = share_digits(comm, options.seed)
    training = Training(recipe)

    comm = train_through(comm, training, digits, recipe, deaths)

    check_replicas(comm, training.model)
    if comm.rank == 0:
        console = Console(highlight=False)
        console.print(f"{comm.size} workers are left after {training.step} steps")
        check_accuracy(console, training.model, train_alone(digits, recipe), digits)
    comm.finalize()


def train_through(comm, training: Training, digits: Digits, recipe: Recipe, deaths: set[int]):
    """Trains to the end with the remaining workers; returns their communicator.

    This worker dies in the steps that `deaths` names.
    """
    plan = list(batches(len(digits.labels), recipe.batch, recipe.steps, recipe.seed))
    gradient = np.empty(training.model.size, np.float32)
    while training.step < recipe.steps:
        batch = plan[training.step]
        part = np.array_split(batch, comm.size)[comm.rank]
        training.model.gradient(digits.images[part], digits.labels[part], gradient)
        if training.step in deaths:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            comm.allreduce(stretto.IN_PLACE, gradient)
        except LOST as error:
            comm = go_on(comm, training, error)
            continue  # with the step after the last that the lowest worker has done
        training.descend.step(gradient / len(batch))
        training.step += 1
    return comm


def go_on(comm, training: Training, error: stretto.Error):
    """The communicator of the remaining workers, which have the same state again."""
    while True:
        old = comm
        comm, completed = old.shrink()
        old.finalize()
        if comm.rank == 0:
            print(f"{error}\n{completed} collectives were complete on all workers", flush=True)
        try:
            # One may have got the sum of a step that failed on another: it is done or to be
            # repeated for all, as the lowest worker has it.
            training.agree(comm)
        except LOST as another:
            error = another
            continue
        if comm.rank == 0:
            print(f"{comm.size} workers go on after step {training.step}", flush=True)
        return comm


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1000, help="batches to train on")
    parser.add_argument("--seed", type=int, default=1, help="of split, weights and batches")
    parser.add_argument(
        "--kill",
        type=rank_and_step,
        action="append",
        default=[],
        metavar="RANK:STEP",
        help="a worker that dies, and after how many steps; may be repeated",
    )
    return parser.parse_args()


def rank_and_step(text: str) -> tuple[int, int]:
    """Turns "2:300" into rank 2, step 300."""
    rank, step = text.split(":")
    return int(rank), int(step)


if __name__ == "__main__":
    main()
