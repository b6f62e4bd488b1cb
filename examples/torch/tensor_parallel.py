# SPDX-License-Identifier: BSD-3-Clause
"""Writes with a transformer whose layers are divided among workers on one host: tensor parallelism.

    torchrun --nproc-per-node 2 examples/torch/tensor_parallel.py
    torchrun --nproc-per-node 4 examples/torch/tensor_parallel.py --width 1024 --layers 12

Each worker has some of the attention's heads and of the MLP's columns (Megatron-LM, Shoeybi and
others, 2019), so each layer ends twice in an all_reduce of one token's activations: small calls,
one after the other, in which nothing else can be done.  The same model writes with Gloo and with
Stretto, in turn; prints tokens a second of both.  --double calculates in double precision, in which
no order of additions decides which token is likelier, and exits with an error unless both write
what the undivided model writes.
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch
import torch.distributed as dist
import transformer
import worker
from torch import Tensor, nn
from torch.nn import functional


class RowParallel(nn.Module):
    """A linear layer of whose inputs a worker has a part: the workers' results are added."""

    def __init__(self, whole: nn.Linear, columns: slice):
        super().__init__()
        self.weight = nn.Parameter(whole.weight[:, columns].clone())
        self.bias = nn.Parameter(whole.bias.clone())
        self.group: dist.ProcessGroup | None = None

    def forward(self, x: Tensor) -> Tensor:
        partial = functional.linear(x, self.weight)
        dist.all_reduce(partial, group=self.group)
        return partial + self.bias


def divide(model: transformer.Transformer, rank: int, size: int) -> list[RowParallel]:
    """Leaves a worker its part of each layer; returns the layers that communicate."""
    rows = []
    for block in model.blocks:
        attention = block.attention
        width = attention.output.in_features
        heads = part(attention.heads, rank, size)
        each = width // attention.heads
        mine = slice(heads.start * each, heads.stop * each)
        attention.inputs = narrower(attention.inputs, 3, mine)
        attention.output = RowParallel(attention.output, mine)
        attention.heads = heads.stop - heads.start
        columns = part(4 * width, rank, size)
        block.widen = narrower(block.widen, 1, columns)
        block.narrow = RowParallel(block.narrow, columns)
        rows += [attention.output, block.narrow]
    return rows


def narrower(whole: nn.Linear, parts: int, rows: slice) -> nn.Linear:
    """Some of a layer's outputs, which are `parts` vectors: the same rows of each."""
    weight = whole.weight.view(parts, -1, whole.in_features)[:, rows].flatten(0, 1)
    bias = whole.bias.view(parts, -1)[:, rows].flatten()
    made = nn.Linear(whole.in_features, len(bias))
    with torch.no_grad():
        made.weight.copy_(weight)
        made.bias.copy_(bias)
    return made


def part(count: int, rank: int, size: int) -> slice:
    """A rank's of so many, as even as possible."""
    return slice(count * rank // size, count * (rank + 1) // size)


@torch.inference_mode()
def write(model: transformer.Transformer, prompt: Tensor, tokens: int) -> tuple[list[int], float]:
    """The likeliest next token, again and again; the tokens, and seconds for one of them."""
    caches: list[list[Tensor]] = [[] for _ in model.blocks]
    written, given = [], prompt
    began = 0.0
    for _ in range(tokens):
        scores = model(given, caches)[:, -1]
        given = scores.argmax(1, keepdim=True)
        if not written:
            began = time.perf_counter()  # the prompt is read
        written.append(int(given))
    return written, (time.perf_counter() - began) / max(1, tokens - 1)


def main() -> None:
    options = parse_arguments()
    rank, size = worker.join("stretto")
    say = worker.say()
    if options.heads < size:
        raise SystemExit(f"{options.heads} heads cannot be divided among {size} workers: --heads")
    groups = {"gloo": dist.new_group(backend="gloo"), "stretto": dist.group.WORLD}
    shape = transformer.Shape(options.alphabet, options.width, options.layers, options.heads)
    longest = options.prompt + options.tokens
    whole = transformer.make(shape, longest, options.seed)
    kind = torch.float64 if options.double else torch.float32
    whole.to(kind)
    generator = torch.Generator().manual_seed(options.seed)
    prompt = torch.randint(options.alphabet, (1, options.prompt), generator=generator)
    wanted, alone = write(whole, prompt, options.tokens)
    parallel = transformer.make(shape, longest, options.seed).to(kind)
    rows = divide(parallel, rank, size)
    parallel.to(kind)
    say(f"{size} workers; {len(rows)} all_reduces of {options.width} elements for each token")

    seconds: dict[str, list[float]] = {name: [] for name in groups}
    for _ in range(options.rounds):
        for name, group in groups.items():
            for row in rows:
                row.group = group
            dist.barrier()
            written, each = write(parallel, prompt, options.tokens)
            seconds[name].append(each)
            if options.double and written != wanted:
                raise SystemExit(f"rank {rank}: {name} writes {written}, one worker {wanted}")
    for name, times in seconds.items():
        slowest = torch.tensor(statistics.median(times), dtype=torch.float64)
        dist.all_reduce(slowest, dist.ReduceOp.MAX)
        say(f"{name:>8}: {1 / slowest.item():.1f} tokens a second")
    say(f"   alone: {1 / alone:.1f} tokens a second, each worker the whole model")
    dist.destroy_process_group()


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--width", type=int, default=512)
    add("--layers", type=int, default=8)
    add("--heads", type=int, default=8)
    add("--alphabet", type=int, default=1024, help="tokens that there are")
    add("--prompt", type=int, default=16, help="tokens to begin with")
    add("--tokens", type=int, default=64, help="to write")
    add("--rounds", type=int, default=5)
    add("--double", action="store_true", help="calculate in double precision, and check")
    add("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
