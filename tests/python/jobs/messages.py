# SPDX-License-Identifier: BSD-3-Clause
"""Messages, collectives with counts of each pair, and communicators made of others."""

from __future__ import annotations

import threading

import numpy as np
import stretto

comm = stretto.init()
rank, size = comm.rank, comm.size
right, left = (rank + 1) % size, (rank - 1) % size


def raises(error: type[Exception], call, *arguments, **named) -> str:
    try:
        call(*arguments, **named)
    except error as raised:
        return str(raised)
    raise SystemExit(f"{call} raised nothing")


def letter(source: int, dest: int, count: int) -> np.ndarray:
    return np.arange(count, dtype=np.int64) + 1000 * source + 1_000_000 * dest


# Around the ring, eager and not, from private and from shared memory.
for count in (0, 1, 512, 513, 200_000):
    for shared in (False, True):
        send = letter(rank, right, count)
        if shared:
            send = comm.alloc(count, np.int64)
            send[:] = letter(rank, right, count)
        into = np.full(count + 1, -1)
        request = comm.irecv(into, left, tag=count)
        assert request.message is None or size == 1
        comm.send(send, right, tag=count)
        assert request.wait() == stretto.Message(left, count, 8 * count)
        assert request.test()
        assert (into[:-1] == letter(left, rank, count)).all()
        assert into[-1] == -1

# Wildcards, and what is there.
comm.barrier()
assert comm.iprobe() is None
comm.barrier()
requests = [comm.isend(letter(rank, 0, 5), 0, tag=rank)]
if rank == 0:
    seen = set()
    for _ in range(size):
        found = comm.probe()
        assert found.tag == found.source
        assert found.bytes == 40
        into = np.empty(5, np.int64)
        assert comm.recv(into, found.source, stretto.ANY_TAG) == found
        assert (into == letter(found.source, 0, 5)).all()
        seen.add(found.source)
    assert seen == set(range(size))
assert [request.wait() for request in requests] == [None]
comm.barrier()

posted, unexpected = comm.message_queues()
assert (posted.scheme, posted.depth, unexpected.depth) == ("list", 0, 0)
assert unexpected.searches >= size
assert rank != 0 or unexpected.deepest >= 1  # others may have posted their receives in time

# A message that is too long is an error of the receiver alone.
request = comm.isend(np.arange(10.0), right)
short = np.zeros(4)
assert "80 bytes" in raises(stretto.TruncatedError, comm.recv, short, left)
assert short.tolist() == [0, 1, 2, 3]
request.wait()

# Many threads at once, and a collective.
wrong: list[object] = []


def converse(thread: int) -> None:
    for turn in range(20):
        into = np.empty(3 + 1000 * (turn % 2), np.int64)
        request = comm.irecv(into, left, tag=thread)
        comm.send(letter(rank + thread, right, into.size), right, tag=thread)
        request.wait()
        if (into != letter(left + thread, rank, into.size)).any():
            wrong.append((thread, turn))


threads = [threading.Thread(target=converse, args=(thread,)) for thread in range(4)]
for thread in threads:
    thread.start()
for _ in range(20):
    assert comm.allreduce(np.ones(3)).tolist() == [size] * 3
for thread in threads:
    thread.join()
assert not wrong

# Counts that each pair knows: rank r sends s + r + 1 elements to rank s.
sizes = [s + rank + 1 for s in range(size)]
out = np.concatenate([letter(rank, s, n) for s, n in enumerate(sizes)])
result = comm.alltoallv(out, sizes, sizes)
assert (result == np.concatenate([letter(s, rank, n) for s, n in enumerate(sizes)])).all()
gaps = [sum(sizes[:s]) + s for s in range(size)]
spread = np.full(sum(sizes) + size, -1)
comm.ialltoallv(out, sizes, sizes, spread, recv_displacements=gaps).wait()
for s in range(size):
    assert (spread[gaps[s] : gaps[s] + sizes[s]] == letter(s, rank, sizes[s])).all()
    assert spread[gaps[s] + sizes[s]] == -1
inside = out.copy()
assert (comm.alltoallv(stretto.IN_PLACE, None, sizes, inside) == result).all()

root = size - 1
counts = [r * 700 for r in range(size)]
gathered = comm.gatherv(
    letter(rank, root, counts[rank]), counts if rank == root else None, root=root
)
if rank == root:
    assert (gathered == np.concatenate([letter(r, root, n) for r, n in enumerate(counts)])).all()
else:
    assert gathered is None
part = np.empty(counts[rank], np.int64)
comm.scatterv(gathered, counts, part, root=root)
assert (part == letter(rank, root, counts[rank])).all()
raises(stretto.ArgumentError, comm.alltoallv, out, sizes, [1] * (size + 1))
raises(stretto.ArgumentError, comm.send, out, size)
raises(stretto.ArgumentError, comm.recv, out, 0, -5)

# Communicators made of others.
half = comm.split(rank % 2, key=-rank)
assert half.size == (size + 1 - rank % 2) // 2
assert half.parent_rank(half.rank) == rank
assert half.allreduce(np.array([rank])).tolist() == [sum(range(rank % 2, size, 2))]
assert comm.split(None if rank == 0 else 3) is None or rank != 0
with comm.dup() as copy:
    assert (copy.rank, copy.size) == (rank, size)
    copy.send(np.array([5.0]), right)
    assert comm.iprobe() is None
    copy.recv(np.empty(1), left)
group = list(range(size))[::-1]
children = [None] * 3


def create(tag: int) -> None:
    children[tag] = comm.create_group(group, tag)
    children[tag].barrier()


threads = [threading.Thread(target=create, args=(tag,)) for tag in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert all(child.rank == size - 1 - rank for child in children)
assert raises(stretto.ArgumentError, comm.create_group, [])

# A receive that nothing matches does not hold up the end.
forgotten = comm.irecv(np.empty(1), stretto.ANY_SOURCE, 99)
comm.finalize()
assert forgotten.message is None
half.barrier()  # it outlives its parent
half.finalize()
if rank == 0:
    print("ended well")
