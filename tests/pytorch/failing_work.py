# SPDX-License-Identifier: BSD-3-Clause
"""A worker of test_failing_work.py: a call is in flight when another worker dies."""

from __future__ import annotations

import os
import signal
import time

import stretto_autoload
import torch
import torch.distributed as dist

stretto_autoload.register()


def raised(function) -> str:
    """The error that a function raises, as text with the class's name."""
    try:
        function()
    except RuntimeError as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("stretto")
    x = torch.ones(1000)
    work = dist.all_reduce(x, async_op=True)
    work.wait()
    print("ended", work.is_completed(), work.is_success(), work.exception())
    work = dist.all_reduce(x, async_op=True)
    if dist.get_rank() == 1:
        dist.barrier()  # the calls before it have ended
        os.kill(os.getpid(), signal.SIGKILL)
    dist.barrier()
    work = dist.all_reduce(x, async_op=True)
    print("wait", raised(work.wait), flush=True)
    print("future", raised(work.get_future().wait), flush=True)
    end = time.monotonic() + 30
    while not work.is_completed() and time.monotonic() < end:
        time.sleep(0.01)
    print("failed", work.is_completed(), work.is_success(), work.exception() is not None)


if __name__ == "__main__":
    main()
