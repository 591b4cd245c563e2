"""The replay of a rank of several threads: each stream of the trace is replayed by a thread of its own.

    thread 0   events of stream 0 -> handlers -> transport
    thread 1   events of stream 1 -> handlers -> transport
                  `-- RankThreads: communicators, requests that another thread made, turns --'

Threads wait for what the trace fixes: a request or communicator of another thread is made before it is used,
collective calls on a communicator and uses of a persistent request, window or file come in the recorded order
of threads, and a communicator is freed last. All threads end together. The trace does not have an order of
messages that several threads receive on one channel. There, each receive has room for the largest one.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scalatrace.errors import ScalatraceError
from scalatrace.operations import is_collective, operation
from scalatrace.replay.common.errors import ReplayError
from scalatrace.replay.common.options import ComputeMode, ReplayOptions
from scalatrace.replay.common.position import ReplayPosition
from scalatrace.replay.common.view import AnyCall
from scalatrace.replay.common.whatif import WhatIf
from scalatrace.replay.engine.handlers import HANDLERS
from scalatrace.replay.engine.player import REPORT_MASK, Report
from scalatrace.replay.engine.rank import PREDEFINED, RankReplay
from scalatrace.replay.engine.requests import LiveList, LiveRequest, PreparedCall
from scalatrace.replay.result import RankResult
from scalatrace.replay.timing.compute_times import ComputeTimes
from scalatrace.replay.timing.pace import Pace
from scalatrace.trace.consistency.messages import tag_of
from scalatrace.trace.model import elastic
from scalatrace.trace.model.tables import SharedKind
from scalatrace.trace.query.requests import ForeignNames, is_foreign
from scalatrace.trace.threads import ObjectName, UseOrder, uses_of_rank
from scalatrace.trace.values.vec import ANY_TAG

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.replay.transport.base import Handle
    from scalatrace.trace.query.walk import Call

__all__ = ["RankThreads"]

SWITCH_S = 1e-4
"""Seconds after which a thread passes the interpreter on to one that returns from a call."""

NO_FAMILY = -1

REQUEST = "request"
"""Kind of names; the other one is that of matched messages."""

OBJECTS = {"win": SharedKind.WINDOW, "fh": SharedKind.FILE}
"""Parameters that name an object by its number on a communicator."""

FREES = frozenset({"Comm_free", "Comm_disconnect"})


class RankThreads:
    """What the threads of a rank share, and where they wait for each other."""

    def __init__(self, trace: Trace, first: RankReplay, options: ReplayOptions, whatif: WhatIf) -> None:
        self._trace, self._first, self._whatif = trace, first, whatif
        # A spinning thread would hold the interpreter's lock, and the other threads' calls with it.
        self._options = (
            options if options.compute is ComputeMode.NONE else replace(options, compute=ComputeMode.SLEEP)
        )
        self._changed = threading.Condition()
        self._made: dict[tuple[str, int], dict[int, LiveRequest]] = {}
        self._nmade = Counter[tuple[str, int]]()
        self._left = set(trace.threads)
        self._turns = {
            family: iter(vec)
            for family, order in trace.turns.items()
            if (vec := elastic.at(order, first.mpi.rank)) is not None
        }
        self._turn = {family: next(order, None) for family, order in self._turns.items()}
        self._uses = Counter[int]()
        self._orders = {
            name: UseOrder(entries) for name, entries in uses_of_rank(trace.uses, first.mpi.rank).items()
        }
        self._receives: dict[tuple[int, int], tuple[int, set[int]]] = {}
        self._look_ahead()
        self.threads = [ThreadReplay(self, first, thread, self._options.compute) for thread in trace.threads]
        # Started before any other thread of the replay: a tracer numbers them in this order.
        self._gate = threading.Event()
        self._workers = [
            threading.Thread(target=self._play_guarded, args=(rank,), daemon=True)
            for rank in self.threads[1:]
        ]
        for worker in self._workers:
            worker.start()

    def _look_ahead(self) -> None:
        """Count uses of communicators that are freed; find channels on which several threads receive."""
        freed = set[int]()
        uses = Counter[int]()
        any_tag = set[int]()
        for call in self._trace.walk(self._first.mpi.rank):
            if "comm" not in call:
                continue
            family = call.family
            if call.op in FREES:
                freed.add(family)
            else:
                uses[family] += 1
            recvs = operation(call.op).recvs
            if recvs is None or not recvs.peer:
                continue
            tag = tag_of(call, "recvtag")
            if tag == ANY_TAG:
                any_tag.add(family)
            nbytes, threads = self._receives.get((family, tag), (0, set()))
            self._receives[family, tag] = max(nbytes, recvs.nbytes(call)), threads | {call.thread}
        self._uses = Counter({family: uses[family] for family in freed})
        for family in any_tag:
            receives = [self._receives[key] for key in self._receives if key[0] == family]
            widest = max(nbytes for nbytes, _ in receives), set().union(*(threads for _, threads in receives))
            self._receives.update((key, widest) for key in self._receives if key[0] == family)

    def room_of(self, event: AnyCall) -> int:
        """Return the bytes that a receive needs: it may get a message that another thread received."""
        nbytes, threads = self._receives.get((event.family, self._tag_of(event)), (0, set()))
        return nbytes * self._whatif.max_nbytes_factor if len(threads) > 1 else 0

    @staticmethod
    def _tag_of(event: AnyCall) -> int:
        return int(event["recvtag" if "recvtag" in event else "tag"])

    # -- waiting for other threads --

    def wait_until(self, ready: Callable[[], bool], purpose: str) -> None:
        """Wait, inside the condition, for something that another thread does.

        Raises:
            ReplayError: all other threads have ended.
        """
        while not ready():
            if len(self._left) == 1:
                raise ReplayError(f"{purpose}, and all other threads of the rank have ended")
            self._changed.wait()

    @contextmanager
    def changes(self) -> Iterator[None]:
        """Change what the threads share, and wake those that wait for it."""
        with self._changed:
            yield
            self._changed.notify_all()

    def add_made(self, kind: str, thread: int, lives: Iterable[LiveRequest]) -> None:
        """Let other threads find requests or messages that a thread made."""
        key = kind, thread
        with self.changes():
            for live in lives:
                live.ordinal = self._nmade[key]
                self._made.setdefault(key, {})[live.ordinal] = live
                self._nmade[key] += 1

    def await_made(self, kind: str, thread: int, ordinal: int) -> LiveRequest:
        """Return a request that another thread makes, when it has made it."""
        key = kind, thread
        with self._changed:
            self.wait_until(lambda: self._nmade[key] > ordinal, f"thread {thread} makes no {kind} {ordinal}")
            live = self._made.get(key, {}).get(ordinal)
        if live is None:
            raise ReplayError(f"{kind} {ordinal} of thread {thread} has ended")
        return live

    def end_made(self, kind: str, thread: int, live: LiveRequest) -> None:
        """Forget a request that has ended."""
        self._made.get((kind, thread), {}).pop(live.ordinal, None)

    def await_comm(self, family: int) -> None:
        """Wait until some thread has made a communicator."""
        with self._changed:
            self.wait_until(lambda: family in self._first.comms, f"communicator {family} is not made")

    def begin_use(self, thread: int, name: ObjectName) -> UseOrder | None:
        """Begin to use an object, after the uses that come first; None: no other thread uses it."""
        if (order := self._orders.get(name)) is None:
            return None
        kind, of, number = name
        what = f"another use of {kind.name.lower()} {number} of {of} comes first"
        with self._changed:
            self.wait_until(lambda: order.is_ready(thread), what)
            order.begin(thread)
        return order

    def end_uses(self, orders: Iterable[UseOrder]) -> None:
        """End uses of objects by a call that has returned."""
        with self.changes():
            for order in orders:
                order.end()

    @contextmanager
    def in_order(self, thread: int, call: Call) -> Iterator[None]:
        """Issue a call after those of other threads that come first."""
        family = call.family if "comm" in call else NO_FAMILY
        takes_turn = family in self._turn and is_collective(call.op)
        if takes_turn:
            with self._changed:
                reason = f"another call on communicator {family} comes first"
                self.wait_until(lambda: self._turn[family] in (thread, None), reason)
        if call.op in FREES:
            with self._changed:
                self.wait_until(lambda: self._uses[family] == 0, f"communicator {family} is still used")
        parameter = next((name for name in OBJECTS if name in call), None) if self._orders else None
        order = parameter and self.begin_use(thread, (OBJECTS[parameter], family, int(call[parameter])))
        yield
        if order:
            self.end_uses([order])
        if takes_turn or family in self._uses:
            with self.changes():
                if takes_turn:
                    self._turn[family] = next(self._turns[family], None)
                if family in self._uses and call.op not in FREES:
                    self._uses[family] -= 1

    # -- the replay --

    def play_all(self, report: Report | None) -> None:
        """Replay all threads, the first one in this thread.

        Raises:
            ReplayError: MPI returned an error, or the trace is inconsistent; names the event.
        """
        interval = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_S)
        self._gate.set()
        self._play(self.threads[0], report)
        for worker in self._workers:
            worker.join()
        sys.setswitchinterval(interval)

    def _play_guarded(self, rank: ThreadReplay) -> None:
        self._gate.wait()
        try:
            self._play(rank, None)
        except ScalatraceError as error:
            # The first thread may be in a call of MPI for ever.
            self._first.mpi.abort(f"scalatrace: {error}")
        # A tracer gives the number of a thread that has ended to one that makes its first call then.
        with self._changed:
            self._changed.wait_for(lambda: not self._left)

    def _play(self, rank: ThreadReplay, report: Report | None) -> None:
        number, event = 0, None
        before = ComputeTimes(self._trace, rank.mpi.rank, self._options, self._whatif).before
        rank.pace.start()
        try:
            for number, event in enumerate(self._trace.walk(rank.mpi.rank, rank.thread)):
                if report is not None and not number & REPORT_MASK:
                    report(number)
                rank.at = number, event
                with self.in_order(rank.thread, event):
                    rank.pace.due_in(before(event))
                    rank.family = event.family
                    HANDLERS[event.op](rank, self._whatif.view(event))
                    rank.publish()
        except ReplayError as error:
            where = f"thread {rank.thread}: {error}" if rank.thread else str(error)
            raise rank.with_location(ReplayError(where), number, "" if event is None else event.op) from None
        finally:
            with self.changes():
                self._left.discard(rank.thread)

    def result(self, wall_ns: int) -> RankResult:
        """Return the sum of the threads' results."""
        ranks = [RankResult.of(rank, wall_ns) for rank in self.threads]
        rows = dict[tuple[str, int], tuple[int, int, int]]()
        for result in ranks:
            for op, family, calls, ns, sent in result.rows:
                before = rows.get((op, family), (0, 0, 0))
                rows[op, family] = before[0] + calls, before[1] + ns, before[2] + sent
        return replace(
            ranks[0],
            computed_ns=sum(result.computed_ns for result in ranks),
            engine_ns=sum(result.engine_ns for result in ranks),
            late_ns=sum(result.late_ns for result in ranks),
            rows=[(op, family, *counts) for (op, family), counts in rows.items()],
            left=sum(result.left for result in ranks),
        )

    def position(self, position_of: Callable[[RankReplay], ReplayPosition]) -> ReplayPosition:
        """Return where the rank is: its events so far, and the call of the first thread with calls left."""
        positions = [position_of(rank) for rank in self.threads]
        thread = min(self._left, default=0)
        at = next(p for p, rank in zip(positions, self.threads, strict=True) if rank.thread == thread)
        return replace(at, event=sum(p.event for p in positions), computes=any(p.computes for p in positions))


