# SPDX-License-Identifier: BSD-3-Clause
"""Allreduce of several processes on one GPU by PyTorch's NCCL and Gloo, and by Stretto if it is
installed; prints lines of JSON.

peers.py SECONDS [BACKEND...].  PyTorch is imported once; the ranks of each job are forked, before
CUDA is used.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import statistics
import sys
import tempfile
import time
import traceback
from datetime import timedelta
from pathlib import Path

KIB, MIB = 1 << 10, 1 << 20
SIZES = (4, 64 * KIB, MIB, 16 * MIB, 256 * MIB)
# Backend, ranks, limit in seconds.
JOBS = (
    ("stretto", 2, 20),
    ("nccl", 2, 20),
    ("gloo", 2, 20),
    ("stretto", 4, 20),
    ("stretto", 8, 25),
    ("nccl", 4, 20),
    ("nccl", 8, 35),
    ("gloo", 4, 20),
    ("gloo", 8, 25),
)
ROUNDS = 5  # of calls back to back


def say(**entry: object) -> None:
    sys.stdout.write(json.dumps(entry) + "\n")
    sys.stdout.flush()


def report(backend: str, ranks: int, what: str, size: int, samples: list[float]) -> None:
    samples = sorted(samples)
    last = len(samples) - 1
    say(
        item=backend,
        ranks=ranks,
        what=what,
        bytes=size,
        unit="us",
        median=round(statistics.median(samples), 2),
        p10=round(samples[round(0.1 * last)], 2),
        p90=round(samples[round(0.9 * last)], 2),
        samples=len(samples),
    )


def nccl_version() -> str:
    """Of the library that is loaded, which LD_PRELOAD may have chosen: PyTorch says with which
    version it was built."""
    number = ctypes.c_int()
    ctypes.CDLL("libnccl.so.2").ncclGetVersion(ctypes.byref(number))
    return f"{number.value // 10000}.{number.value // 100 % 100}.{number.value % 100}"


def measure(backend: str, rank: int, ranks: int, folder: str, limit: int) -> None:
    import torch
    import torch.distributed as dist

    agreed = dist.FileStore(f"{folder}/times", ranks)
    torch.cuda.set_device(0)
    dist.init_process_group(
        backend,
        init_method=f"file://{folder}/store",
        rank=rank,
        world_size=ranks,
        timeout=timedelta(seconds=15),
    )
    for size in SIZES:
        count = size // 4
        index = torch.arange(count, device="cuda", dtype=torch.int64)
        values = ((index * 7 + rank * 13) % 1021 * (rank + 1)).float()
        expected = sum(((index * 7 + r * 13) % 1021 * (r + 1)).float() for r in range(ranks))
        torch.cuda.synchronize()
        start = time.perf_counter()
        dist.all_reduce(values)
        torch.cuda.synchronize()
        first = (time.perf_counter() - start) * 1e6
        if not torch.equal(values, expected):
            raise RuntimeError(f"{backend}: wrong sums of {size} bytes at rank {rank}")
        del index, expected
        values.fill_(1.0)
        # As many calls as a fifth of each size's share of the limit has time for, as rank 0 says:
        # a call by eight ranks takes tens of milliseconds.
        start = time.perf_counter()
        dist.all_reduce(values)
        torch.cuda.synchronize()
        if rank == 0:
            left = limit / (5 * len(SIZES)) / (time.perf_counter() - start)
            agreed.set(str(size), str(max(3, min(60, int(left)))))
        times = int(agreed.get(str(size)))
        values.fill_(1.0)
        torch.cuda.synchronize()
        samples = []
        for _ in range(times):
            start = time.perf_counter()
            dist.all_reduce(values)
            torch.cuda.synchronize()
            samples.append((time.perf_counter() - start) * 1e6)
            values.fill_(1.0)
            torch.cuda.synchronize()
        each = []
        in_round = max(2, times // ROUNDS)
        for _ in range(ROUNDS):
            values.fill_(0.0)  # sums of other values would grow out of the type's range
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(in_round):
                dist.all_reduce(values)
            torch.cuda.synchronize()
            each.append((time.perf_counter() - start) * 1e6 / in_round)
        if rank == 0:
            report(backend, ranks, "first allreduce of this size", size, [first])
            report(backend, ranks, "allreduce and synchronize", size, samples)
            report(backend, ranks, "allreduce, back to back", size, each)
    dist.barrier()  # no rank ends while a peer needs it
    time.sleep(0.3)


def run_rank(backend: str, rank: int, ranks: int, folder: str, limit: int) -> int:
    signal.alarm(limit)  # its default action ends the process, whatever the library does
    os.environ.update(
        NCCL_MULTI_RANK_GPU_ENABLE="1",
        NCCL_SOCKET_IFNAME="lo",
        GLOO_SOCKET_IFNAME="lo",
        NCCL_DEBUG="WARN",
        NCCL_DEBUG_FILE=f"{folder}/nccl.{rank}",
        MASTER_ADDR="127.0.0.1",
    )
    try:
        measure(backend, rank, ranks, folder, limit)
        return 0
    except BaseException as error:  # whatever it is, the other jobs go on
        text = "".join(traceback.format_exception_only(type(error), error)).strip()
        with contextlib.suppress(OSError):
            warnings = Path(f"{folder}/nccl.{rank}").read_text(errors="replace").strip()
            text = f"{text} | {warnings[-600:]}"
        if rank == 0:
            say(item=backend, ranks=ranks, what="FAILED", text=text[-1500:])
        return 1


def run_job(backend: str, ranks: int, limit: int) -> bool:
    """False if a rank failed.  Ends all two seconds after the first failure."""
    with tempfile.TemporaryDirectory() as folder:
        children, signals = set(), []
        for rank in range(ranks):
            child = os.fork()
            if child == 0:
                os._exit(run_rank(backend, rank, ranks, folder, limit))
            children.add(child)
        end, whole = time.monotonic() + limit + 2, True
        while children and time.monotonic() < end + 2:
            child, status = os.waitpid(-1, os.WNOHANG)
            if child == 0:
                if time.monotonic() > end:
                    for child in children:
                        os.kill(child, signal.SIGKILL)
                time.sleep(0.01)
                continue
            children.discard(child)
            if status == 0:
                continue
            if os.WIFSIGNALED(status) and os.WTERMSIG(status) != signal.SIGKILL:
                signals.append(os.WTERMSIG(status))
            if whole:
                whole, end = False, min(end, time.monotonic() + 2)
        if signals:
            text = (
                f"{len(signals)} ranks were ended by signals {sorted(set(signals))} (14: timeout)"
            )
            say(item=backend, ranks=ranks, what="FAILED", text=text)
        if children:
            say(item=backend, ranks=ranks, what="FAILED", text=f"{len(children)} do not end")
        return whole


def main() -> int:
    end = time.monotonic() + float(sys.argv[1])
    import torch
    import torch.distributed as dist

    say(item="torch", ranks=0, what="version", text=torch.__version__)
    with contextlib.suppress(Exception):
        say(item="nccl", ranks=0, what="version", text=nccl_version())
    refused = set()
    wanted = sys.argv[2:] or (
        ["stretto", "nccl", "gloo"] if "STRETTO" in dist.Backend._plugins else ["nccl", "gloo"]
    )
    for backend, ranks, limit in JOBS:
        if backend not in wanted:
            continue
        seconds = int(min(limit, end - time.monotonic() - 3))
        if backend in refused or seconds < 5:
            text = "two ranks failed" if backend in refused else "no time was left"
            say(item=backend, ranks=ranks, what="not run", text=text)
        elif not run_job(backend, ranks, seconds) and ranks == 2:
            refused.add(backend)
    return 0


if __name__ == "__main__":
    sys.exit(main())
