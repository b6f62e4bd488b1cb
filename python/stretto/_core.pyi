# SPDX-License-Identifier: BSD-3-Clause
"""The extension module; `stretto.communicator` and `stretto.cli` are what to use."""

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

__version__: str
ANY_SOURCE: int
ANY_TAG: int
UNDEFINED: int
call_runner: object
_Stream = int | None

class Operation:
    @overload
    def __init__(
        self, function: Callable[[memoryview, memoryview, str], object], commutative: bool
    ) -> None: ...
    @overload
    def __init__(self, scalar: bytes, dtype: str) -> None: ...

def describe(array: Any, what: str) -> tuple[tuple[int, ...], str]: ...
def supported() -> dict[str, list[str]]: ...

class Request:
    def start(self) -> None: ...
    def wait(self, timeout: float | None = None) -> None: ...
    def test(self) -> bool: ...
    def wait_in(self, stream: int) -> None: ...
    def notify(self, function: Callable[[], object]) -> bool: ...
    def message(self) -> tuple[int, int, int] | None: ...

class Communicator:
    """Arrays None: `send`, in place or nothing given; `recv`, no result here or kept in `send`."""

    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def address(self) -> int: ...
    @property
    def finalized(self) -> bool: ...
    def play(
        self,
        collective: str,
        send: Any | None,
        recv: Any | None,
        op: str | Operation,
        root: int,
        timeout: float | None = None,
        counts: list[int] = [],
    ) -> None: ...
    def start(
        self,
        collective: str,
        send: Any | None,
        recv: Any | None,
        op: str | Operation,
        root: int,
        counts: list[int] = [],
        stream: _Stream = None,
    ) -> Request: ...
    def plan(self, send: Any | None, recv: Any, op: str | Operation) -> Request: ...
    def time(
        self,
        collective: str,
        send: Any | None,
        recv: Any | None,
        op: str,
        root: int,
        warm: int,
        calls: int,
    ) -> tuple[np.ndarray, np.ndarray]: ...
    def time_skewed(
        self,
        collective: str,
        send: Any | None,
        recv: Any | None,
        op: str,
        root: int,
        algorithm: str,
        delays: list[float],
        common_clock: bool = True,
        compute: float = 0.0,
        announced: float = 0.0,
    ) -> np.ndarray: ...
    def stream(
        self, array: Any | None, peer: int, sends: bool, bytes: int, window: int, windows: int
    ) -> float: ...
    def set_timeout(self, seconds: float) -> None: ...
    def send(self, buffer: Any, dest: int, tag: int, timeout: float | None = None) -> None: ...
    def recv(
        self, buffer: Any, source: int, tag: int, timeout: float | None = None
    ) -> tuple[int, int, int]: ...
    def isend(
        self, buffer: Any, dest: int, tag: int, stream: _Stream = None, waits: bool = True
    ) -> Request: ...
    def irecv(
        self, buffer: Any, source: int, tag: int, stream: _Stream = None, waits: bool = True
    ) -> Request: ...
    def probe(
        self, source: int, tag: int, timeout: float | None = None
    ) -> tuple[int, int, int]: ...
    def iprobe(self, source: int, tag: int) -> tuple[int, int, int] | None: ...
    def gatherv(
        self,
        own: Any | None,
        all: Any | None,
        counts: list[int] | None,
        displacements: list[int] | None,
        root: int,
        stream: _Stream = None,
    ) -> Request: ...
    def scatterv(
        self,
        own: Any | None,
        all: Any | None,
        counts: list[int] | None,
        displacements: list[int] | None,
        root: int,
        stream: _Stream = None,
    ) -> Request: ...
    def alltoallv(
        self,
        send: Any | None,
        send_counts: list[int] | None,
        send_displacements: list[int] | None,
        recv: Any,
        recv_counts: list[int],
        recv_displacements: list[int] | None,
        stream: _Stream = None,
    ) -> Request: ...
    def allreduce_batch(self, arrays: list[Any], op: Any, timeout: float | None = None) -> None: ...
    def iallreduce_batch(self, arrays: list[Any], op: Any, stream: _Stream = None) -> Request: ...
    def split(self, color: int, key: int) -> Communicator | None: ...
    def abort(self, reason: str) -> None: ...
    def shrink(self) -> tuple[Communicator, int]: ...
    def dup(self) -> Communicator: ...
    def create_group(self, ranks: list[int], tag: int) -> Communicator: ...
    def parent_rank(self, rank: int) -> int: ...
    def allocate(self, bytes: int) -> np.ndarray: ...
    def stats(self) -> list[tuple[str, str, int, int, float, float, int, int, int]]: ...
    def settings(self) -> list[tuple[str, str, str, str, str, str, str | None, int, str, bool]]: ...
    def reset_stats(self) -> None: ...
    def phase_begin(self) -> None: ...
    def edge(self, fraction: float) -> None: ...
    def set_stall_callback(
        self, function: Callable[..., None] | None, factor: float, floor: float
    ) -> None: ...
    def force_algorithm(self, name: str) -> None: ...
    def set_reproducible(self, mode: int) -> None: ...
    def set_mixed(self, mixed: bool) -> None: ...
    def set_streams_wait(self, wait: bool) -> None: ...
    def chosen_algorithm(self, collective: str, count: int, dtype: str) -> str: ...
    def probe_memory(self) -> float: ...
    def network_profile(self) -> str: ...
    def clock_offset(self) -> int | None: ...
    def message_queues(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]: ...
    def tuning_candidates(self, collective: str, count: int, dtype: str) -> str:
        """stretto_tuning_candidates: JSON."""
    def finalize(self) -> None: ...
    def exit(self) -> None: ...

