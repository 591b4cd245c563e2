"""State of one rank while it is replayed: its communicators, requests, datatypes and memory.

Handlers get it with the event. They look up here what an event names: the communicator of a family, the
request of an age, the window of an ordinal. They issue calls through it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from scalatrace.files import path_below
from scalatrace.operations import Category, operation
from scalatrace.predefined import OPERATIONS
from scalatrace.replay.common.call_stats import CallStats, Tally
from scalatrace.replay.common.errors import ReplayError
from scalatrace.replay.common.view import AnyCall
from scalatrace.replay.engine.call_cache import CallCache
from scalatrace.replay.engine.requests import LiveList, LiveRequest, PreparedCall
from scalatrace.replay.engine.senders import Senders
from scalatrace.replay.engine.windows import Exposed, Window
from scalatrace.replay.timing.pace import Pace
from scalatrace.replay.transport.args import Constant, Count, Out, Ref
from scalatrace.replay.transport.backoff import Backoff
from scalatrace.replay.transport.base import Handle, Prepared, Transport, TransportBuffer
from scalatrace.replay.transport.buffers import BufferPool, attached_nbytes
from scalatrace.trace.exchange.type_addresses import MIN_ADDRESS, draw_together
from scalatrace.trace.model.typetree import TypeTree, parse

WORLD, SELF, NULL = 0, 1, 2
"""Families of communicators that every trace has."""

PREDEFINED = {WORLD: "MPI_COMM_WORLD", SELF: "MPI_COMM_SELF", NULL: "MPI_COMM_NULL"}


@dataclass(frozen=True, slots=True)
class BuiltType:
    """A datatype: its handle; size, extent, true lower bound and true extent in bytes."""

    handle: Handle
    size: int
    extent: int
    true_lb: int
    true_extent: int

    def span(self, first: int, elements: int) -> tuple[int, int]:
        """Return (bytes before the address, bytes in all) of `elements` from element `first` on.

        The address itself is within these bytes, unless the displacements are addresses (for MPI_BOTTOM).
        """
        if elements <= 0:
            return 0, 0
        ends = (first * self.extent, (first + elements - 1) * self.extent)
        low = min(ends) + self.true_lb
        high = max(ends) + self.true_lb + self.true_extent
        if abs(self.true_lb) < MIN_ADDRESS:
            low, high = min(0, low), max(0, high)
        return -low, high - low


class RankReplay:
    """State of one rank while its events are replayed."""

    def __init__(self, transport: Transport, pace: Pace, io_folder: str = "replay-io") -> None:
        self.mpi, self.pace, self._io_folder = transport, pace, io_folder
        self.buffers, self.stats = BufferPool(transport), CallStats()
        self.cache = CallCache(self.buffers)
        self.family = WORLD
        self.at: tuple[int, AnyCall | None] = (0, None)
        self.counted_as = ""
        self.aside: Handle | None = None
        self.max_buffered_nbytes = 0
        self.on_communicator: Callable[[int, Handle | None], None] = lambda family, handle: None
        self.requests, self.messages = LiveList(), LiveList("matched message")
        self.comms: dict[int, Handle] = {}
        self.duplicates: dict[int, Handle] = {}
        self.windows: dict[tuple[int, int], Window] = {}
        self.attached: dict[tuple[int, int], TransportBuffer] = {}
        self.exposed: dict[tuple[int, int], dict[int, Exposed]] = {}
        self.ports: dict[str, str] = {}
        self.files: dict[tuple[int, int], Handle] = {}
        self.split_io: dict[tuple[int, int], tuple[Any, list[Any]]] = {}
        self.topologies: dict[int, tuple[int, int]] = {}
        self.senders = Senders()
        self.no_request = LiveRequest(transport.handle("request"), persistent=True)
        self._attached: Any = None
        self.last_some: Any = None
        self._types: dict[str, BuiltType] = {}
        self._ops: dict[str, Handle] = {}
        self._taken: list[Any] = []
        self._sent = 0

    def with_location(self, error: ReplayError, number: int, op: str) -> ReplayError:
        """Return the error with rank, event and operation in front of it."""
        return ReplayError(f"rank {self.mpi.rank}, event {number}, MPI_{op}: {error}")

    def issue(self, op: str, *args: Any) -> Prepared:
        """Issue a call when it is due. Its arguments are converted before."""
        call = self.mpi.prepare(op, args)
        self._issue(call, self.stats.of(op, self.family), self.take_sent(op))
        return call

    def issue_completing(self, event: AnyCall, lives: Sequence[LiveRequest], *args: Any) -> None:
        """Issue a call that completes requests; cache it if the calls of these are cached."""
        prepared = PreparedCall(self.mpi.prepare(event.op, args), self.stats.of(event.op, self.family), 0)
        self._issue(prepared.call, prepared.tally, 0)
        wanted = [live for live in lives if live is not self.no_request]
        if wanted and all(live.persistent or live.cached is not None for live in wanted):
            prepared.completes, prepared.newest_requests = wanted, self.requests.newest(wanted)
            self.cache.add_completing(key_of(event), prepared)
        self.complete(lives)

    def replay_cached(self, event: AnyCall) -> bool:
        """Issue the cached call of an event's place and values; return False when there is none."""
        prepared = self.cache.find(key_of(event), self.requests.items)
        if prepared is None:
            return False
        if prepared.live is not None:
            self.requests.add(prepared.live)
        self._issue(prepared.call, prepared.tally, prepared.sent)
        self.complete(prepared.completes)
        return True

    def _issue(self, call: Prepared, tally: Tally, sent: int) -> None:
        pace = self.pace
        start = pace.wait()
        self.mpi.issue(call)
        tally.calls += 1
        tally.ns += pace.called() - start
        tally.sent += sent

    def take_sent(self, op: str) -> int:
        """Return the bytes added by `sends`, and reset them; 0 when the call makes a persistent request."""
        sent, self._sent = self._sent, 0
        return 0 if operation(op).flow_later else sent

    def again(self, call: Prepared) -> None:
        """Repeat a poll, which is not counted: the trace has one event for all polls."""
        self.mpi.issue(call)
        self.pace.called()

    def issue_until(self, op: str, is_done: Callable[[], bool], *args: Any) -> Prepared:
        """Issue a call when it is due, and again until it is done.

        The calls come from one place: a tracer makes one event of all that they complete.
        """
        call, tally, start = self.mpi.prepare(op, args), self.stats.of(op, self.family), self.pace.wait()
        done = False
        while not done:
            self.mpi.issue(call)
            self.pace.called()
            done = is_done()
        tally.calls += 1
        tally.ns += self.pace.last_ns - start
        return call

    def poll(self, op: str, flag: Out, *args: Any) -> None:
        """Issue a call until it sets its flag."""
        call, start = self.issue(op, *args), self.pace.last_ns
        backoff = Backoff(self.mpi.shares_cores)
        while not flag.value:
            if self.pace.poll is not None:
                self.pace.poll()
            backoff.pause()
            self.again(call)
        self.stats.of(op, self.family).ns += self.pace.last_ns - start

    def attach(self, nbytes: int) -> None:
        """Attach memory for buffered sends. The trace does not say how much the program attached.

        Attach once, for the largest: MPI_Buffer_detach would wait for messages that are received later.
        """
        if self._attached is None:
            wanted = attached_nbytes(max(nbytes, self.max_buffered_nbytes))
            self._attached = self.mpi.buffer(wanted)
            self.mpi.quiet("Buffer_attach", self.mpi.at(self._attached, 0), Count(wanted))

    def detach(self) -> None:
        """Detach the memory for buffered sends; this waits until its messages are sent."""
        if self._attached is not None:
            self.mpi.quiet("Buffer_detach", self.mpi.at(self.mpi.buffer(16), 0), Out())
            self._attached = None

    def take_buffers(self) -> list[Any]:
        """Return the buffers taken for this event; the caller now has to give them back."""
        taken, self._taken = self._taken, []
        return taken

    def release_buffers(self) -> None:
        """Give back the buffers taken for this event, which was a blocking call."""
        self.buffers.give_back(self.take_buffers())

    def comm(self, family: int) -> Handle:
        """Return the communicator of a family that this rank is in.

        Raises:
            ReplayError: no call made it so far.
        """
        if family in self.comms:
            return self.comms[family]
        if family not in PREDEFINED:
            raise ReplayError(f"communicator {family} is used, but the call that made it is not in the trace")
        self.comms[family] = self.mpi.predefined("comm", PREDEFINED[family])
        return self.comms[family]

    def adopt(self, communicator: Any, handle: Handle) -> None:
        """Register a communicator that a call made.

        Raises:
            ReplayError: it has other members than the recorded one.
        """
        if communicator.family == NULL:
            return
        members = self.mpi.members(handle)
        if members != communicator.members:
            raise ReplayError(
                f"communicator {communicator.family} ({communicator.kind}) has the members {members} here, "
                f"but {communicator.members} in the trace"
            )
        self.rename(communicator.family, handle)

    def rename(self, family: int, handle: Handle | None) -> None:
        """Set the communicator of a family, or remove it with None."""
        if self.comms.pop(family, None) is not None:
            self.cache.clear()
        if family in self.duplicates:
            self.mpi.quiet("Comm_free", Ref(self.duplicates.pop(family)))
        if handle is not None:
            self.comms[family] = handle
        self.on_communicator(family, handle)

    def degrees(self, event: AnyCall) -> tuple[int, int]:
        """Return the numbers of destinations and of sources of an event's communicator."""
        return self.topologies.get(event.comm.family, (0, 0))

    def type(self, datatype: Any) -> BuiltType:
        """Return the datatype of a description, built when it is first used.

        Raises:
            ReplayError: here it has another size or extent than where it was recorded.
        """
        if datatype.description not in self._types:
            tree, removed = draw_together(parse(datatype.description))
            built = BuiltType(*self.mpi.datatype(tree))
            if (built.size, built.extent + removed) != (datatype.size, datatype.extent):
                raise ReplayError(
                    f"datatype {datatype.description} has size {built.size} and extent {built.extent} here, "
                    f"but {datatype.size} and {datatype.extent} in the trace"
                )
            self._types[datatype.description] = built
        return self._types[datatype.description]

    def built(self, tree: TypeTree) -> BuiltType:
        """Return a datatype by its tree."""
        key = str(tree)
        if key not in self._types:
            self._types[key] = BuiltType(*self.mpi.datatype(tree))
        return self._types[key]

    def types(self, datatype: Any) -> list[BuiltType]:
        """Return an array of datatypes, which the trace holds as the struct of them."""
        return [self.built(draw_together(inner)[0]) for inner in parse(datatype.description).inner]

    def op(self, name: str) -> Handle:
        """Return the reduction of a name; for a user-defined one, a function that does nothing."""
        if name not in self._ops:
            if name in OPERATIONS:
                self._ops[name] = self.mpi.predefined("op", name)
            else:
                self._ops[name] = self.mpi.user_op()
        return self._ops[name]

    def file_path(self, recorded: str) -> str:
        """Return the path of the replay's file for a recorded path. It is in the folder of the replay."""
        return path_below(self._io_folder, recorded)

    def named_constant(self, text: str) -> int:
        """Return the integer of a constant by its name, of several joined by |, or of a number."""
        return sum(self.mpi.named_constant(name) for name in text.split("|"))

    def out(self, elements: int, built: BuiltType, first: int = 0) -> Any:
        """Return the address of random elements to send."""
        self.sends(elements * built.size)
        before, nbytes = built.span(first, elements)
        return self.out_bytes(nbytes, before)

    def room(self, elements: int, built: BuiltType, first: int = 0) -> Any:
        """Return the address of memory to receive elements into, taken until the operation completes."""
        before, nbytes = built.span(first, elements)
        return self.room_bytes(nbytes, before)

    def sends(self, nbytes: int) -> None:
        """Add to the bytes that the next call sends; a call that makes a persistent request sends none."""
        self._sent += nbytes

    def out_bytes(self, nbytes: int, before: int = 0) -> Any:
        """Return an address with `before` of the `nbytes` to send in front of it."""
        return self.mpi.at(self.buffers.outgoing(nbytes), before)

    def room_bytes(self, nbytes: int, before: int = 0) -> Any:
        """Return an address in memory of `nbytes`, `before` of them in front of it."""
        buffer = self.buffers.incoming(nbytes)
        self._taken.append(buffer)
        return self.mpi.at(buffer, before)

    def message(
        self, event: AnyCall, out: bool, count: str = "count", datatype: str = "datatype", nbytes: int = 0
    ) -> list[Any]:
        """Return buffer, count and datatype of an event's message, of at least `nbytes`."""
        built, n = self.type(event[datatype]), event[count]
        if built.size and n * built.size < nbytes:
            n = -(-nbytes // built.size)
        return [self.out(n, built) if out else self.room(n, built), Count(n), built.handle]

    def new_request(self, persistent: bool = False) -> LiveRequest:
        """Return a new request with a null handle, the newest; it has the buffers taken for this event."""
        return self.requests.add(LiveRequest(self.mpi.handle("request"), persistent, self.take_buffers()))

    def start(self, event: AnyCall, *args: Any) -> None:
        """Issue a call that may be blocking, nonblocking or persistent; its name decides which.

        The nonblocking form returns a request after the blocking one's arguments, the persistent form of a
        collective takes an info object before it.
        """
        op, mpi = event.op, self.mpi
        tally, sent = self.stats.of(self.counted_as or op, self.family), self.take_sent(op)
        persistent = operation(op).flow_later
        if persistent and op not in PLAIN_INITS:
            args = (*args, Constant.INFO_NULL)
        if returns_request(op):
            live = self.new_request(persistent)
            live.call = mpi.prepare(op, (*args, Ref(live.handle)))
            prepared = PreparedCall(live.call, tally, sent, live)
        else:
            prepared = PreparedCall(mpi.prepare(op, args), tally, sent, buffers=self.take_buffers())
        self._issue(prepared.call, tally, sent)
        self.keep(event, prepared)

    def keep(self, event: AnyCall, prepared: PreparedCall) -> None:
        """Cache a call that was issued, if an equal one can be made again by it."""
        kind = operation(event.op)
        if not kind.flow_later and kind.category in CACHED:
            self.cache.add(key_of(event), prepared)
        else:
            self.buffers.give_back(prepared.buffers)

    def complete(self, done: Sequence[LiveRequest]) -> None:
        """Remove completed requests; persistent ones stay."""
        for live in self.requests.remove([live for live in done if not live.persistent]):
            self.release(live)

    def release(self, live: LiveRequest) -> None:
        """Let the call or the buffers of a completed request be used again."""
        if live.cached is not None and live.cached.free is not None:
            live.cached.free.append(live.cached)
        else:
            self.buffers.give_back(live.buffers)


def key_of(event: AnyCall) -> Hashable:
    """Return the key of an event in the cache: place and values."""
    return event.place, event.values


CACHED = frozenset({
    Category.SEND, Category.RECV, Category.SENDRECV, Category.COLLECTIVE, Category.NEIGHBOUR,
})  # fmt: skip
"""Categories of calls that depend on values and communicators only."""

PLAIN_INITS = frozenset({"Send_init", "Bsend_init", "Ssend_init", "Rsend_init", "Recv_init"})
"""Persistent forms without an info argument."""


@cache
def returns_request(op: str) -> bool:
    """Say whether the C function's last argument is a new request."""
    return operation(op).makes_request
