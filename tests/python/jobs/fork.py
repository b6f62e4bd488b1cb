# SPDX-License-Identifier: BSD-3-Clause
"""A rank that forks, starts workers and programs, in the way that the first argument says."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading

import numpy as np
import stretto


def square(value: int) -> int:
    return value * value


def workers(method: str) -> None:
    """As a loader of data has them."""
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(square, range(20)) == [i * i for i in range(20)]


def child_in_thread(child) -> None:
    thread = threading.Thread(target=forked, args=(child,))
    thread.start()
    thread.join()


def forked(child) -> None:
    """Forks; the child runs the interpreter's handlers at its end, and says 7 if all was well."""
    pid = os.fork()
    if pid == 0:
        try:
            child()
        except BaseException as error:
            print("in the child:", repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        if threading.current_thread() is threading.main_thread():
            sys.exit(7)
        os._exit(7)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 7, status


def refused(comm: stretto.Communicator, request: stretto.Request | None = None) -> None:
    calls = [
        lambda: comm.allreduce(np.ones(3)),
        lambda: comm.iallreduce(np.ones(3)),
        lambda: comm.recv(np.ones(3)),
        lambda: comm.split(0),
        lambda: comm.alloc(10),
        lambda: comm.stats(),
        lambda: stretto.init(),
    ]
    if request is not None:
        calls += [request.wait, request.test]
    for call in calls:
        try:
            call()
        except stretto.UnsupportedError as error:
            assert f"was forked from rank {comm.rank}" in str(error), error
        else:
            raise AssertionError("a child made a call")


def main(how: str) -> None:
    comm = stretto.init()
    shared = comm.alloc(1000, np.int64)
    shared[:] = np.arange(1000)
    request = None
    if comm.rank == 0:
        if how == "in_flight":
            request = comm.iallreduce(np.full(1 << 18, 1.0))
            forked(lambda: refused(comm, request))
        elif how == "fork":
            forked(lambda: refused(comm))
        elif how == "finalize":

            def child():
                nonlocal shared
                del shared  # given back here, it would be lost there
                comm.finalize()

            forked(child)
        elif how == "thread":
            child_in_thread(lambda: refused(comm))
        elif how == "subprocess":
            subprocess.run([sys.executable, "-c", "pass"], check=True, close_fds=False)
            subprocess.run([sys.executable, "-c", "pass"], check=True, preexec_fn=lambda: None)
        else:
            workers(how.removeprefix("workers_"))
    elif how == "in_flight":
        request = comm.iallreduce(np.full(1 << 18, 1.0))
    if request is not None:
        assert (request.wait() == comm.size).all()
    assert (shared == np.arange(1000)).all()
    for call in range(100):
        mine = np.arange(5, dtype=np.int64) * call + comm.rank
        expected = np.arange(5) * call * comm.size + comm.size * (comm.size - 1) // 2
        assert (comm.allreduce(mine) == expected).all()
    comm.finalize()
    print("ended well", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
