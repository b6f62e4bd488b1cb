# SPDX-License-Identifier: BSD-3-Clause
"""Trains a convolutional network on handwritten digits, data-parallel, with PyTorch's DDP.

    torchrun --nproc-per-node 2 examples/torch/digits_ddp.py
    torchrun --nproc-per-node 2 examples/torch/digits_ddp.py --backend gloo

It prints losses to the last digit: at two workers they are the same with both backends, bit for
bit; more workers add in another order.  Then it says what a step takes, and which share of the
communication is hidden.  Exits with an error unless the workers end with identical weights.
"""

from __future__ import annotations

import argparse

import digits
import overlap
import torch
import torch.distributed as dist
import worker
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel


def main() -> None:
    options = parse_arguments()
    rank, size = worker.join(options.backend)
    say = worker.say()
    training, held_out = digits.read(options.seed)
    model = DistributedDataParallel(
        digits.network(options.seed), gradient_as_bucket_view=True, bucket_cap_mb=options.bucket
    )
    descend = torch.optim.SGD(model.parameters(), lr=options.rate, momentum=0.9)
    say(f"{size} workers, {options.backend}, {options.steps} steps of {options.batch} images")

    for step in range(options.steps):
        part = digits.share(digits.batch(training, options.batch, step, options.seed), rank, size)
        descend.zero_grad()
        loss = functional.cross_entropy(model(part.images), part.labels)
        loss.backward()
        descend.step()
        mean = loss.detach() / size
        dist.all_reduce(mean)
        if step % max(1, options.steps // 10) == 0 or step == options.steps - 1:
            say(f"step {step:>4}  loss {mean.item()!r}")

    worker.check_replicas(model)
    say(f"accuracy on {len(held_out.labels)} unseen images: {digits.accuracy(model, held_out):.2%}")
    say(overlap.measure(model, lambda: learn(model, part), options.rounds))
    dist.destroy_process_group()


def learn(model: torch.nn.Module, part: digits.Part) -> None:
    functional.cross_entropy(model(part.images), part.labels).backward()


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    worker.add_backend(parser)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=96, help="images of all workers together")
    parser.add_argument("--rate", type=float, default=0.02, help="of gradient descent")
    parser.add_argument("--bucket", type=float, default=0.25, help="MiB of gradients in a call")
    parser.add_argument("--rounds", type=int, default=30, help="steps to time at the end")
    parser.add_argument("--seed", type=int, default=1, help="of held-out images, model, batches")
    return parser.parse_args()


if __name__ == "__main__":
    main()