class ThreadReplay(RankReplay):
    """State of one thread: its requests, statistics and waits; the rest is the rank's."""

    def __init__(self, threads: RankThreads, first: RankReplay, thread: int, compute: ComputeMode) -> None:
        super().__init__(first.mpi, Pace(compute))
        self.thread, self._threads, self._first = thread, threads, first
        for name in ("comms", "windows", "attached", "exposed", "ports", "files", "split_io", "topologies"):
            setattr(self, name, getattr(first, name))
        self._io_folder = first._io_folder
        self.requests = self._requests = ThreadRequests(threads, REQUEST, thread)
        self.messages = self._messages = ThreadRequests(threads, "matched message", thread)

    def publish(self) -> None:
        """Let other threads find what the last call has made."""
        self._requests.publish()
        self._messages.publish()

    def comm(self, family: int) -> Handle:
        """Return the communicator of a family, which another thread may have to make first."""
        if family not in self.comms and family not in PREDEFINED:
            self._threads.await_comm(family)
        return super().comm(family)

    def rename(self, family: int, handle: Handle | None) -> None:
        """Set the communicator of a family, or remove it with None, for all threads."""
        with self._threads.changes():
            super().rename(family, handle)

    def attach(self, nbytes: int) -> None:
        """Attach memory for buffered sends, once per rank."""
        with self._threads.changes():
            self._first.attach(nbytes)

    def message(
        self, event: AnyCall, out: bool, count: str = "count", datatype: str = "datatype", nbytes: int = 0
    ) -> list[Any]:
        """Return buffer, count and datatype of an event's message, with room for that of another thread."""
        if not out and "comm" in event:
            nbytes = max(nbytes, self._threads.room_of(event))
        return super().message(event, out, count, datatype, nbytes)

    def issue_completing(self, event: AnyCall, lives: Iterable[LiveRequest], *args: Any) -> None:
        """Issue a call that completes requests. It is not cached: names depend on those before."""
        self.issue(event.op, *args)
        self.complete(list(lives))

    def keep(self, event: AnyCall, prepared: PreparedCall) -> None:
        """Give back the buffers of a call that was issued."""
        self.buffers.give_back(prepared.buffers)


