# SPDX-License-Identifier: BSD-3-Clause
"""A rank of a training that is played again: it sleeps as long as recorded steps took, and averages
a model with the others after each.  Rank 0 prints what it took, as a line of JSON."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

if __name__ == "__main__":
    sys.path.append(str(Path(__file__).resolve().parents[2] / "examples" / "cnn"))

import stretto  # noqa: E402
from recording import Recording, read  # noqa: E402

# Models differ from call to call by powers of two, by which all is multiplied exactly.
SCALES = 4


class Model(NamedTuple):
    """What a rank brings to an average, and what comes out.

    Multiples of 2^-12 in -1 to 1, as a network's weights are: sums of up to 2048 such are exact in
    any order.
    """

    own: np.ndarray
    mean: np.ndarray


def model(rank: int, ranks: int, count: int) -> Model:
    def weights(of: int) -> np.ndarray:
        return np.random.default_rng(of).integers(-4096, 4097, count) / 4096

    total = sum(map(weights, range(ranks)))
    return Model(weights(rank).astype(np.float32), (total / ranks).astype(np.float32))


def mistakes(found: np.ndarray, mean: np.ndarray) -> int:
    """How many elements are farther off than the division may round, or no numbers."""
    return int(np.count_nonzero(~(np.abs(found - mean) <= 2.5e-7 * np.abs(mean))))


def steps_of(
    recording: Recording, rank: int, execution: int, iterations: int, mean: float | None, seed: int
) -> list[tuple[float, float]]:
    """The steps of a rank, in seconds before and after the edge: those of the recording in a random
    order of its own for each execution, again and again until there are enough.

    mean: seconds of a step on the average, to which all are stretched; None: as recorded.
    """
    generator = np.random.default_rng([seed, execution, rank])
    count = len(recording.seconds)
    order = np.concatenate([generator.permutation(count) for _ in range(-(-iterations // count))])
    scale = mean / recording.mean if mean else 1.0
    chosen = (recording.seconds[place] for place in order[:iterations].tolist())
    return [(before * scale, after * scale) for before, after in chosen]


def play(
    comm: stretto.Communicator, steps: list[tuple[float, float]], count: int, edge: float | None
) -> tuple[np.ndarray, float, int]:
    """Seconds in each call, seconds of all, and wrong elements, of this rank.  Collective.

    edge: the part of a step after which the rank announces its arrival; None: it does not.
    """
    own, mean = model(comm.rank, comm.size, count)
    vector = comm.alloc(count, np.float32)
    elapsed, wrong = np.zeros(len(steps)), 0
    comm.barrier()
    start = time.perf_counter()
    for number, (before, after) in enumerate(steps):
        if edge:
            comm.phase_begin()
        began = time.perf_counter()
        # In the time of the computation: it costs the step nothing.
        if number:
            wrong += mistakes(vector, mean * scale(number - 1))
        np.multiply(own, scale(number), out=vector)
        sleep_until(began + before)
        if edge:
            comm.edge(edge)
        sleep_until(began + before + after)
        arrived = time.perf_counter()
        comm.allreduce(stretto.IN_PLACE, vector, op="avg")
        elapsed[number] = time.perf_counter() - arrived
    total = time.perf_counter() - start
    return elapsed, total, wrong + mistakes(vector, mean * scale(len(steps) - 1))


def scale(number: int) -> np.float32:
    return np.float32(0.5 ** (number % SCALES))


def sleep_until(moment: float) -> None:
    left = moment - time.perf_counter()
    if left > 0:
        time.sleep(left)


def evaluate(elapsed: np.ndarray, totals: np.ndarray) -> dict:
    """Of seconds in a call, by rank (row) and call (column), and of all, by rank.

    elapsed: mean over ranks and calls.  waiting: how much longer that is than the time of the rank
    that spends least in a call, which came last.  total: until all are done.
    """
    least = elapsed.min(axis=0)
    return {
        "elapsed_us": float(elapsed.mean() * 1e6),
        "waiting_us": float((elapsed.mean(axis=0) - least).mean() * 1e6),
        "call_elapsed_us": [round(each * 1e6, 1) for each in elapsed.mean(axis=0).tolist()],
        "total_s": float(totals.max()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--recording", type=Path, required=True)
    add("--execution", type=int, default=0)
    add("--iterations", type=int, default=390)
    add("--mean", type=float, help="seconds of a step on the average")
    add("--seed", type=int, default=1)
    add("--tell", action="store_true", help="phases and edges")
    options = parser.parse_args()
    recording = read(options.recording)
    with stretto.init() as comm:
        steps = steps_of(
            recording, comm.rank, options.execution, options.iterations, options.mean, options.seed
        )
        edge = recording.fraction if options.tell else None
        elapsed, total, wrong = play(comm, steps, recording.parameters, edge)
        everyones = np.zeros((comm.size, len(steps)))
        comm.allgather(elapsed, everyones)
        totals = np.zeros(comm.size)
        comm.allgather(np.array([total]), totals)
        mistaken = int(comm.allreduce(np.array([wrong], np.int64))[0])
        if comm.rank == 0:
            chosen = comm.chosen_algorithm("allreduce", recording.parameters, np.float32)
            found = {**evaluate(everyones, totals), "wrong": mistaken, "chosen": chosen}
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
