# SPDX-License-Identifier: BSD-3-Clause
"""Trains on through the death of a worker, and takes in another one.

    python examples/torch/elastic.py --workers 3 --kill 1:50
    python examples/torch/elastic.py --workers 4 --kill 0:30 --kill 2:120

This process holds the store where workers meet, starts them, and starts a new one when one is
killed; it computes nothing itself.  When a worker dies, the calls of the others fail. They shrink
the group in the processes that run, take weights and optimizer of rank 0, and repeat the step that
was in flight, with larger shares of its images.  The next epoch begins with the new worker.

So every image of every epoch counts once, and the training ends, but for rounding, where one
process alone ends, which trains on undivided batches.  Exits with an error unless it does.
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import subprocess
import sys
import time
from datetime import timedelta

import digits
import torch
import torch.distributed as dist
import worker
from stretto.torch import membership
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

RATE, MOMENTUM = 0.02, 0.9
TOLERANCE = 1e-3  # of the loss on unseen images, which an order of additions may cause


class Training:
    """A worker's state: after each step it is the same on all workers."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.training, self.held_out = digits.read(options.seed)
        self.network = digits.network(options.seed)
        self.descend = torch.optim.SGD(self.network.parameters(), lr=RATE, momentum=MOMENTUM)
        self.steps_of_epoch = len(self.training.labels) // options.batch
        self.step = 0  # steps done
        self.model: torch.nn.Module = self.network

    @property
    def done(self) -> bool:
        return self.step == self.options.epochs * self.steps_of_epoch

    def batch(self) -> digits.Part:
        """The images of this step: each image once in an epoch, whoever the workers are."""
        epoch, step = divmod(self.step, self.steps_of_epoch)
        generator = torch.Generator().manual_seed(self.options.seed * 1000 + epoch)
        order = torch.randperm(len(self.training.labels), generator=generator)
        chosen = order[step * self.options.batch : (step + 1) * self.options.batch]
        return digits.Part(self.training.images[chosen], self.training.labels[chosen])

    def learn(self, rank: int = 0, size: int = 1) -> None:
        """One step.  A worker that gets an error has changed nothing."""
        whole = self.batch()
        images, labels = (part.tensor_split(size)[rank] for part in whole)
        self.descend.zero_grad()
        loss = functional.cross_entropy(self.model(images), labels, reduction="sum")
        # DDP divides by the number of workers: the mean over the batch remains.
        (loss * size / len(whole.labels)).backward()
        self.descend.step()
        self.step += 1

    def agree(self) -> None:
        """The state of rank 0 counts, for all workers of the group as it is now."""
        self.model = self.network
        gc.collect()  # an old DDP model would go on reducing gradients, in its old group
        state = [(self.step, self.descend.state_dict())] if dist.get_rank() == 0 else [None]
        dist.broadcast_object_list(state, src=0)
        self.step, of_optimizer = state[0]
        self.descend.load_state_dict(of_optimizer)
        self.model = DistributedDataParallel(self.network)  # takes the weights of rank 0

    @torch.no_grad()
    def unseen_loss(self) -> float:
        return functional.cross_entropy(
            self.network(self.held_out.images), self.held_out.labels
        ).item()


def work(options: argparse.Namespace) -> None:
    """A worker."""
    store = dist.TCPStore("127.0.0.1", options.store, is_master=False)
    rendezvous = membership.Rendezvous(store)
    torch.set_num_threads(1)
    deaths = set()
    if options.rank is None:
        rendezvous.join()
    else:
        deaths = {int(step) for rank, step in options.kill if rank == options.rank}
        dist.init_process_group(
            "stretto",
            store=dist.PrefixStore("first", store),
            rank=options.rank,
            world_size=options.workers,
            timeout=timedelta(minutes=5),
        )
    training = Training(options)
    training.agree()
    while not training.done:
        try:
            if training.step % training.steps_of_epoch == 0:
                take_in(rendezvous, training)
            if training.step % training.steps_of_epoch == training.steps_of_epoch // 2:
                report(f"step {training.step}, in the middle of an epoch")
            if training.step in deaths:
                os.kill(os.getpid(), signal.SIGKILL)
            training.learn(dist.get_rank(), dist.get_world_size())
        except RuntimeError as error:
            go_on(training, error)
    worker.check_replicas(training.network)
    if dist.get_rank() == 0:
        check(training)
    dist.destroy_process_group()


def take_in(rendezvous: membership.Rendezvous, training: Training) -> None:
    """At the beginning of an epoch: fills the places of lost workers, or waits a while for that."""
    attempts = int(training.options.patience / 0.1)
    while dist.get_world_size() < training.options.workers and attempts > 0:
        attempts -= 1
        if rendezvous.grow():
            training.agree()
            report(f"{dist.get_world_size()} workers from step {training.step} on")
        else:
            time.sleep(0.1)


def go_on(training: Training, error: RuntimeError) -> None:
    """With the workers that are left, which have the same state again."""
    detected = time.monotonic()
    while True:
        if not membership.lost(error):
            raise error
        membership.shrink()
        try:
            training.agree()
        except RuntimeError as another:
            error = another
        else:
            break
    seconds = time.monotonic() - detected
    report(f"{dist.get_world_size()} workers go on after step {training.step}, {seconds:.3f} s "
           "after the failure was detected")  # fmt: skip


def report(text: str) -> None:
    if dist.get_rank() == 0:
        print(text, flush=True)


def check(training: Training) -> None:
    """Trains as one process alone does, and compares."""
    alone = Training(training.options)
    while not alone.done:
        alone.learn()
    loss, wanted = training.unseen_loss(), alone.unseen_loss()
    print(
        f"loss on unseen images {loss:.6f}, of one process alone {wanted:.6f}; accuracy "
        f"{digits.accuracy(training.network, training.held_out):.2%}"
    )
    if abs(loss - wanted) > TOLERANCE * max(1.0, wanted):
        raise SystemExit("the training has lost or repeated images")


def launch(options: argparse.Namespace) -> None:
    """Holds the store, starts the workers, and new ones for those that are killed."""
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    command = [sys.executable, *sys.argv, "--store", str(store.port)]

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([*command, *arguments])
        print(f"worker {process.pid} starts", flush=True)
        return process

    running = [start("--rank", str(rank)) for rank in range(options.workers)]
    failed = 0
    while running and not failed:
        time.sleep(0.05)
        for process in [process for process in running if process.poll() is not None]:
            running.remove(process)
            if process.returncode == -signal.SIGKILL:
                print(f"worker {process.pid} was killed", flush=True)
                running.append(start())
            elif process.returncode != 0:
                print(f"worker {process.pid} failed with status {process.returncode}", flush=True)
                failed = 1
    for process in running:
        process.kill()
        process.wait()
    sys.exit(failed)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--workers", type=int, default=3)
    add("--epochs", type=int, default=6)
    add("--batch", type=int, default=96, help="images of all workers together")
    add("--kill", type=worker.rank_and_number, action="append", default=[], metavar="RANK:STEP",
        help="a worker that dies, and after how many steps; may be repeated")  # fmt: skip
    add("--patience", type=float, default=60, metavar="S",
        help="how long an epoch waits for a new worker in a lost one's place (60)")  # fmt: skip
    add("--seed", type=int, default=1, help="of held-out images, model, batches")
    add("--store", type=int, help=argparse.SUPPRESS)  # of workers: its port
    add("--rank", type=int, help=argparse.SUPPRESS)  # of those that are there from the beginning
    return parser.parse_args()


if __name__ == "__main__":
    chosen = parse_arguments()
    launch(chosen) if chosen.store is None else work(chosen)
