"""Receiving what is sent, without being told what (§5.2.6): a message is received when it comes.

In a trace with histograms for destinations nobody knows which receive takes which message. ScalaReplay 2 lets
every rank walk through its senders' traces to find the sends to itself. Here MPI is asked instead (receives
of any message): it knows what has come, whoever sent it and however the senders' times drift. No message is
lost, since all are counted, and at the end, or before a communicator goes, as many are received as were
sent. Nobody waits for ever, since whoever waits receives.
"""

from __future__ import annotations

from collections import Counter

from scalatrace.replay.transport.backoff import Backoff
from scalatrace.replay.transport.base import Handle, Transport


class Inbox:
    """The messages of one rank, by communicator family."""

    def __init__(self, transport: Transport, largest_sent: int) -> None:
        """Begin; all ranks do, each with the bytes of the largest message that it will send."""
        self._mpi, self._post = transport, transport.mailboxes(largest_sent)
        self._comms: dict[int, tuple[Handle, int]] = {}
        self._alone: dict[int, Handle] = {}
        self._received: Counter[int] = Counter()
        self._sent: dict[int, Counter[int]] = {}
        self.messages = 0
        self.nbytes = 0

    def open(self, family: int, comm: Handle, npeers: int, alone: bool = False) -> None:
        """Watch a communicator, whose peer parameters count to `npeers`; or of which this is the only rank.

        There each message is received once it is sent: MPICH (5.0) gives a receive of any message what a
        collective sends to itself.
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
        """Note that a message is under way to a rank of a family."""
        if family in self._alone:
            self.messages += 1
            self.nbytes += self._post.take_own(self._alone[family], tag)
        else:
            self._sent[family][peer] += 1

    def poll(self) -> bool:
        """Receive a message that has come; say whether there was one."""
        return self._came(self._post.take())

    def wait(self, request: Handle) -> None:
        """Wait for a request, receiving meanwhile."""
        while self._came(self._post.wait(request)):
            pass

    def close(self, family: int) -> None:
        """Receive all that was sent on a communicator; all its ranks come here."""
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
        """Receive all that was sent anywhere."""
        for family in sorted(self._comms):
            self.close(family)

    def _came(self, message: tuple[int, int] | None) -> bool:
        if message is None:
            return False
        family, nbytes = message
        self._received[family] += 1
        self.messages += 1
        self.nbytes += nbytes
        return True