class ThreadRequests(LiveList):
    """Live requests or messages of one thread, with the names that it gives to those of others."""

    def __init__(self, threads: RankThreads, kind: str, thread: int) -> None:
        super().__init__(kind)
        self._threads, self._thread = threads, thread
        self._new: list[LiveRequest] = []
        self._foreign = ForeignNames()
        self._named: dict[int, tuple[int, LiveRequest]] = {}
        self._begun: list[UseOrder] = []

    def add(self, live: LiveRequest) -> LiveRequest:
        """Make `live` the newest; oldest ones that other threads have ended do not count in any age."""
        while self.items and self.items[0].ended_elsewhere:
            del self.items[0]
        self._new.append(live)
        return super().add(live)

    def publish(self) -> None:
        """Let other threads find what the last call has made."""
        if self._new:
            self._threads.add_made(self.kind, self._thread, self._new)
            self._new = []
        if self._begun:
            self._threads.end_uses(self._begun)
            self._begun = []

    def at(self, age: int) -> LiveRequest:
        """Return the request of a name, when it is made."""
        if not is_foreign(age):
            live = super().at(age)
            self._begin(self._thread, live)
            return live
        thread, ordinal = self._foreign.resolve(age)
        live = self._threads.await_made(self.kind, thread, ordinal)
        self._named[id(live)] = thread, live
        self._begin(thread, live)
        return live

    def _begin(self, creator: int, live: LiveRequest) -> None:
        """Use a request after the uses of it by other threads that come first."""
        if self.kind == REQUEST:
            order = self._threads.begin_use(self._thread, (SharedKind.REQUEST, creator, live.ordinal))
            self._begun += [order] if order else []

    def remove(self, gone: Iterable[LiveRequest]) -> list[LiveRequest]:
        """Remove these requests; one of another thread still counts in the ages of that thread."""
        ended = list(gone)
        removed = super().remove(live for live in ended if id(live) not in self._named)
        for live in removed:
            self._threads.end_made(self.kind, self._thread, live)
        for live in ended:
            if id(live) in self._named:
                thread, _ = self._named.pop(id(live))
                live.ended_elsewhere = True
                self._threads.end_made(self.kind, thread, live)
                removed.append(live)
        return removed

    def left(self) -> tuple[LiveRequest, ...]:
        """Return the requests that no thread has ended, oldest first."""
        return tuple(live for live in self.items if not live.ended_elsewhere)
