# SPDX-License-Identifier: BSD-3-Clause
"""Labelled images of 32 x 32 pixels in colour: CIFAR-10 from a folder, or scikit-learn's digits."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

SHAPE = (3, 32, 32)
CLASSES = 10
HELD_OUT = 360  # of the digits; CIFAR-10 has a test set
TRAINING = [f"data_batch_{number}" for number in range(1, 6)]
TEST = "test_batch"


class Part(NamedTuple):
    images: np.ndarray
    """float32, (n, 3, 32, 32), -1 to 1."""
    labels: np.ndarray
    """int64, 0 to 9."""


def read_cifar(folder: Path) -> tuple[Part, Part]:
    """CIFAR-10's training and test images, of the folder `cifar-10-batches-py`.

    Its files are pickles, of which only arrays and what they are made of are read.  Raises OSError
    if one is missing and ValueError if it is something else.
    """
    parts = [_read_batch(folder / name) for name in TRAINING]
    training = Part(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    return training, _read_batch(folder / TEST)


class Plain(pickle.Unpickler):
    """Makes arrays and nothing else: a pickle may ask for any function to be called."""

    # NumPy has moved them, and kept the old name.
    MODULES = ("numpy.core.multiarray", "numpy._core.multiarray", "numpy")
    NAMES = ("_reconstruct", "ndarray", "dtype")

    def find_class(self, module: str, name: str):
        if module in self.MODULES and name in self.NAMES:
            return super().find_class(module, name)
        if (module, name) == ("_codecs", "encode"):  # how Python 3 writes bytes for Python 2
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")


def _read_batch(path: Path) -> Part:
    try:
        with path.open("rb") as file:
            found = Plain(file, encoding="bytes").load()
        pixels, labels = np.asarray(found[b"data"]), np.asarray(found[b"labels"], np.int64)
        if pixels.dtype != np.uint8 or pixels.shape != (len(labels), np.prod(SHAPE)):
            raise ValueError(f"its images are {pixels.dtype} of shape {pixels.shape}")
        if len(labels) and not 0 <= labels.min() <= labels.max() < CLASSES:
            raise ValueError(f"labels are from {labels.min()} to {labels.max()}")
    except OSError:
        raise
    except Exception as error:  # unpickling raises whatever it likes
        what = f"{type(error).__name__}: {error}"
        raise ValueError(f"{path} is no batch of CIFAR-10 for Python ({what})") from error
    return Part((pixels.reshape(-1, *SHAPE) / 127.5 - 1).astype(np.float32), labels)


def read_digits(seed: int) -> tuple[Part, Part]:
    """The 1,797 handwritten digits that scikit-learn ships, some of them held out at random.

    They are grey and 8 x 8 pixels: each pixel becomes 4 x 4 with linear steps between, and all
    three colours are the same.
    """
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    images, labels = enlarged((pixels / 8 - 1).reshape(-1, 8, 8)), labels.astype(np.int64)
    order = np.random.default_rng(seed).permutation(len(labels))
    held_out, rest = order[:HELD_OUT], order[HELD_OUT:]
    return Part(images[rest], labels[rest]), Part(images[held_out], labels[held_out])


def enlarged(grey: np.ndarray) -> np.ndarray:
    """float32, (n, 3, 4 h, 4 w) of (n, h, w): bilinear, about the middles of pixels."""
    for axis in (1, 2):
        count = grey.shape[axis]
        at = np.clip((np.arange(4 * count) + 0.5) / 4 - 0.5, 0, count - 1)
        below = np.minimum(at.astype(int), count - 2)
        part = (at - below).reshape((-1, 1) if axis == 1 else (-1,))
        lower, upper = (np.take(grey, each, axis) for each in (below, below + 1))
        grey = lower * (1 - part) + upper * part
    return np.repeat(grey[:, None].astype(np.float32), 3, axis=1)


def batches(count: int, size: int, rank: int, ranks: int, seed: int) -> Iterator[np.ndarray]:
    """Indices of a rank's batches, for ever: pass after pass over all, each in a new random order,
    which the ranks share out among them."""
    if count < size * ranks:
        raise ValueError(f"{count} images are too few for {ranks} ranks with {size} each")
    generator = np.random.default_rng(seed)  # the same on all ranks
    while True:
        order = generator.permutation(count)
        for start in range(0, count - size * ranks + 1, size * ranks):
            yield order[start + rank * size : start + (rank + 1) * size]