def init() -> Communicator: ...
def init_by_exchange(rank: int, size: int, allgather: Callable[[bytes], bytes]) -> Communicator: ...
def init_explicit(rank: int, size: int, job: str) -> Communicator: ...
def settings() -> list[tuple[str, str, str, str, str, str, str | None, int, str, bool]]: ...
def settings_page() -> str: ...
def machine() -> tuple[str, str, str, str, int, int, int, int, int, bool, bool]: ...
def ring_bytes(ranks: int, hosts: int = 1) -> int: ...
def write_trace(raw: str, path: str) -> None: ...
def read_calls(path: str, since: int = 0) -> dict[str, Any]:
    """The calls that a rank has recorded, and the rank's identity (src/arrival/call_log.hpp)."""

def interfaces(
    filtered: bool,
) -> list[tuple[str, bool, bool, bool, int, int | None, list[str]]]: ...
def way_to_job() -> tuple[str, str, str] | None: ...
def secret_origin() -> str: ...
def secret_file() -> str: ...
def check_secret(path: str) -> None: ...

class Topology:
    """Which ranks share a host; false if nothing is known of it.  Its text is as --hosts has it."""

    @overload
    def __init__(self) -> None: ...
    @overload
    def __init__(self, text: str, ranks: int = 0) -> None: ...
    @staticmethod
    def of(host_of: list[int]) -> Topology: ...
    def ordered(self, order: list[int]) -> Topology: ...
    @property
    def ranks(self) -> int: ...
    @property
    def host_of(self) -> list[int]: ...
    @property
    def cache_of(self) -> list[int]: ...
    def __bool__(self) -> bool: ...

class Schedule:
    @property
    def name(self) -> str: ...
    @property
    def ranks(self) -> int: ...
    @property
    def blocks(self) -> int: ...
    @property
    def topology(self) -> Topology: ...
    @property
    def collective(self) -> str: ...
    def to_json(self) -> str: ...
    def to_text(self) -> str: ...
    def prove(self, count: int, element: int) -> dict[str, Any]: ...
    def simulate(
        self,
        count: int,
        element: int,
        arrivals: list[float],
        alpha: float,
        beta: float,
        gamma: float,
        mode: str,
        events: bool = False,
        hosts: list[int] = [],
        racks: list[int] = [],
        uplinks: int = 1,
        rows: list[int] = [],
        columns: int = 0,
    ) -> dict[str, Any]: ...

def lower_bound(
    bytes: int, arrivals: list[float], alpha: float, beta: float
) -> tuple[float, float]: ...
def early_steps(
    arrivals: list[float], bytes: int, alpha: float, beta: float, gamma: float
) -> list[int]: ...
def schedule(
    collective: str, algorithm: str, ranks: int, root: int, hosts: Topology = ...
) -> Schedule: ...
def schedule_from_json(text: str) -> Schedule: ...
def algorithms() -> list[dict[str, Any]]: ...
def layout(collective: str, root: bool) -> tuple[bool, str, str, str]: ...
def declared(
    collective: str, algorithm: str, ranks: int, hosts: Topology = ...
) -> tuple[bool, bool, bool, bool]: ...
def price(
    schedule: Schedule,
    count: int,
    element: int,
    slice: int | None,
    latency: float,
    overhead: float,
    byte: float,
    reduce: float,
    host_of: Sequence[int] = ...,
    inside: tuple[float, float, float, float] | None = None,
    reads: bool = False,
    work: int = ...,
) -> dict[str, Any]:
    """What a schedule costs over a network.

    For `count` elements, or the next number that its partition is for, of `element` bytes, which
    travel in pieces of at most `slice` bytes (None: uncut).  Latency and overhead in seconds, the
    others in seconds per byte.  The model is in src/cost/price.hpp.

    `host_of`: the host of each rank; without it each rank has a host of its own.  `inside`: the
    latency, overhead, byte and reduce of the link between ranks of one host; without it as between
    hosts.
    `reads`: ranks read memory of other ranks of their host, so data occupy no port of the sender
    (src/cost/indexed_network.hpp).  `work`: the most blocks and pieces that are computed.

    `seconds`; `steps`, messages on the longest dependent chain; and of the position that has most:
    `messages` that it sends, `bytes_sent`, `bytes_received`, `bytes_reduced`.  Raises
    ArgumentError for numbers that make no sense, UnsupportedError if it would take too long.
    """

