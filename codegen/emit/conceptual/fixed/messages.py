"""Emit messages between ranks, and the statements that await them.

Sends are to unsuspecting tasks, and receives stand where the application posted them, so each task keeps the
order of its calls.
"""

from __future__ import annotations

from collections.abc import Sequence

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.emit.conceptual.common import expr_writer as writing
from scalatrace.codegen.emit.conceptual.common.operations import PROBES
from scalatrace.codegen.emit.conceptual.common.pending import EmittedRequest, Pending
from scalatrace.codegen.emit.conceptual.common.transfer import transfer
from scalatrace.codegen.emit.conceptual.fixed.peers import FixedPeers
from scalatrace.codegen.emit.conceptual.fixed.sizes import Sizes
from scalatrace.codegen.emit.conceptual.fixed.writer import FixedWriter
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.program.conditions import RANK
from scalatrace.codegen.program.tree import MpiCall, calls
from scalatrace.formula import Const, Expr, Special, Value, add, mul, names_in, number
from scalatrace.operations import operation
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import UNDEFINED

__all__ = ["MessageEmitter"]

Names = tuple[str, str, str, str]
"""How a call names count, datatype, peer and tag."""


class MessageEmitter:
    """Adds the statements for point-to-point calls."""

    def __init__(self, writer: FixedWriter) -> None:
        self.writer, self.sizes, self.peers = writer, Sizes(writer), FixedPeers(writer)
        self.pending = Pending(writer.everyone)
        self.probed: dict[int, MpiCall] = {}
        self.unsure = RankList()  # who sends without waiting what may be to itself, and may not
        self.channels = self._channels()

    def _channels(self) -> dict[tuple[int, Value], None]:
        """Return the communicators and tags that distinguish messages."""
        result: dict[tuple[int, Value], None] = {}
        for call in calls(self.writer.program_tree.body):
            for name in ("tag", "sendtag", "recvtag"):
                if name in call and call.op not in PROBES:
                    family = call["comm"] if "comm" in call else Const(0)
                    result[family.value if isinstance(family, Const) else -1, call[name]] = None
        return result

    @property
    def tagged(self) -> bool:
        """Whether tags tell messages apart: not when there is one only, nor when receives take any."""
        return len(self.channels) > 1 and all(tag != Special("ANY_TAG") for _, tag in self.channels)

    def message(self, call: MpiCall, ranks: RankList, sends: bool, later: bool) -> None:
        """Add `TASKS t SUCH THAT t < 3 SEND A 800 BYTE MESSAGE TO UNSUSPECTING TASK (t + 1)`."""
        peer = "dest" if sends else "source"
        self.transfer(call, ranks, sends, later, ("count", "datatype", peer, "tag"))
        if later:
            self.pending.make(ranks, EmittedRequest())

    def transfer(self, call: MpiCall, ranks: RankList, sends: bool, later: bool, names: Names) -> None:
        count, datatype, peer, tag = names
        tagged = self.tagged and tag in call
        known = [call[count], call[datatype], call[tag] if tagged else Const(0)]
        for some, (n, kind, value) in self.writer.special.classes(known, ranks):
            nbytes = self.sizes.nbytes(n, kind)
            for those, other in self.peers.split(self.peers.of(call, peer, some), sends and not later):
                own = sends and not later and self.peers.is_own(other, those.first)
                if own and not self.peers.is_only_own(other, those.first):
                    self.unsure |= those
                named = RANK in names_in(other)
                actors = writing.tasks(those, self.writer.nprocs, named=named, target=not sends)
                at = self.writer.special.expr(other, those.first) if len(those) == 1 else other
                tag_used = writing.expr(self.channel(call, number(value))) if self.tagged else None
                statement = transfer(
                    sends, actors, writing.expr(nbytes), tag_used, writing.expr(at), later or own
                )
                self.writer.add(statement, self.writer.site(call))

    def receive(self, call: MpiCall, ranks: RankList) -> None:
        """A receive; one of a matched message is from where the probe found it."""
        if call.op in ("Recv", "Irecv"):
            self.message(call, ranks, False, call.op == "Irecv")
            return
        probes: dict[int, tuple[MpiCall, list[int]]] = {}
        for rank in ranks:
            if rank not in self.probed:
                raise GenerateError("no probe matched its message before")
            probe = self.probed[rank]
            probes.setdefault(id(probe), (probe, []))[1].append(rank)
        for probe, some in probes.values():
            names = {argument.name for argument in call.arguments}
            more = tuple(a for a in probe.arguments if a.name not in names)
            joined = MpiCall(call.op, (*call.arguments, *more), call.site)
            self.message(joined, RankList(some), False, call.op == "Imrecv")

    def exchange(self, call: MpiCall, ranks: RankList) -> None:
        """Add both messages of MPI_Sendrecv; await them where nothing else is pending."""
        if call.op == "Sendrecv":
            out, back = (
                ("sendcount", "sendtype", "dest", "sendtag"),
                ("recvcount", "recvtype", "source", "recvtag"),
            )
        else:
            out, back = ("count", "datatype", "dest", "sendtag"), ("count", "datatype", "source", "recvtag")
        self.transfer(call, ranks, False, True, back)
        self.transfer(call, ranks, True, True, out)
        self.pending.make(ranks, EmittedRequest())
        self.awaited(RankList(rank for rank in ranks if self.pending.complete(rank, (0,))), call)

    def prepare(self, call: MpiCall, ranks: RankList) -> None:
        """A persistent request is made: nothing is sent yet."""
        self.pending.make(ranks, EmittedRequest(call, False))

    def leave_out(self, call: MpiCall, ranks: RankList) -> None:
        """Keep the request of a call that is left out; no message is pending for it."""
        if operation(call.op).makes_request:
            self.pending.make(ranks, EmittedRequest(call if operation(call.op).flow_later else None, False))

    def probe(self, call: MpiCall, ranks: RankList) -> None:
        """A probe waits for nothing that the receive does not wait for; its source is kept for that."""
        self.probed.update(dict.fromkeys(ranks, call))

    def start(self, call: MpiCall, ranks: RankList) -> None:
        """A persistent request's message."""
        started: dict[MpiCall, list[int]] = {}
        for rank in ranks:
            for made in self.pending.start(rank, self.started_ages(call, rank)):
                if not made.dropped:
                    started.setdefault(made, []).append(rank)
        for made, some in started.items():
            self.transfer(
                made,
                RankList(some),
                made.op != "Recv_init",
                True,
                ("count", "datatype", "source" if made.op == "Recv_init" else "dest", "tag"),
            )

    def started_ages(self, call: MpiCall, rank: int) -> Sequence[int]:
        """The requests that a call starts."""
        if "request" in call and not isinstance(
            self.writer.special.expr(call["request"], rank), Const | Special
        ):
            raise GenerateError("it starts different persistent requests by iteration or branch")
        return self.ages(call, rank) or ()

    def complete(self, call: MpiCall, ranks: RankList) -> None:
        """Await completion where the call leaves no pending message."""
        free = call.op == "Request_free"
        done = [rank for rank in ranks if self.pending.complete(rank, self.ages(call, rank), free)]
        self.awaited(RankList(done), call)

    def awaited(self, ranks: RankList, call: MpiCall) -> None:
        if len(ranks):
            self.writer.add(t.Await(self.writer.tasks(ranks)), self.writer.site(call))

    def ages(self, call: MpiCall, rank: int) -> Sequence[int] | None:
        """The requests a call names; None for those that differ from call to call: all."""
        if "request" in call:
            age = self.writer.special.expr(call["request"], rank)
            if isinstance(age, Special):
                return ()
            return (age.value,) if isinstance(age, Const) else (0,)
        index = self.writer.special.expr(call["requests"], rank)
        if not isinstance(index, Const):
            return None
        every = tuple(age for age in self.writer.program_tree.arrays[index.value].values if age != UNDEFINED)
        if "index" not in call:
            return every
        one = self.writer.special.expr(call["index"], rank)
        return every[one.value : one.value + 1] if isinstance(one, Const) and one.value >= 0 else ()

    def channel(self, call: MpiCall, tag: Expr) -> Expr:
        """The number that keeps messages of other tags and communicators away."""
        families = sorted({family for family, _ in self.channels})
        family = call["comm"] if "comm" in call else Const(0)
        place = families.index(family.value if isinstance(family, Const) else -1)
        return add(mul(tag, Const(len(families))), Const(place)) if len(families) > 1 else tag
