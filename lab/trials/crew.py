# SPDX-License-Identifier: BSD-3-Clause
"""The ranks of one job: starts them, reads the lines that they print, waits for events."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import launchers
import names
import processes
from jobs import forward_death
from state import Cluster

LONGEST_LINE = 1 << 16


@dataclass(frozen=True)
class Event:
    """A line of a rank: the event, its time (seconds of the monotonic clock), details."""

    what: str
    when: float
    fields: tuple[str, ...]

    @staticmethod
    def read(line: str) -> Event:
        what, when, *fields = line.rstrip("\n").split("\t")
        return Event(what, float(when), tuple(fields))


@dataclass
class Rank:
    rank: int
    host: int
    process: subprocess.Popen[bytes]
    events: list[Event] = field(default_factory=list)
    errors: str = ""  # its standard error
    killed: bool = False  # by the trial
    streams: int = 2  # that are open: more output may come

    def all(self, what: str) -> list[Event]:
        return [event for event in self.events if event.what == what]

    def last(self, what: str) -> Event | None:
        return next((event for event in reversed(self.events) if event.what == what), None)

    def said(self, what: str) -> bool:
        return self.last(what) is not None

    @property
    def ended(self) -> bool:
        """The process has ended, and all of its output has been read."""
        return self.process.poll() is not None and self.streams == 0

    @property
    def name(self) -> str:
        return f"rank {self.rank} on {names.hostname(self.host)}"


class Crew:
    """Ranks in these hosts, by rank.  At the end of the context all of them have ended."""

    def __init__(
        self,
        cluster: Cluster,
        hosts: Sequence[int],
        command: Sequence[object],
        variables: Mapping[str, str],
        run: launchers.Run | None = None,
    ):
        self._cluster = cluster
        self._hosts = hosts
        self._command = [str(each) for each in command]
        self._variables = variables
        self.run = run or launchers.Run.at(hosts[0], cluster.ipv6)
        self.ranks: list[Rank] = []
        self._selector = selectors.DefaultSelector()
        self._rests: dict[int, bytes] = {}  # of lines, by descriptor
        self._held_back: set[int] = set()

    def __enter__(self) -> Crew:
        try:
            for rank in range(len(self._hosts)):
                if rank not in self._held_back:
                    self.start(rank)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def __iter__(self) -> Iterator[Rank]:
        return iter(self.ranks)

    def hold_back(self, rank: int) -> None:
        """This rank does not start with the others, but by start()."""
        self._held_back.add(rank)

    def start(self, rank: int) -> None:
        host = self._hosts[rank]
        nodes = list(dict.fromkeys(self._hosts))
        place = launchers.Place(
            rank=rank,
            size=len(self._hosts),
            host=host,
            node=nodes.index(host),
            nodes=len(nodes),
            local_rank=list(self._hosts[:rank]).count(host),
            local_size=list(self._hosts).count(host),
        )
        environment = launchers.environment("stretto", place, self.run, os.environ)
        process = processes.spawn(
            self._cluster.host(host),
            self._command,
            "/",
            {**environment, **self._variables},
            prepare=forward_death,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.ranks.append(Rank(rank, host, process))
        for stream, is_error in ((process.stdout, False), (process.stderr, True)):
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ, (self.ranks[-1], is_error))

    def wait(self, until: Callable[[], bool], seconds: float) -> bool:
        """Reads the ranks' output until the condition holds; False if it does not in this time."""
        deadline = time.monotonic() + seconds
        while not until():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            # The end of a process is seen by its streams' ends, or a moment later.
            for key, _ in self._selector.select(min(left, 0.05)):
                self._read(key.fd, *key.data)
        return True

    def listen(self, seconds: float) -> None:
        self.wait(lambda: False, seconds)

    def stop(self) -> None:
        """Asks the ranks to end."""
        for rank in self.ranks:
            with contextlib.suppress(OSError):
                rank.process.stdin.write(b"stop\n")
                rank.process.stdin.flush()

    def kill(self, rank: int) -> None:
        self.ranks[rank].killed = True
        self.ranks[rank].process.kill()

    def _read(self, descriptor: int, rank: Rank, is_error: bool) -> None:
        try:
            data = os.read(descriptor, LONGEST_LINE)
        except BlockingIOError:
            return
        if not data:
            self._selector.unregister(descriptor)
            rank.streams -= 1
        elif is_error:
            rank.errors += data.decode(errors="replace")
        else:
            *lines, rest = (self._rests.get(descriptor, b"") + data).split(b"\n")
            self._rests[descriptor] = rest
            rank.events += [Event.read(line.decode(errors="replace")) for line in lines]

    def _end(self) -> None:
        for rank in self.ranks:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(rank.process.pid, signal.SIGKILL)
        for rank in self.ranks:
            rank.process.wait()
            for stream in (rank.process.stdin, rank.process.stdout, rank.process.stderr):
                with contextlib.suppress(OSError):
                    stream.close()
        self._selector.close()
