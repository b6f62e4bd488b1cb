# SPDX-License-Identifier: BSD-3-Clause
"""Trains the classifier of digits on workers of which one is slow, and lets the others not wait.

    stretto run -n 4 python examples/digits/asynchronous.py
    stretto run -n 4 python examples/digits/asynchronous.py --slow 2:50 --images 200000

First all workers take one step from one average of their models to the next, then as many as they
have time for while the slowest takes one.  Exits with an error unless the workers end with
identical weights each time, and more than 90 % accurate on images that none of them has seen.
"""

# ruff: noqa: E402
from __future__ import annotations

import os

# One thread per worker: together the workers already fill the machine.  NumPy reads it on import.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse

import numpy as np
import stretto
from rich.console import Console
from rich.table import Table
from train import check_replicas, new_model, rank_and_pause, share_digits
from training import Recipe
from uneven import train

WANTED = 0.90


def main() -> None:
    options = parse_arguments()
    comm = stretto.init()
    console = Console(quiet=comm.rank != 0, highlight=False)
    slow_rank, pause = options.slow
    if slow_rank not in range(comm.size):
        raise SystemExit(f"--slow: there is no rank {slow_rank} among {comm.size}")
    digits = share_digits(comm, options.seed)
    recipe = Recipe(steps=0, rate=options.rate, seed=options.seed)
    console.print(
        f"{comm.size} workers, {options.images:,} images; each step of rank {slow_rank} takes "
        f"{pause * 1e3:.0f} ms longer"
    )
    table = Table("", "s", "averages", "images a second", "accuracy", box=None)
    for even in (True, False):
        model = new_model(options.seed)
        plans: list[np.ndarray] = []
        comm.barrier()
        seconds = train(
            comm, model, digits, recipe, options.images,
            pause if comm.rank == slow_rank else 0.0, even, plans.append,
        )  # fmt: skip
        check_replicas(comm, model)
        accuracy = model.accuracy(digits.held_out_images, digits.held_out_labels)
        table.add_row(
            "a step each" if even else f"steps as they fit: {show(plans)}",
            f"{seconds:.2f}", str(len(plans)), f"{options.images / seconds:,.0f}",
            f"{accuracy:.2%}",
        )  # fmt: skip
        if accuracy <= WANTED:
            raise SystemExit(f"accuracy {accuracy:.2%}; more than {WANTED:.0%} was expected")
    console.print(table)
    comm.finalize()


def show(plans: list[np.ndarray]) -> str:
    """ "18, 18, 1, 17": of each worker, as a rule."""
    return ", ".join(f"{steps:.0f}" for steps in np.median(plans, axis=0))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--images", type=int, default=100_000, help="of all workers together, each time")
    add("--slow", type=rank_and_pause, default=(1, 0.02), metavar="RANK:MS",
        help="slow a worker, per step (1:20)")  # fmt: skip
    add("--rate", type=float, default=0.1, help="of descent")
    add("--seed", type=int, default=1, help="of split, weights and batches")
    return parser.parse_args()


if __name__ == "__main__":
    main()
