# SPDX-License-Identifier: BSD-3-Clause
"""A decoder-only transformer: learned positions, layer norm first, a cache of keys and values."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional


class Shape(NamedTuple):
    tokens: int
    width: int
    layers: int
    heads: int


class Attention(nn.Module):
    """Of `heads` heads; where a rank has only some of them, `output` adds those of all ranks."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.heads = shape.heads
        self.inputs = nn.Linear(shape.width, 3 * shape.width)
        self.output = nn.Linear(shape.width, shape.width)

    def forward(self, x: Tensor, cache: list[Tensor] | None = None) -> Tensor:
        batch, length, _ = x.shape
        by_head = self.inputs(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        query, key, value = by_head.unbind(0)
        if cache is not None:
            if cache:
                key, value = torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2)
            cache[:] = [key, value]
        causal = length > 1  # a single new token sees all before it
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=causal)
        return self.output(seen.transpose(1, 2).reshape(batch, length, -1))


class Block(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.before_attention = nn.LayerNorm(shape.width)
        self.attention = Attention(shape)
        self.before_mlp = nn.LayerNorm(shape.width)
        self.widen = nn.Linear(shape.width, 4 * shape.width)
        self.narrow = nn.Linear(4 * shape.width, shape.width)

    def forward(self, x: Tensor, cache: list[Tensor] | None = None) -> Tensor:
        x = x + self.attention(self.before_attention(x), cache)
        return x + self.narrow(functional.gelu(self.widen(self.before_mlp(x))))


class Transformer(nn.Module):
    """Scores of the next token, for each of a passage."""

    def __init__(self, shape: Shape, longest: int):
        super().__init__()
        self.embedding = nn.Embedding(shape.tokens, shape.width)
        self.positions = nn.Embedding(longest, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width)
        self.scores = nn.Linear(shape.width, shape.tokens)

    def forward(self, tokens: Tensor, caches: list[list[Tensor]] | None = None) -> Tensor:
        """caches: of each layer, what earlier calls left there; None: a passage from its start."""
        done = caches[0][0].size(2) if caches and caches[0] else 0
        x = self.embedding(tokens)
        x = x + self.positions(torch.arange(done, done + tokens.size(1)))
        for number, block in enumerate(self.blocks):
            x = block(x, caches[number] if caches is not None else None)
        return self.scores(self.norm(x))


def make(shape: Shape, longest: int, seed: int) -> Transformer:
    """The same on all ranks."""
    torch.manual_seed(seed)
    return Transformer(shape, longest)
