# SPDX-License-Identifier: BSD-3-Clause
"""The handwritten digits that scikit-learn ships, 1,797 images of 8 x 8 pixels, and a network."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

HELD_OUT = 360


class Part(NamedTuple):
    images: Tensor  # float32, n x 1 x 8 x 8, -1 (paper) to 1 (ink)
    labels: Tensor


def read(seed: int) -> tuple[Part, Part]:
    """Images to train on, and those that are held out, at random."""
    from sklearn.datasets import load_digits  # takes a second: only where it is needed

    pixels, labels = load_digits(return_X_y=True)
    images = torch.tensor(pixels / 8 - 1, dtype=torch.float32).view(-1, 1, 8, 8)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    held_out, rest = order[:HELD_OUT], order[HELD_OUT:]
    all_labels = torch.tensor(labels)
    return Part(images[rest], all_labels[rest]), Part(images[held_out], all_labels[held_out])


def network(seed: int) -> nn.Module:
    """Two convolutional layers and two others: 151,306 parameters."""
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * 4 * 4, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )


def batch(part: Part, size: int, step: int, seed: int) -> Part:
    """The images of a step: at random, the same on all ranks."""
    generator = torch.Generator().manual_seed(seed * 1_000_003 + step)
    chosen = torch.randint(len(part.labels), (size,), generator=generator)
    return Part(part.images[chosen], part.labels[chosen])


def share(whole: Part, rank: int, size: int) -> Part:
    """A rank's part of a batch: as many images for each, a few remain."""
    each = len(whole.labels) // size
    mine = slice(rank * each, (rank + 1) * each)
    return Part(whole.images[mine], whole.labels[mine])


@torch.no_grad()
def accuracy(model: nn.Module, part: Part) -> float:
    return float((model(part.images).argmax(1) == part.labels).float().mean())
