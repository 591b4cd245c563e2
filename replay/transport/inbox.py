"""Receive all messages of a rank when they arrive, without knowing their receives (§5.2.6).

In a trace with histograms for destinations it is not known which receive takes which message. In ScalaReplay
2 every rank walks its senders' traces to find the messages to itself. Here each rank posts receives from any
source. Messages are counted: at the end, and before a communicator is freed, all messages that were sent are
received. A rank that waits receives messages, so there is no deadlock.
"""

from __future__ import annotations

from collections import Counter

from scalatrace.replay.transport.backoff import Backoff
from scalatrace.replay.transport.base import Handle, Transport


class Inbox:
    """The messages of one rank, by communicator family."""

    def __init__(self, transport: Transport, largest_sent: int) -> None:
        """Take the bytes of the largest message that this rank sends. All ranks create an inbox together."""
        self._mpi, self._post = transport, transport.mailboxes(largest_sent)
        self._comms: dict[int, tuple[Handle, int]] = {}
        self._alone: dict[int, Handle] = {}
        self._received: Counter[int] = Counter()
        self._sent: dict[int, Counter[int]] = {}
        self.messages = 0
        self.nbytes = 0

    def open(self, family: int, comm: Handle, npeers: int, alone: bool = False) -> None:
        """Receive on a communicator with `npeers` ranks that a peer can be. `alone`: this is its only rank.

        Alone, a message is received as soon as it is sent: in MPICH 5.0 a receive from any source would match
        what a collective sends to itself.
        """
        self._alone.pop(family, None)
        if alone:
            self._alone[family] = comm
            return
        if family not in self._comms:  # else made again: its messages are counted on
            self._received[family] = 0
            self._sent[family] = Counter()
        self._post.open(family, comm)
        self._comms[family] = comm, npeers

    def sent(self, family: int, peer: int, tag: int) -> None:
        """Count a message to a rank of a family."""
        if family in self._alone:
            self.messages += 1
            self.nbytes += self._post.take_own(self._alone[family], tag)
        else:
            self._sent[family][peer] += 1

    def poll(self) -> bool:
        """Receive a message that has arrived; return whether there was one."""
        return self._count_received(self._post.take())

    def wait(self, request: Handle) -> None:
        """Wait for a request, receiving meanwhile."""
        while self._count_received(self._post.wait(request)):
            pass

    def close(self, family: int) -> None:
        """Receive all messages on a communicator; all its ranks call this."""
        self._alone.pop(family, None)
        if family not in self._comms:
            return
        comm, npeers = self._comms[family]
        counts = [self._sent[family][peer] for peer in range(npeers)]
        backoff = Backoff(self._mpi.shares_cores)

        def rest() -> None:
            backoff.after_poll(self.poll())

        expected = self._mpi.exchange_counts(comm, counts, rest)
        while self._received[family] < expected:
            rest()
        del self._comms[family]
        self._post.close(family)

    def close_all(self) -> None:
        """Receive all messages on all communicators."""
        for family in sorted(self._comms):
            self.close(family)

    def _count_received(self, message: tuple[int, int] | None) -> bool:
        if message is None:
            return False
        family, nbytes = message
        self._received[family] += 1
        self.messages += 1
        self.nbytes += nbytes
        return True
