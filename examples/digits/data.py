# SPDX-License-Identifier: BSD-3-Clause
"""The handwritten digits that scikit-learn ships: 1,797 images of 8 x 8 pixels, by 43 writers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

SIDE = 8
PIXELS = SIDE * SIDE
CLASSES = 10
HELD_OUT = 360


@dataclass
class Digits:
    images: np.ndarray  # float32, one row an image, -1 (paper) to 1 (ink)
    labels: np.ndarray  # int32
    held_out_images: np.ndarray
    held_out_labels: np.ndarray


def read_digits() -> tuple[np.ndarray, np.ndarray]:
    """All images and labels, as scikit-learn orders them."""
    from sklearn.datasets import load_digits  # takes a second: only where it is needed

    pixels, labels = load_digits(return_X_y=True)
    return (pixels / 8 - 1).astype(np.float32), labels.astype(np.int32)


def prepare(images: np.ndarray, labels: np.ndarray, seed: int) -> Digits:
    """Holds images out at random, and adds to the rest its four shifts by one pixel."""
    order = np.random.default_rng(seed).permutation(len(labels))
    held_out, rest = order[:HELD_OUT], order[HELD_OUT:]
    moves = [(0, 0), (0, 1), (0, -1), (1, 0), (-1, 0)]
    return Digits(
        images=np.concatenate([shifted(images[rest], *move) for move in moves]),
        labels=np.tile(labels[rest], len(moves)),
        held_out_images=images[held_out],
        held_out_labels=labels[held_out],
    )


def shifted(images: np.ndarray, down: int, right: int) -> np.ndarray:
    """The images moved by at most one pixel, paper where nothing moves in."""
    framed = np.pad(images.reshape(-1, SIDE, SIDE), ((0, 0), (1, 1), (1, 1)), constant_values=-1)
    rows = slice(1 - down, 1 - down + SIDE)
    columns = slice(1 - right, 1 - right + SIDE)
    return framed[:, rows, columns].reshape(-1, PIXELS)


def batches(count: int, size: int, steps: int, seed: int) -> Iterator[np.ndarray]:
    """`steps` batches of indices: pass after pass over all `count`, each in a new random order."""
    generator = np.random.default_rng(seed)
    done = 0
    while done < steps:
        order = generator.permutation(count)
        for start in range(0, count, size):
            if done == steps:
                return
            yield order[start : start + size]
            done += 1
