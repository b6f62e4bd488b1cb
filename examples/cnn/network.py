# SPDX-License-Identifier: BSD-3-Clause
"""The network of Proficz (2018), section 6, in PyTorch, over one flat parameter vector.

    layer           of                           to                  parameters
    1  convolution  32 x 32,  3 channels, 5 x 5  32 x 32, 32             2,432
    2  average pool                              16 x 16, 32
    3  convolution  16 x 16, 32 channels, 5 x 5  16 x 16, 32            25,632
    4  average pool                               8 x 8,  32
    5  convolution   8 x 8,  32 channels, 5 x 5   8 x 8,  64            51,264
    6  average pool                               4 x 4,  64
    7  fully connected, 1024                     64                     65,600
    8  fully connected, 64                       10                        650

The paper says which layers there are and that they have 145,578 parameters; the sizes are those of
the CIFAR-10 example of tiny-dnn, the library it used, and have that many.  ReLU follows the pools,
as there, and layer 7.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import nn

PARAMETERS = 145_578
SIDE, CHANNELS, CLASSES = 32, 3, 10


def new_layers() -> nn.Sequential:
    def convolution(channels: int, maps: int) -> list[nn.Module]:
        return [nn.Conv2d(channels, maps, 5, padding=2), nn.AvgPool2d(2), nn.ReLU()]

    return nn.Sequential(
        *convolution(CHANNELS, 32),
        *convolution(32, 32),
        *convolution(32, 64),
        nn.Flatten(),
        nn.Linear(64 * 4 * 4, 64),
        nn.ReLU(),
        nn.Linear(64, CLASSES),
    )


class Network:
    """The layers, whose parameters are views of `parameters`, and gradients of `gradient`.

    parameters: a float32 vector of PARAMETERS elements to be used in place, such as one of
    `comm.alloc`; by default a new one.
    """

    def __init__(self, seed: int, parameters: np.ndarray | None = None):
        torch.manual_seed(seed)
        self.layers = new_layers()
        self.parameters = np.empty(PARAMETERS, np.float32) if parameters is None else parameters
        self.gradient = np.zeros(PARAMETERS, np.float32)
        self._flat, self._slope = map(torch.from_numpy, (self.parameters, self.gradient))
        start = 0
        for each in self.layers.parameters():
            stop = start + each.numel()
            place = self._flat[start:stop].view_as(each)
            place.copy_(each.data)
            each.data, each.grad = place, self._slope[start:stop].view_as(each)
            start = stop
        if start != PARAMETERS:
            raise ValueError(f"the layers have {start} parameters, not {PARAMETERS}")

    def learn(
        self,
        images: np.ndarray,
        labels: np.ndarray,
        rate: float,
        before_last: Callable[[], None] = lambda: None,
    ) -> float:
        """A step of gradient descent; the mean loss (cross entropy, nats) before it.

        images: float32, (n, 3, 32, 32); labels: int64, (n,).  `before_last` is called before the
        last layer is.
        """
        self._slope.zero_()
        found = self.layers[:-1](torch.from_numpy(images))
        before_last()
        scores = self.layers[-1](found)
        loss = nn.functional.cross_entropy(scores, torch.from_numpy(labels))
        loss.backward()
        self._flat.sub_(self._slope, alpha=rate)
        return loss.item()

    def accuracy(self, images: np.ndarray, labels: np.ndarray) -> float:
        right = 0
        with torch.no_grad():
            for start in range(0, len(labels), 500):
                part = slice(start, start + 500)
                scores = self.layers(torch.from_numpy(images[part]))
                right += int((scores.argmax(1).numpy() == labels[part]).sum())
        return right / len(labels)
