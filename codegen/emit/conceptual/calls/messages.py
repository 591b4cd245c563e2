"""Emit messages between sets of tasks, whose peers are formulas, and the statements that await them.

Sends are to unsuspecting tasks, and receives stand where the application posted them, so each task keeps the
order of its calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.emit.conceptual.calls.statement_writer import StatementWriter, transfer
from scalatrace.codegen.emit.conceptual.common import expr_writer as writing
from scalatrace.codegen.emit.conceptual.common.operations import PROBES, ParameterNames
from scalatrace.codegen.emit.conceptual.common.pending import EmittedRequest, PendingRequests
from scalatrace.codegen.emit.conceptual.sets.task_sets import TaskSet
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.program.conditions import RANK
from scalatrace.codegen.program.tree import MpiCall, calls
from scalatrace.formula import TRUE, Const, Expr, Special, Value, add, mul, names_in, number
from scalatrace.operations import operation
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import UNDEFINED

__all__ = ["MessageEmitter"]


class MessageEmitter:
    """Adds the statements for point-to-point calls."""

    def __init__(self, writer: StatementWriter) -> None:
        self.writer, self.sets = writer, writer.sets
        self.pending = PendingRequests(self.sets.everyone.ranks)
        self.probed: dict[int, MpiCall] = {}
        self.channels = self._channels()

    def _channels(self) -> dict[tuple[int, Value], None]:
        """Return the communicators and tags that distinguish messages."""
        result: dict[tuple[int, Value], None] = {}
        for call in calls(self.sets.program.body):
            for name in ("tag", "sendtag", "recvtag"):
                if name in call and call.op not in PROBES:
                    result[_family(call), call[name]] = None
        return result

    @property
    def tagged(self) -> bool:
        """Whether tags tell messages apart: not when there is one only, nor when receives take any."""
        return len(self.channels) > 1 and all(tag != Special("ANY_TAG") for _, tag in self.channels)

    def message(self, call: MpiCall, chosen: TaskSet, sends: bool, later: bool) -> None:
        """Add `TASKS t SUCH THAT t < 3 SEND A 800 BYTE MESSAGE TO UNSUSPECTING TASK (t + 1)`."""
        peer = "dest" if sends else "source"
        self.transfer(call, chosen, sends, later, ("count", "datatype", peer, "tag"))
        if later:
            self.pending.make(chosen.ranks, EmittedRequest())

    def transfer(
        self, call: MpiCall, chosen: TaskSet, sends: bool, later: bool, names: ParameterNames
    ) -> None:
        """Add messages, those of equal size, tag and rule for the peer by one statement."""
        count, datatype, peer, tag = names
        parts = [call[count], call[datatype], call[tag] if self.tagged and tag in call else Const(0)]
        for members, (n, kind, value) in self.sets.values(parts, chosen):
            nbytes = self.sets.nbytes(n, kind)
            for tasks, e, to_self in self.sets.peers(call, peer, members, sends and not later):
                channel = self.channel(call, number(value)) if self.tagged else None
                self.add(call, tasks, sends, later or to_self, e, nbytes, channel)

    def add(
        self,
        call: MpiCall,
        tasks: TaskSet,
        sends: bool,
        later: bool,
        peer: Expr,
        nbytes: Expr,
        channel: Expr | None,
    ) -> None:
        """Add the statement for one message of each task; where sizes or tags differ, task after task."""
        parts = [peer, self.sets.translate(nbytes)]
        parts += [] if channel is None else [self.sets.translate(channel)]
        if (single := self.sets.single(tasks)) is not None:
            parts = [self.sets.at(e, single) if RANK in names_in(e) else e for e in parts]
        by_rank = RANK in names_in(*parts[1:])
        task = "s" if by_rank else "t"
        actors: t.Tasks = t.OneTask(t.Variable(task))
        if not by_rank:
            actors = self.sets.tasks(tasks, named=RANK in names_in(parts[0]), target=not sends)
        to, size, *tag = (writing.expr(e, task) for e in parts)
        statement = transfer(sends, actors, size, tag[0] if tag else None, to, later)
        if by_rank:
            cond = self.sets.condition(tasks)
            body = statement if cond == TRUE else t.If(writing.cond(cond, task), t.Block((statement,)))
            last = t.BinaryOperation("-", t.Variable("num_tasks"), t.Integer(1))
            statement = t.ForEach(task, (writing.range_to(last),), body)
        self.writer.add(statement, self.writer.site(call))

    def receive(self, call: MpiCall, chosen: TaskSet) -> None:
        """Add a receive; one of a matched message is from where the probe found it."""
        if call.op in ("Recv", "Irecv"):
            self.message(call, chosen, False, call.op == "Irecv")
            return
        probes: dict[int, tuple[MpiCall, list[int]]] = {}
        for rank in chosen.ranks:
            if rank not in self.probed:
                raise GenerateError("no probe matched its message before")
            probe = self.probed[rank]
            probes.setdefault(id(probe), (probe, []))[1].append(rank)
        for probe, members in probes.values():
            names = {argument.name for argument in call.arguments}
            more = tuple(a for a in probe.arguments if a.name not in names)
            joined = MpiCall(call.op, (*call.arguments, *more), call.site)
            tasks = self.sets.select(RankList(members), chosen)
            self.message(joined, tasks, False, call.op == "Imrecv")

    def exchange(self, call: MpiCall, chosen: TaskSet) -> None:
        """Add both messages of MPI_Sendrecv; await them where nothing else is pending."""
        if call.op == "Sendrecv":
            out, back = (
                ("sendcount", "sendtype", "dest", "sendtag"),
                ("recvcount", "recvtype", "source", "recvtag"),
            )
        else:
            out, back = ("count", "datatype", "dest", "sendtag"), ("count", "datatype", "source", "recvtag")
        self.transfer(call, chosen, False, True, back)
        self.transfer(call, chosen, True, True, out)
        self.pending.make(chosen.ranks, EmittedRequest())
        self.awaited((rank for rank in chosen.ranks if self.pending.complete(rank, (0,))), call)

    def prepare(self, call: MpiCall, chosen: TaskSet) -> None:
        """Keep a persistent request: nothing is sent yet."""
        self.pending.make(chosen.ranks, EmittedRequest(call, False))

    def leave_out(self, call: MpiCall, chosen: TaskSet) -> None:
        """Keep the request of a call that is left out; no message is pending for it."""
        row = operation(call.op)
        if row.makes_request:
            self.pending.make(chosen.ranks, EmittedRequest(call if row.flow_later else None, False))

    def probe(self, call: MpiCall, chosen: TaskSet) -> None:
        """Keep the source of a probe for the receive, which waits for all that the probe waits for."""
        self.probed.update(dict.fromkeys(chosen.ranks, call))

    def start(self, call: MpiCall, chosen: TaskSet) -> None:
        """Add the messages of persistent requests."""
        started: dict[MpiCall, list[int]] = {}
        for rank in chosen.ranks:
            for request in self.pending.start(rank, self.started_ages(call, rank)):
                if not request.dropped:
                    started.setdefault(request, []).append(rank)
        for request, members in started.items():
            receives = request.op == "Recv_init"
            names = ("count", "datatype", "source" if receives else "dest", "tag")
            self.transfer(request, self.sets.select(RankList(members), chosen), not receives, True, names)

    def started_ages(self, call: MpiCall, rank: int) -> Sequence[int]:
        """Return the requests that a call starts."""
        if "request" in call and self.sets.known(call["request"], rank) is None:
            raise GenerateError("it starts different persistent requests by iteration or branch")
        return self.ages(call, rank) or ()

    def complete(self, call: MpiCall, chosen: TaskSet) -> None:
        """Await completion where the call leaves no pending message."""
        free = call.op == "Request_free"
        done = [r for r in chosen.ranks if self.pending.complete(r, self.ages(call, r), free)]
        self.awaited(done, call)

    def awaited(self, ranks: Iterable[int], call: MpiCall | None = None) -> None:
        """Add the statement for ranks that await all their pending messages."""
        if len(done := RankList(ranks)):
            tasks = self.sets.tasks(self.sets.select(done, self.sets.everyone), named=False)
            self.writer.add(t.Await(tasks), self.writer.site(call) if call else "")

    def ages(self, call: MpiCall, rank: int) -> Sequence[int] | None:
        """Return the requests a call names; None for those that differ from call to call: all."""
        if "request" in call:
            age = self.sets.known(call["request"], rank)
            return (0,) if age is None else (age,) if age >= 0 else ()
        index = self.sets.known(call["requests"], rank)
        shape = self.sets.program.shape
        if index is None or (shape and index in shape.arrays):
            return None
        every = tuple(age for age in self.sets.program.arrays[index].values if age != UNDEFINED)
        if "index" not in call:
            return every
        at = self.sets.known(call["index"], rank)
        return every[at : at + 1] if at is not None and at >= 0 else ()

    def channel(self, call: MpiCall, tag: Expr) -> Expr:
        """Return the number that keeps messages of other tags and communicators away."""
        families = sorted({family for family, _ in self.channels})
        if len(families) < 2:
            return tag
        return add(mul(tag, Const(len(families))), Const(families.index(_family(call))))


def _family(call: MpiCall) -> int:
    """Return the number of a call's communicator; -1 where it varies."""
    family = call["comm"] if "comm" in call else Const(0)
    return family.value if isinstance(family, Const) else -1
