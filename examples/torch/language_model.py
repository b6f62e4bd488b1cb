# SPDX-License-Identifier: BSD-3-Clause
"""Trains a small transformer that writes character by character, its parameters sharded by FSDP2.

    torchrun --nproc-per-node 4 examples/torch/language_model.py
    torchrun --nproc-per-node 4 examples/torch/language_model.py --backend gloo --check

Each worker holds a part of every layer, gathers a layer's parameters when it needs them, and gets
its part of the reduced gradients.  The text is Stretto's documentation, or that of --text.  --check
trains the same model without sharding, on undivided batches, beside it: exits with an error unless
the losses are the same but for rounding.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import torch
import torch.distributed as dist
import transformer
import worker
from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn import functional

DOCS = Path(__file__).resolve().parents[2] / "docs"
TOLERANCE = 1e-3  # of a loss, which an order of additions may cause in so many steps


def main() -> None:
    options = parse_arguments()
    rank, size = worker.join(options.backend)
    say = worker.say()
    text, alphabet = read(options.text)
    shape = transformer.Shape(len(alphabet), options.width, options.layers, options.heads)
    model = transformer.make(shape, options.length, options.seed)
    mesh = init_device_mesh("cpu", (size,))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    learner = Learner(model, text, options)
    alone = None
    if options.check:
        alone = Learner(transformer.make(shape, options.length, options.seed), text, options)
    held = sum(parameter.to_local().numel() for parameter in model.parameters())
    whole = sum(parameter.numel() for parameter in model.parameters())
    say(
        f"{size} workers, {options.backend}; {whole:,} parameters, of which rank 0 holds {held:,}; "
        f"{len(text):,} characters of text"
    )

    seconds = []
    for step in range(options.steps):
        began = time.perf_counter()
        loss = learner.step(step, rank, size)
        seconds.append(time.perf_counter() - began)
        dist.all_reduce(loss)
        loss /= size
        wanted = alone.step(step) if alone else loss
        if step % max(1, options.steps // 10) == 0 or step == options.steps - 1:
            beside = f", without sharding {wanted.item():.6f}" if alone else ""
            say(f"step {step:>4}  loss {loss.item():.6f}{beside}")
        if abs(loss - wanted) > TOLERANCE * wanted:
            raise SystemExit(f"step {step}: loss {loss.item()}, without sharding {wanted.item()}")
    say(f"{statistics.median(seconds) * 1e3:.1f} ms a step")
    dist.destroy_process_group()


class Learner:
    """A model on its way."""

    def __init__(self, model: transformer.Transformer, text: Tensor, options: argparse.Namespace):
        self.model, self.text, self.options = model, text, options
        self.descend = torch.optim.AdamW(model.parameters(), lr=options.rate)

    def step(self, step: int, rank: int = 0, size: int = 1) -> Tensor:
        """Learns a rank's part of a batch; returns its mean loss, in nats a character."""
        passages = self.batch(step).tensor_split(size)[rank]
        scores = self.model(passages[:, :-1])
        loss = functional.cross_entropy(scores.flatten(0, 1), passages[:, 1:].flatten())
        self.descend.zero_grad()
        loss.backward()
        self.descend.step()
        return loss.detach()

    def batch(self, step: int) -> Tensor:
        generator = torch.Generator().manual_seed(self.options.seed * 1_000_003 + step)
        length = self.options.length + 1
        starts = torch.randint(len(self.text) - length, (self.options.batch,), generator=generator)
        return torch.stack([self.text[start : start + length] for start in starts])


def read(path: Path | None) -> tuple[Tensor, str]:
    """A text as numbers of characters, and the characters."""
    files = [path] if path else sorted(DOCS.glob("*.md"))
    text = "".join(file.read_text() for file in files)
    alphabet = "".join(sorted(set(text)))
    numbers = {character: number for number, character in enumerate(alphabet)}
    return torch.tensor([numbers[character] for character in text]), alphabet


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    worker.add_backend(parser)
    add = parser.add_argument
    add("--steps", type=int, default=200)
    add("--batch", type=int, default=24, help="passages of all workers together")
    add("--length", type=int, default=64, help="of a passage, in characters")
    add("--width", type=int, default=128)
    add("--layers", type=int, default=4)
    add("--heads", type=int, default=4)
    add("--rate", type=float, default=1e-3)
    add("--seed", type=int, default=1)
    add("--text", type=Path, help="a file to learn from (Stretto's docs)")
    add("--check", action="store_true", help="train without sharding as well, and compare")
    options = parser.parse_args()
    return options


if __name__ == "__main__":
    main()
