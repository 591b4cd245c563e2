"""One receiver's messages on one channel: what was sent, what is asked for, and which belongs to which.

MPI's rules (MPI-4.0 §3.5): a message goes to the receive posted first of those it fits, and a receive takes
the first message of its sender that fits. A receive from any source is not given a message as soon as there
is one: it stays *open* until somebody decides, and until then keeps what would fit it from receives posted
later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scalatrace.codegen.matching.execution.match_actions import (
    Channel,
    MatchedReceive,
    MatchedSend,
    NamedSender,
)
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG, PROC_NULL

__all__ = [
    "MailItem",
    "Match",
    "MatchMailbox",
    "PostedReceive",
    "Repeated",
    "Sent",
    "Slot",
    "Starts",
]  # fmt: skip


class MailItem:
    """Something that a rank may have to wait for; `waiter` is the rank that does."""

    __slots__ = ("done", "waiter")

    def __init__(self, done: bool = False) -> None:
        self.done = done
        self.waiter: object | None = None


class Sent(MailItem):
    """A message on its way; done when its sender may go on. `when`: in the order of the program's text."""

    __slots__ = ("event", "send", "source", "when")

    def __init__(self, source: int, send: MatchedSend, event: Event, when: object, done: bool) -> None:
        super().__init__(done)
        self.source, self.send, self.event, self.when = source, send, event, when


class Slot:
    """What a receive names in the end.

    Attributes:
        scope: its communicator.
        peer, tag: as the program named them, until its message is known.
        source: the sender's world rank, None as long as that is not known.
        request: of a start of a persistent receive: what the call that made the request names.
        differs: whether starts of a persistent receive got messages of several senders or tags; it then names
            what the program named.
    """

    __slots__ = ("_named", "differs", "peer", "request", "scope", "source", "tag")

    def __init__(self, named: NamedSender | None, request: Slot | None = None) -> None:
        self.scope = named.scope if named else None
        self._named = (named.peer, named.tag) if named else (0, 0)
        self.peer, self.tag = self._named
        self.source: int | None = None
        self.request, self.differs = request, False

    def fill(self, source: int, tag: int) -> None:
        """The message has come, or is known to come from there."""
        if self.source is None:
            self.source, self.tag = source, tag
            if self.scope is not None:
                self.peer = PROC_NULL if source == PROC_NULL else self.scope.numbers[source]
        elif (source, tag) != (self.source, self.tag):
            self.differs = True
            self.peer, self.tag = self._named
        if self.request is not None:
            self.request.fill(source, tag)

    def cancel(self) -> None:
        """No message comes any more."""
        self.fill(PROC_NULL, 0)


@dataclass(frozen=True, slots=True)
class Starts:
    """What the requests get that one Start starts; None: a request that is no receive from any source."""

    slots: tuple[Slot | None, ...]


@dataclass(frozen=True, slots=True)
class Repeated:
    """What a receive got in one iteration of a loop, `times` times."""

    slots: tuple[Slot | Starts | Repeated, ...]
    times: int


class PostedReceive(MailItem):
    """A receive or probe that was posted; `source` is ANY_SOURCE until that is decided."""

    __slots__ = ("rank", "receive", "slot", "source", "tag")

    def __init__(self, rank: int, receive: MatchedReceive, slot: Slot) -> None:
        super().__init__()
        self.rank, self.receive, self.slot = rank, receive, slot
        self.source, self.tag = receive.source, receive.tag

    def keep(self, earlier: Slot) -> None:
        """Receive what an earlier start of the same request received."""
        if earlier.source is not None and earlier.source != PROC_NULL:
            self.source, self.tag = earlier.source, earlier.tag

    @property
    def is_open(self) -> bool:
        """Whether the sender is still to be decided."""
        return self.source == ANY_SOURCE

    def fits(self, source: int, tag: int) -> bool:
        """Whether a message could be received here."""
        return self.source in (ANY_SOURCE, source) and self.tag in (ANY_TAG, tag)


Match = tuple[Sent, PostedReceive]


class MatchMailbox:
    """See above. Methods give the pairs that came about."""

    __slots__ = ("channel", "dest", "posts", "unread")

    def __init__(self, channel: Channel, dest: int) -> None:
        self.channel, self.dest = channel, dest
        self.posts: list[PostedReceive] = []
        self.unread: dict[int, list[Sent]] = {}

    @property
    def undecided(self) -> bool:
        """Whether an open receive has messages to choose from."""
        return any(post.is_open and any(True for _ in self.candidates(post)) for post in self.posts)

    def deliver(self, sent: Sent) -> Iterator[Match]:
        """A message arrives."""
        unread = self.unread.get(sent.source)
        for i, post in enumerate(self.posts):
            if not post.fits(sent.source, sent.send.tag):
                continue
            if post.is_open or (unread and any(post.fits(m.source, m.send.tag) for m in unread)):
                break
            del self.posts[i]
            yield sent, post
            if post.receive.takes:
                return
            break  # a rank that probes posts nothing else meanwhile
        self.unread.setdefault(sent.source, []).append(sent)

    def post(self, post: PostedReceive) -> Iterator[Match]:
        """A receive is posted."""
        self.posts.append(post)
        if not post.is_open:
            yield from self._match(post)

    def candidates(self, post: PostedReceive) -> Iterator[Sent]:
        """The messages that an open receive could take: of each sender the first that fits."""
        before = self.posts[: self.posts.index(post)]
        for messages in self.unread.values():
            for sent in messages:
                if post.fits(sent.source, sent.send.tag):
                    if not any(earlier.fits(sent.source, sent.send.tag) for earlier in before):
                        yield sent
                    break

    def decide(self, post: PostedReceive, sent: Sent) -> Iterator[Match]:
        """An open receive gets one of its candidates; others may now get theirs."""
        post.source = sent.source
        yield from self._match(post)
        yield from self.settle()

    def settle(self) -> Iterator[Match]:
        """Receives of certain senders get what an open one has left to them."""
        for posted in tuple(self.posts):
            if not posted.is_open:
                yield from self._match(posted)

    def _match(self, post: PostedReceive) -> Iterator[Match]:
        """Give a receive of a certain sender the first message that fits, unless an open one may want it."""
        messages = self.unread.get(post.source, ())
        for i, sent in enumerate(messages):
            if post.fits(sent.source, sent.send.tag):
                before = self.posts[: self.posts.index(post)]
                if any(earlier.fits(sent.source, sent.send.tag) for earlier in before):
                    return
                if post.receive.takes:
                    _remove(self.unread, post.source, i)
                self.posts.remove(post)
                yield sent, post
                return


def _remove(unread: dict[int, list[Sent]], source: int, at: int) -> None:
    del unread[source][at]
    if not unread[source]:
        del unread[source]
