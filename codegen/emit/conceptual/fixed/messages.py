"""Emit messages between ranks, whose peers are formulas for many tasks, and the statements that await them.

Sends are to unsuspecting tasks, and receives stand where the application posted them, so each task keeps the
order of its calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.emit.conceptual.common import expr_writer as writing
from scalatrace.codegen.emit.conceptual.common.operations import NO_TASK, PROBES, ParameterNames
from scalatrace.codegen.emit.conceptual.common.pending import EmittedRequest, PendingRequests
from scalatrace.codegen.emit.conceptual.common.statement_writer import transfer
from scalatrace.codegen.emit.conceptual.fixed.sizes import MessageByteSizes
from scalatrace.codegen.emit.conceptual.fixed.tables import combine, list_combinations
from scalatrace.codegen.emit.conceptual.fixed.writer import FixedWriter
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.program.conditions import RANK
from scalatrace.codegen.program.tree import MpiCall, calls
from scalatrace.errors import FormatError
from scalatrace.formula import (
    Binary,
    Choose,
    Const,
    Expr,
    Item,
    Special,
    Value,
    Var,
    add,
    map_leaves,
    mod,
    mul,
    names_in,
    number,
    number_or,
    numbers_in,
    specials_in,
    xor,
)
from scalatrace.operations import operation
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import UNDEFINED

__all__ = ["MessageEmitter"]


class FixedPeers:
    """Finds formulas of peers."""

    def __init__(self, writer: FixedWriter) -> None:
        self.writer = writer

    def of(self, call: MpiCall, name: str, ranks: RankList) -> list[tuple[RankList, Expr]]:
        """World ranks of a call's peers: sets of ranks with one rule each; no message is to PROC_NULL."""
        e, family = call[name], call.number("comm")
        seen = {rank: self.writer.special.expr(e, rank) for rank in ranks}
        if any("ANY_SOURCE" in specials_in(p) for p in seen.values()):
            raise GenerateError("it receives from any source")
        world = {rank: self.world(number_or(p, NO_TASK), family, rank) for rank, p in seen.items()}
        world = {rank: p for rank, p in world.items() if p != Const(NO_TASK)}
        if all(isinstance(p, Const) for p in world.values()):
            return self.ruled({rank: p.value for rank, p in world.items() if isinstance(p, Const)})
        if all(self.is_world(family, rank) for rank in ranks) and _plain(e):
            return [(ranks, number_or(e, NO_TASK))]
        groups: dict[Expr, list[int]] = {}
        for rank, p in world.items():
            groups.setdefault(p, []).append(rank)
        return [(RankList(members), p) for p, members in groups.items()]

    def world(self, peer: Expr, family: Expr, rank: int) -> Expr:
        """The world rank (in loop variables) of a peer of a rank."""
        which = self.writer.special.expr(family, rank)
        if not isinstance(which, Const):
            return number_or(combine([which, peer], lambda n, p: self.placed(n, p, rank)), NO_TASK)
        members = self.writer.trace.communicator(which.value, rank).peers
        if members == tuple(self.writer.everyone):
            return peer

        def leaf(p: Expr) -> Expr:
            if isinstance(p, Const):
                return p if p.value == NO_TASK else Const(members[p.value])
            if isinstance(p, Item):
                return Item(tuple(v if v == NO_TASK else members[v] for v in p.table), p.index)
            return Item(tuple(members), p)

        return map_leaves(peer, leaf)

    def placed(self, number: int, peer: int, rank: int) -> int:
        """The world rank of a peer in a communicator; NO_TASK stays."""
        if peer == NO_TASK:
            return peer
        try:
            return self.writer.trace.communicator(number, rank).peers[peer]
        except (FormatError, IndexError):  # an iteration that there is not
            return NO_TASK

    def is_world(self, family: Expr, rank: int) -> bool:
        which = self.writer.special.expr(family, rank)
        return isinstance(which, Const) and self.writer.trace.communicator(which.value, rank).peers == tuple(
            self.writer.everyone
        )

    def ruled(self, peers: dict[int, int]) -> list[tuple[RankList, Expr]]:
        """Peers by the rule that needs the fewest sets: distance, distance around the ring, exclusive-or."""
        n, rank = self.writer.nprocs, Var("rank", self.writer.nprocs)
        keys = {
            "absolute": peers,
            "relative": {r: p - r for r, p in peers.items()},
            "modulo": {r: (p - r) % n for r, p in peers.items()},
            "xor": {r: p ^ r for r, p in peers.items()},
        }
        best = min(keys, key=lambda name: len(set(keys[name].values())))
        groups: dict[int, list[int]] = {}
        for r, key in keys[best].items():
            groups.setdefault(key, []).append(r)
        rules: dict[str, Callable[[int], Expr]] = {
            "absolute": Const,
            "relative": lambda k: add(rank, Const(k)),
            "modulo": lambda k: mod(add(rank, Const(k)), n),
            "xor": lambda k: xor(rank, Const(k)),
        }
        return [(RankList(members), rules[best](key)) for key, members in groups.items()]

    def split(self, peers: list[tuple[RankList, Expr]], apart: bool) -> list[tuple[RankList, Expr]]:
        """Blocking sends of tasks to themselves apart from others: the language wants them asynchronous.

        Nothing more is to be awaited for them, as the receive was posted before and is awaited behind.
        """
        result = []
        for ranks, e in peers:
            self_senders = RankList(rank for rank in ranks if apart and self.is_own(e, rank))
            result += [(members, e) for members in (self_senders, ranks - self_senders) if len(members)]
        return result

    def is_own(self, peer: Expr, rank: int) -> bool:
        """Whether a peer can be the rank itself."""
        e = self.writer.special.expr(peer, rank)
        return rank in self.possible(e)

    def is_only_own(self, peer: Expr, rank: int) -> bool:
        """Return whether a peer can only be the rank itself."""
        return self.possible(self.writer.special.expr(peer, rank)) == {rank}

    def possible(self, e: Expr) -> set[int]:
        """Return possible values of an expression; over-approximation: includes iterations that never run."""
        try:
            return {value for (value,) in list_combinations([e])[1]}
        except GenerateError:
            return numbers_in(e, operands=True)