def kolmakov_zhang(
    ranks: int, bytes: float, alpha: float, beta: float, gamma: float
) -> dict[str, Any]:
    """The equations of Kolmakov and Zhang 2020 for one vector, in seconds.

    `recursive_doubling`, `recursive_halving` and `ring` are those of figure 1.  `proposed` holds
    (25), (36) and (44), for 0, 1, ... removed steps, as printed, `exact` the same by exact counts.
    alpha in seconds, beta and gamma in seconds per byte.
    """

def kolmakov_zhang_counts(ranks: int, removed: int) -> dict[str, int]:
    """What a position does in their algorithm, exactly.

    `steps`, blocks `sent` and `reduced`, complete blocks that it has before the distribution phase
    (`results`), if `removed` steps of that are left out.
    """

def salar(
    nodes: int,
    ranks_per_node: int,
    bytes: float,
    network_chunks: int = 1,
    chunks: int = 1,
    gap: float = 8.41e-11,
    gap_inside: float = 3.077e-10,
    compute: float = 1.835e-10,
    per_iteration: float = 0.0,
) -> dict[str, float]:
    """The model of SALaR (Bayatpour et al. 2018) for one vector, in seconds (python/src/salar.hpp).

    `total` is the printed formula: the larger of `inter` and `intra`, and `distribution`;
    `simplified` is its simplified form.  `filling` is what the formula leaves out, `pipelined` the
    sum of both.  `network_bound` and `node_bound`: no allreduce moves its bytes faster.
    network_chunks, chunks: K, I.  gap, gap_inside, compute: G, G', C in seconds per byte;
    per_iteration: C' in seconds.  Raises ArgumentError for numbers that make no sense.
    """

def salar_chunks(
    nodes: int,
    ranks_per_node: int,
    bytes: float,
    network_chunks: int = 1,
    most: int = 65536,
    gap: float = 8.41e-11,
    gap_inside: float = 3.077e-10,
    compute: float = 1.835e-10,
    per_iteration: float = 0.0,
) -> dict[str, int]:
    """Numbers of chunks I, from 1 to `most`.

    `best`: by `pipelined`.  `free`: the largest for which the printed formula is as small as for 1.
    """

def explain(
    collective: str,
    ranks: int,
    cores: int,
    bytes: int,
    element: int,
    commutative: bool,
    reproducible: str,
    exact: bool,
    hosts: int | Topology,
    link: tuple[float | None, float | None, float | None, float | None, float | None],
    profile: str | None = None,
    forced: str = "",
    one_machine: bool = False,
) -> dict[str, Any]:
    """`link`: latency, overhead, seconds per byte and per reduced byte, and what hosts share; None:
    that of the profile at this path, or an assumed one.  `forced`: rules as STRETTO_ALGORITHM has
    them, which are about whole calls: root 0.  `one_machine`: all hosts are containers of one
    machine, and share `cores`."""

def checked_profile(text: str) -> str:
    """A profile of a network and its calls as JSON, as the library writes it.  Raises
    ArgumentError that says where it is malformed."""

def matching_patterns() -> dict[str, str]:
    """What each pattern of `stretto bench matching` is."""

class MatchingBench:
    """What one receiver of so many peers does, made ahead, and matchers that play it.

    `depth`: messages of each peer at the same time.  The sequence has whole rounds, two or more,
    until it has `matches` matches.  Raises ArgumentError for a pattern that does not exist, peers
    outside 1 to 4096, a depth outside 1 to 64.

    Each play makes a matcher.  `scheme`: "list", "bins", "by_source", "hash"; None: adaptive.
    `chains`: of bins and hash; 0: a quarter of the ranks.  `calls`, `attempts`: the thresholds of
    the adaptive scheme (src/p2p/matching/match_queue.hpp).
    """

    def __init__(
        self, pattern: str, peers: int, depth: int, matches: int, seed: int = 1
    ) -> None: ...
    @property
    def operations(self) -> int: ...
    @property
    def rounds(self) -> int: ...
    @property
    def matches(self) -> int: ...
    @property
    def most_posted(self) -> int: ...
    @property
    def most_unexpected(self) -> int: ...
    def check(
        self, scheme: str | None = None, chains: int = 0, calls: int = ..., attempts: int = ...
    ) -> dict[str, Any]:
        """Plays until a result is wrong.  `wrong` (0 or 1), `bytes` (the most), `searches`,
        `looks`, `conversions`, `posted_scheme` and `unexpected_scheme` at the end."""
    def time(
        self, scheme: str | None = None, chains: int = 0, calls: int = ..., attempts: int = ...
    ) -> tuple[list[float], int]:
        """Nanoseconds of the operations, in up to 64 parts that are the same in each play, and how
        many were wrong.  Only for what check() found right."""
    def time_each(
        self, scheme: str | None = None, chains: int = 0, calls: int = ..., attempts: int = ...
    ) -> tuple[float, float, int]:
        """Median and 99th percentile of the nanoseconds of an operation that matches, and how many
        were wrong.  Only for what check() found right."""
