"""One rank's side of a replay: what its handles stand for, and how a call is issued.

Handlers get it with the event; everything that names a thing of MPI (a communicator of a family, the
request of an age, the window of an ordinal) is looked up here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from zlib import crc32

from scalatrace.ops import Category, operation
from scalatrace.predefined import OPERATIONS
from scalatrace.replay.common.call_stats import Ledger, Tally
from scalatrace.replay.common.errors import ReplayError
from scalatrace.replay.engine.call_cache import Made, MadeCalls
from scalatrace.replay.engine.requests import Live, LiveList
from scalatrace.replay.engine.senders import Senders
from scalatrace.replay.timing.pace import Pace
from scalatrace.replay.transport.args import Constant, Count, Out, Ref
from scalatrace.replay.transport.backoff import Patience
from scalatrace.replay.transport.base import Handle, Prepared, Transport
from scalatrace.replay.transport.buffers import Buffers
from scalatrace.trace.model.typetree import TypeTree, parse

WORLD, SELF, NULL = 0, 1, 2
"""The families every trace has."""

ATTACHED, BUFFERED = 1 << 24, 64
"""Bytes of memory for buffered sends, if that is enough for so many of the largest."""

PREDEFINED = {WORLD: "MPI_COMM_WORLD", SELF: "MPI_COMM_SELF", NULL: "MPI_COMM_NULL"}


@dataclass(frozen=True, slots=True)
class Built:
    """A datatype that was built: handle, and size, extent, true lower bound, true extent in bytes."""

    handle: Handle
    size: int
    extent: int
    true_lb: int
    true_extent: int

    def span(self, first: int, elements: int) -> tuple[int, int]:
        """Return (bytes before the address, bytes in all) of `elements` from element `first` on."""
        if elements <= 0:
            return 0, 0
        ends = (first * self.extent, (first + elements - 1) * self.extent)
        low = min(0, min(ends) + self.true_lb)
        high = max(0, max(ends) + self.true_lb + self.true_extent)
        return -low, high - low


@dataclass
class Window:
    """A window.

    Attributes:
        handle: the transport's.
        memory: what it exposes.
        results: room that MPI fills until some later synchronisation.
    """

    handle: Handle
    memory: Any = None
    results: list[Any] = field(default_factory=list)


class Rank:
    """State of one rank while its events are replayed."""

    def __init__(self, transport: Transport, pace: Pace, io_folder: str = "replay-io") -> None:
        self.mpi, self.pace, self._io_folder = transport, pace, io_folder
        self.buffers, self.ledger = Buffers(transport), Ledger()
        self.made = MadeCalls(self.buffers)
        self.family = WORLD
        self.counted_as = ""
        self.aside: Handle | None = None
        self.most_buffered = 0
        self.on_communicator: Callable[[int, Handle | None], None] = lambda family, handle: None
        self.requests, self.messages = LiveList(), LiveList("matched message")
        self.comms: dict[int, Handle] = {}
        self.duplicates: dict[int, Handle] = {}
        self.windows: dict[tuple[int, int], Window] = {}
        self.files: dict[tuple[int, int], Handle] = {}
        self.split_io: dict[tuple[int, int], tuple[Any, list[Any]]] = {}
        self.topologies: dict[int, tuple[int, int]] = {}
        self.senders = Senders()
        self.no_request = Live(transport.handle("request"), persistent=True)
        self._attached: Any = None
        self.last_some: Any = None
        self._types: dict[str, Built] = {}
        self._ops: dict[str, Handle] = {}
        self._taken: list[Any] = []
        self._sent = 0

    def told(self, error: ReplayError, number: int, op: str) -> ReplayError:
        """Return the error with the event it happened at."""
        return ReplayError(f"rank {self.mpi.rank}, event {number}, MPI_{op}: {error}")

    def issue(self, op: str, *args: Any) -> Prepared:
        """Make a call when it is due; its arguments are converted while waiting for that."""
        call = self.mpi.prepare(op, args)
        self._issue(call, self.ledger.of(op, self.family), self.take_sent(op))
        return call

    def issue_completing(self, event: Any, lives: Sequence[Live], *args: Any) -> None:
        """Make a call that completes requests; it is kept if these are persistent or made by kept calls."""
        made = Made(self.mpi.prepare(event.op, args), self.ledger.of(event.op, self.family), 0)
        self._issue(made.call, made.tally, 0)
        wanted = [live for live in lives if live is not self.no_request]
        if wanted and all(live.persistent or live.made is not None for live in wanted):
            made.completes, made.tail = wanted, self.requests.newest(wanted)
            self.made.keep_completing(key_of(event), made)
        self.complete(lives)

    def made_again(self, event: Any) -> bool:
        """Make the kept call of an event's values again, if there is one that can be made now."""
        made = self.made.find(key_of(event), self.requests.items)
        if made is None:
            return False
        if made.live is not None:
            self.requests.add(made.live)
        self._issue(made.call, made.tally, made.sent)
        self.complete(made.completes)
        return True

    def _issue(self, call: Prepared, tally: Tally, sent: int) -> None:
        pace = self.pace
        start = pace.wait()
        self.mpi.issue(call)
        tally.calls += 1
        tally.ns += pace.called() - start
        tally.sent += sent

    def take_sent(self, op: str) -> int:
        """Return the bytes noted for the call, none for one that only makes a persistent request."""
        sent, self._sent = self._sent, 0
        return 0 if op.endswith("_init") else sent

    def again(self, call: Prepared) -> None:
        """Repeat a poll: not another call of the program, whose polls count as one."""
        self.mpi.issue(call)
        self.pace.called()

    def poll(self, op: str, flag: Out, *args: Any) -> None:
        """Make a call until its flag says yes."""
        call, start = self.issue(op, *args), self.pace.last_ns
        patience = Patience(self.mpi.shares_cores)
        while not flag.value:
            if self.pace.poll is not None:
                self.pace.poll()
            patience.rest()
            self.again(call)
        self.ledger.of(op, self.family).ns += self.pace.last_ns - start

    def attach(self, nbytes: int) -> None:
        """Make sure that MPI has memory for buffered sends; the trace does not say how much it had.

        Once, for the largest there are: to detach it would wait for messages that others receive later.
        """
        if self._attached is None:
            wanted = max(ATTACHED, BUFFERED * max(nbytes, self.most_buffered))
            self._attached = self.mpi.buffer(wanted)
            self.mpi.quiet("Buffer_attach", self.mpi.at(self._attached, 0), Count(wanted))

    def detach(self) -> None:
        """Take the memory for buffered sends back, once what lies in it is sent."""
        if self._attached is not None:
            self.mpi.quiet("Buffer_detach", self.mpi.at(self.mpi.buffer(16), 0), Out())
            self._attached = None

    def hand_over(self) -> list[Any]:
        """Give away the memory taken for this event: something else keeps it now."""
        taken, self._taken = self._taken, []
        return taken

    def settle(self) -> None:
        """Take back the memory that a blocking call used."""
        self.buffers.give_back(self.hand_over())

    def comm(self, family: int) -> Handle:
        """Return the communicator of a family that this rank is in.

        Raises:
            ReplayError: nothing in the trace has made it so far.
        """
        if family in self.comms:
            return self.comms[family]
        if family not in PREDEFINED:
            raise ReplayError(f"communicator {family} is used, but the call that made it is not in the trace")
        self.comms[family] = self.mpi.predefined("comm", PREDEFINED[family])
        return self.comms[family]

    def adopt(self, communicator: Any, handle: Handle) -> None:
        """Keep a communicator that a call made.

        Raises:
            ReplayError: it has other members than the recorded one.
        """
        if communicator.family == NULL:
            return
        found = self.mpi.members(handle)
        if found != communicator.members:
            raise ReplayError(
                f"communicator {communicator.family} ({communicator.kind}) has the members {found} here, "
                f"but {communicator.members} in the trace"
            )
        self.rename(communicator.family, handle)

    def rename(self, family: int, handle: Handle | None) -> None:
        """Let a family have another communicator than before, or none."""
        if self.comms.pop(family, None) is not None:
            self.made.forget()
        if family in self.duplicates:
            self.mpi.quiet("Comm_free", Ref(self.duplicates.pop(family)))
        if handle is not None:
            self.comms[family] = handle
        self.on_communicator(family, handle)

    def degrees(self, event: Any) -> tuple[int, int]:
        """Return the numbers of destinations and of sources of an event's communicator."""
        return self.topologies.get(event.comm.family, (0, 0))

    def type(self, datatype: Any) -> Built:
        """Return the datatype of a description, built when it is first met.

        Raises:
            ReplayError: here it has another size or extent than where it was recorded.
        """
        if datatype.description not in self._types:
            built = Built(*self.mpi.datatype(parse(datatype.description)))
            if (built.size, built.extent) != (datatype.size, datatype.extent):
                raise ReplayError(
                    f"datatype {datatype.description} has size {built.size} and extent {built.extent} here, "
                    f"but {datatype.size} and {datatype.extent} in the trace"
                )
            self._types[datatype.description] = built
        return self._types[datatype.description]

    def built(self, tree: TypeTree) -> Built:
        """Return a datatype by its tree."""
        key = str(tree)
        if key not in self._types:
            self._types[key] = Built(*self.mpi.datatype(tree))
        return self._types[key]

    def types(self, datatype: Any) -> list[Built]:
        """Return an array of datatypes, which the trace holds as the struct of them."""
        return [self.built(inner) for inner in parse(datatype.description).inner]

    def op(self, name: str) -> Handle:
        """Return the reduction of a name; one of the program's own leaves the payload alone."""
        if name not in self._ops:
            if name in OPERATIONS:
                self._ops[name] = self.mpi.predefined("op", name)
            else:
                self._ops[name] = self.mpi.user_op()
        return self._ops[name]

    def file_path(self, recorded: str) -> str:
        """Return where the replay has the file of a recorded name: never where the program had it.

        On all ranks the same, and two for files of one name in two folders.
        """
        folder, name = os.path.split(recorded)
        mark = f"{crc32(folder.encode('utf-8', 'surrogateescape')):08x}-" if folder else ""
        return os.path.join(self._io_folder, mark + (name or "unnamed"))

    def named_constant(self, text: str) -> int:
        """Return the integer of a constant by its name, of several joined by |, or of a number."""
        return sum(self.mpi.named_constant(name) for name in text.split("|"))

    def out(self, elements: int, built: Built, first: int = 0) -> Any:
        """Return the address of random elements to send."""
        self.sends(elements * built.size)
        before, nbytes = built.span(first, elements)
        return self.out_bytes(nbytes, before)

    def room(self, elements: int, built: Built, first: int = 0) -> Any:
        """Return the address of room to receive elements into; it is ours until the operation completes."""
        before, nbytes = built.span(first, elements)
        return self.room_bytes(nbytes, before)

    def sends(self, nbytes: int) -> None:
        """Note that the call to come hands over so many bytes; a persistent one does not yet."""
        self._sent += nbytes

    def out_bytes(self, nbytes: int, before: int = 0) -> Any:
        """Return an address with `before` of the `nbytes` to send in front of it."""
        return self.mpi.at(self.buffers.outgoing(nbytes), before)

    def room_bytes(self, nbytes: int, before: int = 0) -> Any:
        """Return an address in room of `nbytes`, `before` of them in front of it."""
        buffer = self.buffers.incoming(nbytes)
        self._taken.append(buffer)
        return self.mpi.at(buffer, before)

    def message(
        self, event: Any, out: bool, count: str = "count", datatype: str = "datatype", nbytes: int = 0
    ) -> list[Any]:
        """Return buffer, count and datatype of an event's message, of at least `nbytes`."""
        built, n = self.type(event[datatype]), event[count]
        if built.size and n * built.size < nbytes:
            n = -(-nbytes // built.size)
        return [self.out(n, built) if out else self.room(n, built), Count(n), built.handle]

    def new_request(self, persistent: bool = False) -> Live:
        """Return the newest request, not yet made by MPI; it keeps the memory taken for this event."""
        return self.requests.add(Live(self.mpi.handle("request"), persistent, self.hand_over()))

    def start(self, event: Any, *args: Any) -> None:
        """Issue a call that may be blocking, nonblocking or persistent; the variant's name says which.

        The nonblocking form returns a request after the blocking one's arguments, the persistent form of a
        collective takes an info object before it.
        """
        op, mpi = event.op, self.mpi
        tally, sent = self.ledger.of(self.counted_as or op, self.family), self.take_sent(op)
        persistent = op.endswith("_init")
        if persistent and op not in PLAIN_INITS:
            args = (*args, Constant.INFO_NULL)
        if returns_request(op):
            live = self.new_request(persistent)
            live.call = mpi.prepare(op, (*args, Ref(live.handle)))
            made = Made(live.call, tally, sent, live)
        else:
            made = Made(mpi.prepare(op, args), tally, sent, buffers=self.hand_over())
        self._issue(made.call, tally, sent)
        if not persistent and operation(op).category in KEPT:
            self.made.keep(key_of(event), made)
        else:
            self.buffers.give_back(made.buffers)

    def complete(self, done: Sequence[Live]) -> None:
        """Let completed requests go; persistent ones stay."""
        for live in self.requests.remove([live for live in done if not live.persistent]):
            self.release(live)

    def release(self, live: Live) -> None:
        """Let what a request has used be used again."""
        if live.made is not None and live.made.spares is not None:
            live.made.spares.append(live.made)
        else:
            self.buffers.give_back(live.buffers)


def key_of(event: Any) -> Hashable:
    """Return what events of one place in the trace with the same values share."""
    return event.place, event.values


KEPT = frozenset({
    Category.SEND, Category.RECV, Category.SENDRECV, Category.COLLECTIVE, Category.NEIGHBOUR,
})  # fmt: skip
"""What these do depends on nothing but values and communicators, so their calls can be made again."""

PLAIN_INITS = frozenset({"Send_init", "Bsend_init", "Ssend_init", "Rsend_init", "Recv_init"})
"""Persistent forms without an info argument."""


@cache
def returns_request(op: str) -> bool:
    """Say whether the C function's last argument is a new request."""
    return operation(op).makes_request
