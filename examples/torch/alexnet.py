# SPDX-License-Identifier: BSD-3-Clause
"""Trains a network of AlexNet's size on synthetic images: images a second, with DDP.

    torchrun --nproc-per-node 2 examples/torch/alexnet.py --images 4 --size 64
    sudo lab/cluster up 4 --rate 1gbit --congestion reno
    sudo lab/cluster run --ranks-per-host 2 --launcher torchrun python examples/torch/alexnet.py \\
        --images 1 --size 63 --slow 1:200

61,100,840 parameters, so a step reduces 233 MiB of gradients, whatever the images' size.  Where
many workers share few cores, small images keep computing short.  --slow makes one worker late in
each step, as one whose images take longer to load.
"""

from __future__ import annotations

import argparse
import statistics
import time

import overlap
import torch
import torch.distributed as dist
import worker
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

CLASSES = 1000
SMALLEST = 63  # pixels; of smaller images the pooling layers leave nothing


def alexnet() -> nn.Module:
    """Krizhevsky's "One weird trick for parallelizing convolutional neural networks" (2014)."""
    return nn.Sequential(
        nn.Conv2d(3, 64, 11, stride=4, padding=2),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2),
        nn.Conv2d(64, 192, 5, padding=2),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2),
        nn.Conv2d(192, 384, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(384, 256, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(256, 256, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2),
        nn.AdaptiveAvgPool2d(6),
        nn.Flatten(),
        nn.Linear(256 * 6 * 6, 4096),
        nn.ReLU(inplace=True),
        nn.Linear(4096, 4096),
        nn.ReLU(inplace=True),
        nn.Linear(4096, CLASSES),
    )


def main() -> None:
    options = parse_arguments()
    rank, size = worker.join(options.backend)
    say = worker.say()
    slow_rank, pause_ms = options.slow
    torch.manual_seed(1)
    model = DistributedDataParallel(
        alexnet(), gradient_as_bucket_view=True, bucket_cap_mb=options.bucket
    )
    parameters = sum(parameter.numel() for parameter in model.parameters())
    descend = torch.optim.SGD(model.parameters(), lr=0.001)
    generator = torch.Generator().manual_seed(rank)
    shape = (options.images, 3, options.size, options.size)
    images = torch.randn(shape, generator=generator)
    labels = torch.randint(CLASSES, (options.images,), generator=generator)
    say(
        f"{size} workers, {options.backend}, {parameters:,} parameters, {options.images} images of "
        f"{options.size} x {options.size} pixels for each worker and step"
    )

    def learn() -> None:
        if rank == slow_rank:
            time.sleep(pause_ms / 1e3)
        functional.cross_entropy(model(images), labels).backward()

    seconds = []
    for _ in range(options.warm + options.steps):
        dist.barrier()
        began = time.perf_counter()
        descend.zero_grad()
        learn()
        descend.step()
        seconds.append(time.perf_counter() - began)
    slowest = torch.tensor(seconds[options.warm :], dtype=torch.float64)
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    median = statistics.median(slowest.tolist())
    late = f", worker {slow_rank} {pause_ms:g} ms late" if slow_rank in range(size) else ""
    say(f"{size * options.images / median:.2f} images a second, {median * 1e3:.1f} ms a step{late}")
    if options.rounds:
        say(overlap.measure(model, learn, options.rounds))
    dist.destroy_process_group()


def pixels(text: str) -> int:
    if int(text) < SMALLEST:
        raise argparse.ArgumentTypeError(f"{text}: images have at least {SMALLEST} pixels a side")
    return int(text)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    worker.add_backend(parser)
    parser.add_argument("--images", type=int, default=4, help="of each worker, in a step (4)")
    parser.add_argument("--size", type=pixels, default=SMALLEST, help="of an image, in pixels (63)")
    parser.add_argument("--steps", type=int, default=20, help="that count (20)")
    parser.add_argument("--warm", type=int, default=5, help="steps before them (5)")
    parser.add_argument("--bucket", type=float, default=25, help="MiB of gradients in a call (25)")
    parser.add_argument("--rounds", type=int, default=0, help="steps to time in parts at the end")
    parser.add_argument(
        "--slow", type=worker.rank_and_number, default=(-1, 0.0), metavar="RANK:MS",
        help="a worker that is late in each step",
    )  # fmt: skip
    return parser.parse_args()


if __name__ == "__main__":
    main()
