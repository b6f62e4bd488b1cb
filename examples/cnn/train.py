# SPDX-License-Identifier: BSD-3-Clause
"""Trains the convolutional network of Proficz (2018), section 6: all ranks average their models.

    stretto run -n 2 python examples/cnn/train.py
    stretto run -n 4 python examples/cnn/train.py --cifar cifar-10-batches-py
    python examples/cnn/train.py --record examples/cnn/steps.json

Exits with an error unless the ranks end with identical models and, of the digits, more than 85 % of
the images that none of them has seen are named right.
"""

# ruff: noqa: E402
from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
from collections import deque
from pathlib import Path

import numpy as np
import stretto

try:
    import torch
except ModuleNotFoundError:
    sys.exit("this example needs PyTorch, its build for CPUs will do: pip install torch")
from images import Part, batches, read_cifar, read_digits
from network import PARAMETERS, Network
from recording import Recording, write

WANTED = 0.85
BATCH = 8
WARM = 20  # steps before those that are recorded
KEPT = 32  # shares of a step that the edge's is the median of


def main() -> None:
    options = parse_arguments()
    torch.set_num_threads(options.threads)
    comm = stretto.init()
    if options.record and comm.size > 1:
        raise SystemExit("--record is of one rank alone: the others would take its processors")
    try:
        images = read_cifar(options.cifar) if options.cifar else read_digits(options.seed)
    except (OSError, ValueError) as error:
        raise SystemExit(f"rank {comm.rank}: --cifar: {error}") from error
    training, held_out = images
    say = print if comm.rank == 0 else lambda *_: None
    say(
        f"{comm.size} ranks, {len(training.labels):,} images, {options.steps} steps of {BATCH} "
        f"images each; {PARAMETERS:,} parameters"
    )

    network = Network(options.seed, comm.alloc(PARAMETERS, np.float32))
    steps = options.steps + (WARM if options.record else 0)
    seconds = train(comm, network, training, steps, options.rate, options.seed, say)

    check_replicas(comm, network)
    accuracy = network.accuracy(*held_out)
    say(f"accuracy on {len(held_out.labels):,} unseen images: {accuracy:.2%}")
    if options.record:
        recording = Recording(PARAMETERS, BATCH, seconds[WARM:], facts(options))
        write(recording, options.record)
        print(f"wrote {options.record}: {recording.mean * 1e3:.2f} ms a step, "
              f"{recording.fraction:.0%} of it before the edge")  # fmt: skip
    comm.finalize()
    if not options.cifar and accuracy <= WANTED:
        raise SystemExit(f"accuracy {accuracy:.2%}; more than {WANTED:.0%} was expected")


def train(
    comm, network: Network, images: Part, steps: int, rate: float, seed: int, say
) -> list[tuple[float, float]]:
    """Averages the models after each step; of each, the seconds before and after the edge."""
    plan = batches(len(images.labels), BATCH, comm.rank, comm.size, seed)
    shares: deque[float] = deque(maxlen=KEPT)
    seconds, at_edge = [], 0.0

    def edge() -> None:
        nonlocal at_edge
        at_edge = time.perf_counter()
        if shares:  # what part of a step this is has been seen
            comm.edge(statistics.median(shares))

    for step in range(steps):
        batch = next(plan)
        comm.phase_begin()
        began = time.perf_counter()
        loss = network.learn(images.images[batch], images.labels[batch], rate, edge)
        ended = time.perf_counter()
        comm.allreduce(stretto.IN_PLACE, network.parameters, op="avg")

        seconds.append((at_edge - began, ended - at_edge))
        shares.append((at_edge - began) / (ended - began))
        if (step + 1) % max(1, steps // 5) == 0:
            say(f"step {step + 1:>5}/{steps}  loss of rank 0 {loss:.3f}")
    return seconds


def check_replicas(comm, network: Network) -> None:
    """All ranks must hold the same model, to the last bit."""
    least = comm.allreduce(network.parameters, op="min")
    most = comm.allreduce(network.parameters, op="max")
    if not np.array_equal(least, most):
        raise SystemExit(f"rank {comm.rank}: the ranks' models differ after training")


def facts(options: argparse.Namespace) -> dict:
    return {
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "cpu": cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "threads": options.threads,
        "torch": torch.__version__,
        "images": "CIFAR-10" if options.cifar else "digits",
    }


def cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def positive(text: str) -> int:
    """An argument from 1 on."""
    if int(text) < 1:
        raise ValueError(text)
    return int(text)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=positive, default=390, help="batches of each rank (390)")
    parser.add_argument("--rate", type=float, default=0.08, help="of gradient descent (0.08)")
    parser.add_argument("--seed", type=int, default=1, help="of held-out images, model, batches")
    parser.add_argument("--threads", type=positive, default=1, help="of a rank's computation (1)")
    parser.add_argument(
        "--cifar", type=Path, metavar="PATH", help="CIFAR-10's python version, unpacked"
    )
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="write what steps of this one rank took"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
