"""Receiving what is sent, without being told what (§5.2.6): a message is received when it comes.

In a trace with histograms for destinations nobody knows which receive takes which message. ScalaReplay 2 lets
every rank walk through its senders' traces to find the sends to itself. Here MPI is asked instead (matched
probes): it knows what has come, whoever sent it and however the senders' times drift. No message is lost,
since all are counted, and at the end, or before a communicator goes, as many are received as were sent.
Nobody waits for ever, since whoever waits receives.
"""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from replay.patience import Patience
from replay.transport import Handle


class Post(Protocol):
    """What the inbox asks of a transport."""

    def take_message(self, comm: Handle) -> int | None:
        """Receive a message that has come, if there is one, and return its bytes; past any tracer."""

    def forget_messages(self, comm: Handle) -> None:
        """Let go of what is kept for a communicator, which goes away."""

    def exchange_counts(self, comm: Handle, counts: list[int], poll: Polling) -> int:
        """Tell each peer its count; return the sum of what the peers tell."""


class Polling(Protocol):
    """Called again and again while something is awaited."""

    def __call__(self) -> object: ...


class Inbox:
    """The messages of one rank, by communicator family."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self._comms: dict[int, tuple[Handle, int]] = {}
        self._received: Counter[int] = Counter()
        self._sent: dict[int, Counter[int]] = {}
        self.messages = 0
        self.nbytes = 0

    def open(self, family: int, comm: Handle, npeers: int) -> None:
        """Watch a communicator, whose peer parameters count to `npeers`."""
        self._comms[family] = comm, npeers
        self._received[family] = 0
        self._sent[family] = Counter()

    def sent(self, family: int, peer: int) -> None:
        """Note that a message goes out to a rank of a family."""
        self._sent[family][peer] += 1

    def poll(self) -> bool:
        """Receive what has come, at most one message of each communicator; say whether there was any."""
        found = False
        for family, (comm, _) in self._comms.items():
            nbytes = self._post.take_message(comm)
            if nbytes is not None:
                self._received[family] += 1
                self.messages += 1
                self.nbytes += nbytes
                found = True
        return found

    def close(self, family: int) -> None:
        """Receive all that was sent on a communicator; all its ranks come here."""
        if family not in self._comms:
            return
        comm, npeers = self._comms[family]
        counts = [self._sent[family][peer] for peer in range(npeers)]
        patience = Patience(npeers)

        def wait() -> None:
            patience.polled(self.poll())

        expected = self._post.exchange_counts(comm, counts, wait)
        while self._received[family] < expected:
            wait()
        del self._comms[family]
        self._post.forget_messages(comm)

    def close_all(self) -> None:
        """Receive all that was sent anywhere."""
        for family in sorted(self._comms):
            self.close(family)
