# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that run functions of the tests, one after another, in one process group."""

from __future__ import annotations

import contextlib
import faulthandler
import multiprocessing
import os
import signal
import tempfile
import time
import traceback
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

BACKEND = os.environ.get("STRETTO_TEST_TORCH_BACKEND", "stretto")
"""gloo: the tests, where they ask for no more than it has, with PyTorch's own backend."""

# One process imports PyTorch; the ranks are forked from it.
_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(
    [
        "torch._dynamo",
        "torch.distributed.checkpoint",
        "torch.distributed.fsdp",
        "torch.distributed.optim",
        "torch.distributed.tensor.parallel",
    ]
)


class RankError(AssertionError):
    """What ranks raised, or where they were when the time was over."""


class World:
    """So many ranks."""

    def __init__(self, size: int, *prepare: Any) -> None:
        """prepare: a function, and its arguments, that each rank calls before the group is made."""
        self.size = size
        self.broken = False
        self._folder = tempfile.TemporaryDirectory(prefix="stretto-torch-")
        self._pipes: list[Connection] = []
        self._ranks: list[BaseProcess] = []
        for rank in range(size):
            ours, theirs = _forks.Pipe()
            process = _forks.Process(
                target=_be_rank,
                args=(rank, size, self._folder.name, theirs, prepare),
                daemon=False,
            )
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self._ranks.append(process)

    def run(self, function: Callable[..., Any], *arguments: Any, timeout: float = 180) -> list[Any]:
        """Calls `function(*arguments)` on each rank: what the ranks return, by rank.

        Raises RankError if a rank raises or ends, or after `timeout` seconds; then this world is
        broken, since its ranks may have stopped at different places.
        """
        with contextlib.suppress(BrokenPipeError):
            for pipe in self._pipes:
                pipe.send((function, arguments))
        end = time.monotonic() + timeout
        answers: dict[int, tuple[bool, Any]] = {}
        while len(answers) < self.size and not self.broken:
            waiting = {pipe: i for i, pipe in enumerate(self._pipes) if i not in answers}
            ready = multiprocessing.connection.wait(list(waiting), max(0.0, end - time.monotonic()))
            self.broken = not ready
            for pipe in ready:
                try:
                    answers[waiting[pipe]] = pipe.recv()
                except (EOFError, ConnectionResetError):
                    answers[waiting[pipe]] = False, "ended"
                if not answers[waiting[pipe]][0]:
                    end = min(end, time.monotonic() + 5)  # others may wait for this rank
        failed = {rank: answer for rank, (good, answer) in sorted(answers.items()) if not good}
        for rank in set(range(self.size)) - set(answers):
            failed[rank] = f"did not end in time; it was in\n{self._where(rank)}"
        if failed:
            self.broken = True
            self.close()
            raise RankError("\n".join(f"rank {rank}: {text}" for rank, text in failed.items()))
        return [answers[rank][1] for rank in range(self.size)]

    def _where(self, rank: int) -> str:
        """The stacks of a rank's threads."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._ranks[rank].pid, signal.SIGUSR1)
        time.sleep(0.5)
        return Path(self._folder.name, f"stacks.{rank}").read_text()

    def close(self) -> None:
        """Ends the ranks, by force if they are broken."""
        for pipe, process in zip(self._pipes, self._ranks, strict=True):
            if self.broken:
                process.kill()
            else:
                with contextlib.suppress(BrokenPipeError):
                    pipe.send(None)
        for pipe, process in zip(self._pipes, self._ranks, strict=True):
            process.join(30)
            if process.is_alive():
                process.kill()
                process.join()
            pipe.close()
        self._folder.cleanup()


class Worlds:
    """Worlds by size, made when a test first asks for one, and anew after a failure."""

    def __init__(self, *prepare: Any) -> None:
        self._made: dict[int, World] = {}
        self._prepare = prepare

    def __getitem__(self, size: int) -> World:
        if size not in self._made or self._made[size].broken:
            self._made[size] = World(size, *self._prepare)
        return self._made[size]

    def __enter__(self) -> Worlds:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._made.values():
            if not each.broken:
                each.close()


def begin(store: str, rank: int, size: int) -> None:
    """Makes the default group; its ranks meet in this file."""
    import torch.distributed as dist

    dist.init_process_group(
        BACKEND,
        init_method=f"file://{store}",
        rank=rank,
        world_size=size,
        timeout=timedelta(seconds=60),
    )


def _be_rank(rank: int, size: int, folder: str, pipe: Connection, prepare: tuple[Any, ...]) -> None:
    with open(Path(folder, f"stacks.{rank}"), "w") as stacks:
        faulthandler.register(signal.SIGUSR1, stacks)
        import torch
        import torch.distributed as dist

        if BACKEND == "stretto":
            from stretto.torch import register

            register()
        torch.set_num_threads(1)
        if prepare:
            prepare[0](*prepare[1:])
        begin(f"{folder}/store", rank, size)
        while (task := pipe.recv()) is not None:
            function, arguments = task
            try:
                pipe.send((True, function(*arguments)))
            except BaseException:
                pipe.send((False, traceback.format_exc()))
        if dist.is_initialized():
            dist.destroy_process_group()