def _plain(e: Value) -> bool:
    """Return whether a task variable can stand for the rank: no condition or table depends on the rank."""
    match e:
        case Const() | Var():
            return True
        case Binary(_, a, b):
            return _plain(a) and _plain(b)
        case Choose(cond, a, b):
            return "rank" not in names_in(cond) and _plain(a) and _plain(b)
        case Item(_, index):
            return "rank" not in names_in(index) and _plain(index)
    return False


class MessageEmitter:
    """Adds the statements for point-to-point calls."""

    def __init__(self, writer: FixedWriter) -> None:
        self.writer, self.sizes, self.peers = writer, MessageByteSizes(writer), FixedPeers(writer)
        self.pending = PendingRequests(writer.everyone)
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

    def transfer(
        self, call: MpiCall, ranks: RankList, sends: bool, later: bool, names: ParameterNames
    ) -> None:
        count, datatype, peer, tag = names
        tagged = self.tagged and tag in call
        known = [call[count], call[datatype], call[tag] if tagged else Const(0)]
        for members, (n, kind, value) in self.writer.special.classes(known, ranks):
            nbytes = self.sizes.nbytes(n, kind)
            for those, peer_expr in self.peers.split(self.peers.of(call, peer, members), sends and not later):
                to_self = sends and not later and self.peers.is_own(peer_expr, those.first)
                if to_self and not self.peers.is_only_own(peer_expr, those.first):
                    self.unsure |= those
                named = RANK in names_in(peer_expr)
                actors = writing.tasks(those, self.writer.nprocs, named=named, target=not sends)
                at = self.writer.special.expr(peer_expr, those.first) if len(those) == 1 else peer_expr
                tag_used = writing.expr(self.channel(call, number(value))) if self.tagged else None
                statement = transfer(
                    sends, actors, writing.expr(nbytes), tag_used, writing.expr(at), later or to_self
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
        for probe, members in probes.values():
            names = {argument.name for argument in call.arguments}
            more = tuple(a for a in probe.arguments if a.name not in names)
            joined = MpiCall(call.op, (*call.arguments, *more), call.site)
            self.message(joined, RankList(members), False, call.op == "Imrecv")

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
            for request in self.pending.start(rank, self.started_ages(call, rank)):
                if not request.dropped:
                    started.setdefault(request, []).append(rank)
        for request, members in started.items():
            self.transfer(
                request,
                RankList(members),
                request.op != "Recv_init",
                True,
                ("count", "datatype", "source" if request.op == "Recv_init" else "dest", "tag"),
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
        single_index = self.writer.special.expr(call["index"], rank)
        return (
            every[single_index.value : single_index.value + 1]
            if isinstance(single_index, Const) and single_index.value >= 0
            else ()
        )

    def channel(self, call: MpiCall, tag: Expr) -> Expr:
        """The number that keeps messages of other tags and communicators away."""
        families = sorted({family for family, _ in self.channels})
        family = call["comm"] if "comm" in call else Const(0)
        place = families.index(family.value if isinstance(family, Const) else -1)
        return add(mul(tag, Const(len(families))), Const(place)) if len(families) > 1 else tag
