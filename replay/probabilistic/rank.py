"""The replay of one rank of a probabilistic trace (§5.2.6).

Sends and collectives are issued with sampled parameters. Receives are not issued, since their messages are
not known: the inbox receives all messages. A rank waits as long as the program was in a receive, less the
time by which it is late. No call blocks without receiving messages: blocking calls become nonblocking, and
collective calls without a nonblocking form are issued when all ranks are at them. So there is no deadlock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from scalatrace.operations import COLLECTIVES, SENDING, Category, Meeting, operation
from scalatrace.replay.calls.requests import of_ages
from scalatrace.replay.common.errors import ReplayError
from scalatrace.replay.common.options import ComputeMode, ReplayOptions
from scalatrace.replay.common.view import AnyCall
from scalatrace.replay.common.whatif import WhatIf
from scalatrace.replay.engine.handlers import HANDLERS
from scalatrace.replay.engine.player import REPORT_MASK, Report
from scalatrace.replay.engine.rank import SELF, WORLD, RankReplay
from scalatrace.replay.engine.requests import LiveRequest
from scalatrace.replay.probabilistic.largest import largest_sent
from scalatrace.replay.probabilistic.planned_calls import CallPlanner, PlannedCall
from scalatrace.replay.timing.pace import Lateness
from scalatrace.replay.transport.args import Count, Ref
from scalatrace.replay.transport.inbox import Inbox
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.query.requests import ENDING, STARTING, ages
from scalatrace.trace.values.vec import PROC_NULL, Vec

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.replay.transport.base import Handle, Transport
    from scalatrace.trace.query.walk import Call

SETUP_CATEGORIES = frozenset({Category.COMMUNICATOR, Category.WINDOW, Category.FILE, Category.IO})
"""Calls before which all members wait for each other. MPI_Init and MPI_Finalize are those of the replay."""


MAX_IN_PROGRESS = 64
"""Sends in progress for which the rank does not wait yet, though they blocked in the program."""


class ProbabilisticPlayer:
    """Issues the calls of one rank."""

    def __init__(
        self, trace: Trace, rank: RankReplay, transport: Transport, options: ReplayOptions, whatif: WhatIf
    ) -> None:
        self._trace, self.rank, self._mpi = trace, rank, transport
        self.inbox = Inbox(transport, largest_sent(trace, transport.rank, whatif))
        self.prepare: Callable[[Call], PlannedCall] | None = CallPlanner(
            trace, transport.rank, options, whatif
        ).plan
        self._watched = _families_of_messages(trace)
        self._starts: dict[LiveRequest, AnyCall] = {}
        self._received: set[LiveRequest] = set()
        self._lateness = Lateness(rank.pace)
        self._outgoing = Outgoing(rank, self.inbox)
        self._idup = False
        rank.pace.poll = self.inbox.poll
        rank.on_communicator = self._communicator_changed
        for family in (WORLD, SELF):
            self._watch(family, rank.comm(family))
        rank.aside = transport.handle("comm")
        transport.quiet("Comm_dup", rank.comm(WORLD), Ref(rank.aside))

    def play_all(self, events: Iterable[tuple[PlannedCall, int]], report: Report | None) -> None:
        """Issue all calls but receives; for these wait as long as the program did."""
        for number, (plan, delay_ns) in enumerate(events):
            if report is not None and not number & REPORT_MASK:
                report(number)
            self.rank.at = number, plan.call
            try:
                self._play(plan, delay_ns)
            except ReplayError as error:
                raise self.rank.with_location(error, number, plan.call.op) from None
        self._outgoing.wait_all()

    def _play(self, plan: PlannedCall, delay_ns: int) -> None:
        call = plan.call
        self.rank.family = call.family
        if self._is_receive(plan):
            self._lateness.compute(delay_ns)
            self._skip(plan)
            return
        pace = self.rank.pace
        start = pace.last_ns
        pace.due_in(delay_ns)
        self._call(plan)
        self._lateness.ended(start, delay_ns + plan.in_mpi_ns)

    def _call(self, plan: PlannedCall) -> None:
        rank, call = self.rank, plan.call
        if call.op in ENDING:
            self._complete(plan)
        elif call.op in STARTING:
            self._start(call)
        elif call.op.startswith("Pready"):
            self._count(call)
        elif call.op == "Request_free" and self._requests_of(call)[0] in self._starts:
            self._count(call)
            self._starts.pop(self._requests_of(call)[0])
            rank.requests.remove(self._requests_of(call))
        else:
            self._replay(plan)

    def finish(self) -> int:
        """Receive all messages in progress; return the number of messages received."""
        self.inbox.close_all()
        return self.inbox.messages

    def _communicator_changed(self, family: int, comm: Handle | None) -> None:
        if not self._idup:
            self._watch(family, comm)

    def _watch(self, family: int, comm: Handle | None) -> None:
        if comm is not None and family in self._watched:
            peers = self._trace.communicator(family, self._mpi.rank).peers
            self.inbox.open(family, comm, len(peers), alone=peers == (self._mpi.rank,))

    def _is_receive(self, plan: PlannedCall) -> bool:
        if plan.receives is not None:
            return plan.receives
        lives = self._requests_of(plan.call)
        return bool(lives) and all(live in self._received for live in lives)

    def _skip(self, plan: PlannedCall) -> None:
        """Do what a receive would do here, without one: make its request or matched message, and wait."""
        rank, call, row = self.rank, plan.call, operation(plan.call.op)
        self._lateness.wait_for_others(plan.in_mpi_ns)
        self.rank.stats.of(call.op, call.family).calls += 1
        if row.makes_request:
            live = rank.requests.add(LiveRequest(self._mpi.handle("request"), row.flow_later))
            self._received.add(live)
        if call.op in ("Mprobe", "Improbe") and call["source"] != PROC_NULL:
            rank.messages.add(LiveRequest(None))
        elif call.op in ("Mrecv", "Imrecv") and call["message"] != PROC_NULL:
            rank.messages.remove([rank.messages.at(call["message"])])
        if call.op in ENDING:
            self._remove(self._requests_of(call))
        elif call.op == "Request_free":
            live = rank.requests.at(call["request"])
            rank.requests.remove([live])
            self._received.discard(live)

    def _replay(self, plan: PlannedCall) -> None:
        rank, call, row = self.rank, plan.call, operation(plan.call.op)
        rank.counted_as = call.op
        self._idup = row.meeting is Meeting.SETUP and row.nonblocking  # not to be used before it is complete
        if row.category is Category.PERSISTENT:
            self._count(call)
            live = rank.requests.add(LiveRequest(self._mpi.handle("request"), True))
            self._starts[live] = plan.sampled
        elif row.category in (Category.SEND, Category.SENDRECV):
            self._send(plan, row.makes_request)
        elif row.category in COLLECTIVES and not row.makes_request:
            self._issue(plan.issued)
            self._await_newest(call)
        else:
            if (
                row.meeting in (Meeting.SETUP, Meeting.LOOSE)
                and row.category in SETUP_CATEGORIES
                and not self._idup
            ):
                self._synchronise(call)
            if call.op in ("Comm_free", "Comm_disconnect"):
                self._outgoing.wait_all()
                self.inbox.close(call.family)
            self._issue(plan.issued)
            if self._idup:
                self._outgoing.wait([rank.requests.at(0)])
                self._watch(call["newcomm"].family, rank.comm(call["newcomm"].family))
        rank.counted_as = ""

    def _issue(self, call: AnyCall) -> None:
        if not self.rank.replay_cached(call):
            HANDLERS[call.op](self.rank, call)

    def _send(self, plan: PlannedCall, nonblocking: bool) -> None:
        call, issued = plan.call, plan.issued
        self._issue(issued)
        if issued["dest"] >= 0:
            self.inbox.sent(call.family, issued["dest"], issued["tag"])
        if nonblocking:
            return
        live, pace = self.rank.requests.at(0), self.rank.pace
        start = pace.last_ns
        if pace.compute is ComputeMode.NONE:
            self._await_newest(call)
        else:  # its receiver, which took another message in the program, may come later
            self._outgoing.track(live)
            self._lateness.wait_within(plan.in_mpi_ns - (pace.called() - start))

    def _await_newest(self, call: Call) -> None:
        """Wait for the request that stands for a blocking call."""
        live, pace = self.rank.requests.at(0), self.rank.pace
        start = pace.last_ns
        self._outgoing.wait([live])
        self.rank.complete([live])
        self.rank.stats.of(call.op, call.family).ns += pace.called() - start

    def _complete(self, plan: PlannedCall) -> None:
        """Wait for the sends and collectives among the requests; for receives wait as the program did."""
        call = plan.call
        pace, lives = self.rank.pace, self._requests_of(call)
        start = pace.wait()
        self._outgoing.wait([live for live in lives if live not in self._received])
        tally = self.rank.stats.of(call.op, call.family)
        spent = pace.called() - start
        tally.calls += 1
        tally.ns += spent
        if any(live in self._received for live in lives):
            self._lateness.wait_within(plan.in_mpi_ns - spent)
        self._remove(lives)

    def _remove(self, lives: Sequence[LiveRequest]) -> None:
        self.rank.complete(lives)
        self._received.difference_update(live for live in lives if not live.persistent)

    def _requests_of(self, call: Call) -> list[LiveRequest]:
        return of_ages(self.rank, ages(call))

    def _start(self, call: Call) -> None:
        """Start persistent requests: a send becomes an Isend, a receive nothing, a collective stays."""
        rank = self.rank
        rank.counted_as = call.op
        for live in self._requests_of(call):
            if live in self._received:
                continue
            sampled = self._starts.get(live)
            if sampled is None:
                rank.mpi.quiet("Start", Ref(live.handle))
                continue
            built = rank.type(sampled["datatype"])
            n = sampled["count"] * sampled.get("partitions", 1)
            message = rank.out(n, built), Count(n), built.handle
            to = rank.mpi.constant(sampled["dest"]), sampled["tag"], rank.comm(sampled.family)
            rank.mpi.quiet("Isend", *message, *to, Ref(live.handle))
            if sampled["dest"] >= 0:
                self.inbox.sent(sampled.family, sampled["dest"], sampled["tag"])
        rank.take_sent(call.op)  # the trace does not count bytes of a Start either
        self._count(call)
        rank.counted_as = ""

    def _count(self, call: Call) -> None:
        """Count a call that is not issued as such."""
        self.rank.pace.wait()
        self.rank.pace.called()
        tally = self.rank.stats.of(call.op, call.family)
        tally.calls += 1
        tally.sent += self.rank.take_sent(call.op)

    def _synchronise(self, call: Call) -> None:
        """Wait, receiving meanwhile, until all ranks of the communicator are here."""
        live = LiveRequest(self._mpi.handle("request"))
        self._mpi.quiet("Ibarrier", self.rank.comm(call.family), Ref(live.handle))
        self._outgoing.wait([live])


def _families_of_messages(trace: Trace) -> set[int]:
    """Return the families that messages are sent on; all when that changes from call to call."""
    families: set[int] = set()
    for leaf in trace.leaves():
        op = trace.ops[leaf.op]
        at = op.position(Kind.COMM)
        if operation(op.name).category not in SENDING or at is None:
            continue
        value = leaf.params[at]
        if not isinstance(value, Vec) or value.constant is None:
            return set(range(len(trace.comms)))
        families.add(value.constant)
    return families


class Outgoing:
    """The sends in progress of one rank. While it waits for them, it receives what arrives."""

    def __init__(self, rank: RankReplay, inbox: Inbox) -> None:
        self._rank, self._inbox = rank, inbox
        self._in_progress: list[LiveRequest] = []

    def track(self, live: LiveRequest) -> None:
        """Track a send instead of waiting for it. With too many in progress, wait for the older half."""
        self._in_progress += self._rank.requests.remove([live])
        if len(self._in_progress) >= MAX_IN_PROGRESS:
            self._end(MAX_IN_PROGRESS // 2)

    def wait_all(self) -> None:
        """Wait for all sends in progress."""
        self._end(len(self._in_progress))

    def _end(self, n: int) -> None:
        ended, self._in_progress = self._in_progress[:n], self._in_progress[n:]
        self.wait(ended)
        for live in ended:
            self._rank.release(live)

    def wait(self, lives: Sequence[LiveRequest]) -> None:
        """Wait for requests, receiving meanwhile."""
        for live in lives:
            self._inbox.wait(live.handle)
