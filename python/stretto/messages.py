# SPDX-License-Identifier: BSD-3-Clause
"""Messages from one rank to another: a part of the communicator."""

from __future__ import annotations

from typing import NamedTuple

from stretto import _core
from stretto.arrays import AnyArray
from stretto.request import Message, MessageRequest
from stretto.streams import AnyStream, handle_of

ANY_SOURCE: int = _core.ANY_SOURCE
"""The source of a receive or a probe: any rank."""
ANY_TAG: int = _core.ANY_TAG
"""The tag of a receive or a probe: any tag."""


class MessageQueue(NamedTuple):
    """A queue in which messages are matched with receives, since the communicator was made."""

    scheme: str
    """How it is searched now: "list", "bins", "by_source" or "hash"."""
    depth: int
    """Receives or messages that wait now."""
    deepest: int
    """The most that have waited at the same time."""
    searches: int
    looks: int
    """At receives or messages, over all searches."""
    conversions: int
    """From one scheme to another."""
    counted: int
    """How many waited when the rest was found, as the queue was long; 0: it has never been."""
    source: int
    """That most of them had."""
    source_share: float
    """The part of them that had it, from 0 to 1."""
    tag: int
    tag_share: float


class Messages:
    """Tagged messages, which match as in MPI.

    A receive takes the earliest sent message with its source and tag, and a message goes to the
    earliest posted receive that it fits.  Only sizes in bytes are compared, not types.  Any number
    of threads may send and receive at the same time, also while one of them is in a collective.
    """

    _core: _core.Communicator

    def send(
        self, buffer: AnyArray, dest: int, tag: int = 0, *, timeout: float | None = None
    ) -> None:
        """Sends an array to rank `dest`; returns when the array may be changed again.

        Some KiB are usually stored until they are received; of longer messages, and of more than a
        receiver stores, the send waits for the receive.
        """
        self._core.send(buffer, dest, tag, timeout)

    def recv(
        self,
        buffer: AnyArray,
        source: int = ANY_SOURCE,
        tag: int = ANY_TAG,
        *,
        timeout: float | None = None,
    ) -> Message:
        """Receives a message into an array, which may be larger.  Returns its source, tag and size.

        Raises TruncatedError if the message is longer than the array, which then holds its
        beginning; the communicator stays whole.
        """
        return Message(*self._core.recv(buffer, source, tag, timeout))

    def isend(
        self,
        buffer: AnyArray,
        dest: int,
        tag: int = 0,
        *,
        stream: AnyStream | None = None,
        goes_on: bool = False,
    ) -> MessageRequest:
        """Starts a `send`.

        stream: the message takes its place in this CUDA stream: it is sent when the stream has done
        what it was given before, and the stream goes on when the array may be changed again.
        goes_on: the stream does not wait for that; `MessageRequest.wait_in` lets one wait.  Without
        it two ranks that both send long messages and then receive in one stream wait for ever.
        """
        return MessageRequest(self._core.isend(buffer, dest, tag, handle_of(stream), not goes_on))

    def irecv(
        self,
        buffer: AnyArray,
        source: int = ANY_SOURCE,
        tag: int = ANY_TAG,
        *,
        stream: AnyStream | None = None,
        goes_on: bool = False,
    ) -> MessageRequest:
        """Starts a `recv`.

        stream, goes_on: as of `isend`.  A message is matched at once, in the order in which
        receives are begun, and written to the array when the stream has come to it.
        """
        return MessageRequest(self._core.irecv(buffer, source, tag, handle_of(stream), not goes_on))

    def probe(
        self, source: int = ANY_SOURCE, tag: int = ANY_TAG, *, timeout: float | None = None
    ) -> Message:
        """Waits until there is a matching message, and describes it without receiving it."""
        return Message(*self._core.probe(source, tag, timeout))

    def iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Message | None:
        """The message that `recv` would find now; None if there is none."""
        message = self._core.iprobe(source, tag)
        return None if message is None else Message(*message)

    def message_queues(self) -> tuple[MessageQueue, MessageQueue]:
        """This rank's receives that wait for messages, and messages that wait for a receive."""
        posted, unexpected = self._core.message_queues()
        return MessageQueue(*posted), MessageQueue(*unexpected)
