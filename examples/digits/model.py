# SPDX-License-Identifier: BSD-3-Clause
"""A classifier with one hidden layer, in plain NumPy, over one flat parameter vector.

    scores = tanh(images @ w1 + b1) @ w2 + b2

Parameters and gradient are flat vectors of the same layout, so that a whole gradient is one
collective.  Gradients are *sums* over images, not means: the sums of the parts of a batch add up to
the sum of the batch, however unequal the parts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Outcome(NamedTuple):
    """What a batch gave: the sum of its losses (cross entropy, nats) and how many were right."""

    loss: float
    correct: int


class Model:
    """A multilayer perceptron of `inputs`, `hidden` and `classes` units."""

    def __init__(self, inputs: int, hidden: int, classes: int, dtype=np.float32):
        self.shapes = [(inputs, hidden), (hidden,), (hidden, classes), (classes,)]
        self.size = sum(int(np.prod(shape)) for shape in self.shapes)
        self.parameters = np.zeros(self.size, dtype)
        self._views = self.split(self.parameters)

    def split(self, flat: np.ndarray) -> list[np.ndarray]:
        """Views of a flat vector as w1, b1, w2, b2."""
        views, start = [], 0
        for shape in self.shapes:
            stop = start + int(np.prod(shape))
            views.append(flat[start:stop].reshape(shape))
            start = stop
        return views

    def initialise(self, seed: int) -> None:
        """Weights uniform in +-1/sqrt(inputs of the layer), biases zero."""
        generator = np.random.default_rng(seed)
        self.parameters[:] = 0
        for weights in self._views[0::2]:
            bound = 1 / np.sqrt(weights.shape[0])
            weights[:] = generator.uniform(-bound, bound, weights.shape)

    def classify(self, images: np.ndarray) -> np.ndarray:
        """The most likely class of each image."""
        return np.argmax(self._forward(images)[1], axis=1)

    def accuracy(self, images: np.ndarray, labels: np.ndarray) -> float:
        return float(np.mean(self.classify(images) == labels))

    def gradient(self, images: np.ndarray, labels: np.ndarray, out: np.ndarray) -> Outcome:
        """Writes the gradient of the summed loss into `out`; a batch of no images gives zeros."""
        w2 = self._views[2]
        hidden, scores = self._forward(images)
        scores -= scores.max(axis=1, keepdims=True)
        likelihood = np.exp(scores)
        likelihood /= likelihood.sum(axis=1, keepdims=True)
        each = np.arange(len(labels))
        loss = -float(np.sum(np.log(likelihood[each, labels])))
        correct = int(np.sum(np.argmax(likelihood, axis=1) == labels))

        by_scores = likelihood
        by_scores[each, labels] -= 1
        by_hidden = (by_scores @ w2.T) * (1 - hidden * hidden)
        to_w1, to_b1, to_w2, to_b2 = self.split(out)
        np.matmul(images.T, by_hidden, out=to_w1)
        np.sum(by_hidden, axis=0, out=to_b1)
        np.matmul(hidden.T, by_scores, out=to_w2)
        np.sum(by_scores, axis=0, out=to_b2)
        return Outcome(loss, correct)

    def _forward(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        w1, b1, w2, b2 = self._views
        hidden = np.tanh(images @ w1 + b1)
        return hidden, hidden @ w2 + b2


class Momentum:
    """Gradient descent that remembers: velocity = keep * velocity + gradient."""

    def __init__(self, model: Model, rate: float, keep: float = 0.9):
        self._parameters = model.parameters
        self._rate = self._parameters.dtype.type(rate)
        self._keep = self._parameters.dtype.type(keep)
        self.velocity = np.zeros_like(model.parameters)

    def step(self, gradient: np.ndarray) -> None:
        self.velocity *= self._keep
        self.velocity += gradient
        self._parameters -= self._rate * self.velocity
