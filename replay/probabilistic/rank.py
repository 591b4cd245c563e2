"""The replay of one rank of a probabilistic trace (§5.2.6).

Sends and collectives are made with drawn parameters; receives are not made, since what they would take is not
known: the inbox receives whatever comes. The time that the program spent in them passes all the same, less by
what the rank is late: where a program waits for others it catches up. Nothing blocks in MPI without
receiving meanwhile: what blocks becomes its nonblocking form, and calls without one are entered when all
ranks are there. So no rank waits for one that waits for it, whatever was drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from scalatrace.ops import SENDING, Category, operation
from scalatrace.replay.calls.completion import of_ages
from scalatrace.replay.common.errors import ReplayError
from scalatrace.replay.common.options import Compute, Options
from scalatrace.replay.common.whatif import WhatIf
from scalatrace.replay.engine.player import REPORT_MASK, Report
from scalatrace.replay.engine.rank import SELF, WORLD, Rank
from scalatrace.replay.engine.registry import HANDLERS
from scalatrace.replay.engine.requests import Live
from scalatrace.replay.probabilistic.largest import largest_sent
from scalatrace.replay.probabilistic.outgoing import Outgoing
from scalatrace.replay.probabilistic.planned_calls import Plan, Planner
from scalatrace.replay.timing.lateness import CatchingUp
from scalatrace.replay.transport.args import Count, Ref
from scalatrace.replay.transport.inbox import Inbox
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.query.requests import ENDING, STARTING, ages
from scalatrace.trace.values.vec import PROC_NULL, Vec

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.replay.transport.base import Handle, Transport
    from scalatrace.trace.query.walk import Call

TOGETHER = {
    "Comm_dup", "Comm_dup_with_info", "Comm_split", "Comm_split_type", "Comm_create", "Intercomm_create",
    "Intercomm_merge", "Comm_free", "Comm_disconnect", "Cart_create", "Cart_sub", "Graph_create",
    "Dist_graph_create", "Dist_graph_create_adjacent", "Win_create", "Win_allocate", "Win_allocate_shared",
    "Win_free", "Win_fence", "File_open", "File_close", "File_set_view", "File_set_size", "File_preallocate",
    "File_sync", "File_seek_shared",
}  # fmt: skip
"""Calls that wait for all ranks of their communicator and have no nonblocking form."""


class ProbableRank:
    """Plays the calls of one rank."""

    def __init__(
        self, trace: Trace, rank: Rank, transport: Transport, options: Options, whatif: WhatIf
    ) -> None:
        self._trace, self.rank, self._mpi = trace, rank, transport
        self.inbox = Inbox(transport, largest_sent(trace, transport.rank, whatif))
        self.prepare: Callable[[Call], Plan] | None = Planner(trace, transport.rank, options, whatif).plan
        self._watched = _families_of_messages(trace)
        self._starts: dict[Live, Any] = {}
        self._received: set[Live] = set()
        self._late = CatchingUp(rank.pace)
        self._outgoing = Outgoing(rank, self.inbox)
        self._idup = False
        rank.pace.poll = self.inbox.poll
        rank.on_communicator = self._made
        for family in (WORLD, SELF):
            self._watch(family, rank.comm(family))
        rank.aside = transport.handle("comm")
        transport.quiet("Comm_dup", rank.comm(WORLD), Ref(rank.aside))

    def play_all(self, events: Iterable[tuple[Plan, int]], report: Report | None) -> None:
        """Make all calls but receives, whose time passes."""
        for number, (plan, delay_ns) in enumerate(events):
            if report is not None and not number & REPORT_MASK:
                report(number)
            try:
                self._play(plan, delay_ns)
            except ReplayError as error:
                raise self.rank.told(error, number, plan.call.op) from None
        self._outgoing.land()

    def _play(self, plan: Plan, delay_ns: int) -> None:
        call = plan.call
        self.rank.family = call.family
        if self._is_receive(plan):
            self._late.compute(delay_ns)
            self._skip(plan)
            return
        pace = self.rank.pace
        start = pace.last_ns
        pace.due_in(delay_ns)
        self._call(plan)
        self._late.called(start, delay_ns + plan.in_mpi_ns)

    def _call(self, plan: Plan) -> None:
        rank, call = self.rank, plan.call
        if call.op in ENDING:
            self._complete(plan)
        elif call.op in STARTING:
            self._start(call)
        elif call.op.startswith("Pready"):
            self._count(call)
        elif call.op == "Request_free" and self._lives(call)[0] in self._starts:
            self._count(call)
            self._starts.pop(self._lives(call)[0])
            rank.requests.remove(self._lives(call))
        else:
            self._make(plan)

    def finish(self) -> int:
        """Receive all that is under way; return how many messages came."""
        self.inbox.close_all()
        return self.inbox.messages

    def _made(self, family: int, comm: Handle | None) -> None:
        if not self._idup:
            self._watch(family, comm)

    def _watch(self, family: int, comm: Handle | None) -> None:
        if comm is not None and family in self._watched:
            peers = self._trace.communicator(family, self._mpi.rank).peers
            self.inbox.open(family, comm, len(peers), alone=peers == (self._mpi.rank,))

    def _is_receive(self, plan: Plan) -> bool:
        if plan.receives is not None:
            return plan.receives
        lives = self._lives(plan.call)
        return bool(lives) and all(live in self._received for live in lives)

    def _skip(self, plan: Plan) -> None:
        """Let what a receive leaves behind be there: a request, a matched message, its time."""
        rank, call, row = self.rank, plan.call, operation(plan.call.op)
        self._late.wait_for_others(plan.in_mpi_ns)
        self.rank.ledger.of(call.op, call.family).calls += 1
        if row.makes_request:
            live = rank.requests.add(Live(self._mpi.handle("request"), row.flow_later))
            self._received.add(live)
        if call.op in ("Mprobe", "Improbe") and call["source"] != PROC_NULL:
            rank.messages.add(Live(None))
        elif call.op in ("Mrecv", "Imrecv") and call["message"] != PROC_NULL:
            rank.messages.remove([rank.messages.at(call["message"])])
        if call.op in ENDING:
            self._let_go(self._lives(call))
        elif call.op == "Request_free":
            live = rank.requests.at(call["request"])
            rank.requests.remove([live])
            self._received.discard(live)

    def _make(self, plan: Plan) -> None:
        rank, call, row = self.rank, plan.call, operation(plan.call.op)
        rank.counted_as = call.op
        self._idup = call.op.startswith("Comm_idup")  # not to be used before it is complete
        if row.category is Category.PERSISTENT:
            self._count(call)
            live = rank.requests.add(Live(self._mpi.handle("request"), True))
            self._starts[live] = plan.drawn
        elif row.category in (Category.SEND, Category.SENDRECV):
            self._send(plan, row.makes_request)
        elif row.category in (Category.COLLECTIVE, Category.NEIGHBOUR) and not row.makes_request:
            self._hand(plan.issued)
            self._await_newest(call)
        else:
            if call.op in TOGETHER or call.op.removesuffix("_begin").endswith(("_all", "_ordered")):
                self._meet(call)
            if call.op in ("Comm_free", "Comm_disconnect"):
                self._outgoing.land()
                self.inbox.close(call.family)
            self._hand(plan.issued)
            if call.op.startswith("Comm_idup"):
                self._outgoing.wait([rank.requests.at(0)])
                self._watch(call["newcomm"].family, rank.comm(call["newcomm"].family))
        rank.counted_as = ""

    def _hand(self, drawn: Any) -> None:
        if not self.rank.made_again(drawn):
            HANDLERS[drawn.op](self.rank, drawn)

    def _send(self, plan: Plan, nonblocking: bool) -> None:
        call, issued = plan.call, plan.issued
        self._hand(issued)
        if issued["dest"] >= 0:
            self.inbox.sent(call.family, issued["dest"], issued["tag"])
        if nonblocking:
            return
        live, pace = self.rank.requests.at(0), self.rank.pace
        start = pace.last_ns
        if pace.compute is Compute.NONE:
            self._await_newest(call)
        else:  # its receiver, which took another message in the program, may come later
            self._outgoing.leave(live)
            self._late.wait_within(plan.in_mpi_ns - (pace.called() - start))

    def _await_newest(self, call: Call) -> None:
        """Wait for the request that stands for a blocking call."""
        live, pace = self.rank.requests.at(0), self.rank.pace
        start = pace.last_ns
        self._outgoing.wait([live])
        self.rank.complete([live])
        self.rank.ledger.of(call.op, call.family).ns += pace.called() - start

    def _complete(self, plan: Plan) -> None:
        """Wait for the sends and collectives among the requests; receives take the time they took."""
        call = plan.call
        pace, lives = self.rank.pace, self._lives(call)
        start = pace.wait()
        self._outgoing.wait([live for live in lives if live not in self._received])
        tally = self.rank.ledger.of(call.op, call.family)
        spent = pace.called() - start
        tally.calls += 1
        tally.ns += spent
        if any(live in self._received for live in lives):
            self._late.wait_within(plan.in_mpi_ns - spent)
        self._let_go(lives)

    def _let_go(self, lives: Sequence[Live]) -> None:
        self.rank.complete(lives)
        self._received.difference_update(live for live in lives if not live.persistent)

    def _lives(self, call: Call) -> list[Live]:
        return of_ages(self.rank, ages(call))

    def _start(self, call: Call) -> None:
        """Start persistent requests: a send anew, a receive not at all, a collective as it is."""
        rank = self.rank
        rank.counted_as = call.op
        for live in self._lives(call):
            if live in self._received:
                continue
            drawn = self._starts.get(live)
            if drawn is None:
                rank.mpi.quiet("Start", Ref(live.handle))
                continue
            built = rank.type(drawn["datatype"])
            n = drawn["count"] * drawn.get("partitions", 1)
            message = rank.out(n, built), Count(n), built.handle
            to = rank.mpi.constant(drawn["dest"]), drawn["tag"], rank.comm(drawn.family)
            rank.mpi.quiet("Isend", *message, *to, Ref(live.handle))
            if drawn["dest"] >= 0:
                self.inbox.sent(drawn.family, drawn["dest"], drawn["tag"])
        rank.take_sent(call.op)  # the trace does not count bytes of a Start either
        self._count(call)
        rank.counted_as = ""

    def _count(self, call: Call) -> None:
        """Count a call that is not made as such."""
        self.rank.pace.wait()
        self.rank.pace.called()
        tally = self.rank.ledger.of(call.op, call.family)
        tally.calls += 1
        tally.sent += self.rank.take_sent(call.op)

    def _meet(self, call: Call) -> None:
        """Wait, receiving, until all ranks of the communicator have come."""
        live = Live(self._mpi.handle("request"))
        self._mpi.quiet("Ibarrier", self.rank.comm(call.family), Ref(live.handle))
        self._outgoing.wait([live])


def _families_of_messages(trace: Trace) -> set[int]:
    """Return the families that messages are sent on; all when that changes from call to call."""
    found: set[int] = set()
    for leaf in trace.leaves():
        op = trace.ops[leaf.op]
        at = op.position(Kind.COMM)
        if operation(op.name).category not in SENDING or at is None:
            continue
        value = leaf.params[at]
        if not isinstance(value, Vec) or value.constant is None:
            return set(range(len(trace.comms)))
        found.add(value.constant)
    return found
