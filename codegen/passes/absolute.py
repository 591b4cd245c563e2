"""Ranks of MPI_COMM_WORLD in place of those of the application's communicators (§4.4.2).

Messages go over MPI_COMM_WORLD, told apart by tags where the application told them apart by communicators.
What needs a group of ranks (collectives, windows, files) gets it before the benchmark begins, from tables of
absolute ranks; making and freeing communicators is no part of the benchmark any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from scalatrace.codegen.errors import GenerateError, wrong_call
from scalatrace.codegen.program.conditions import among, rank_variable
from scalatrace.codegen.program.specialise import Specialiser, per_value
from scalatrace.codegen.program.tree import (
    BenchmarkProgram,
    Branch,
    LoopStatement,
    MpiCall,
    ProgramArgument,
    Stmt,
    Subset,
    calls,
)
from scalatrace.codegen.program.values import of_vec
from scalatrace.errors import FormatError, FormulaError
from scalatrace.formula import (
    Binary,
    Choose,
    Const,
    Element,
    Expr,
    Item,
    Lookup,
    Search,
    Select,
    Special,
    Value,
    add,
    map_leaves,
    mod,
    mul,
    number,
    number_or,
    select,
    specials_in,
    xor,
)
from scalatrace.operations import Category, operation
from scalatrace.trace.model.tables import Communicator, Kind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.symbolic.special_values import constant, stored
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import SPECIAL_MAX, UNDEFINED

__all__ = ["absolute_ranks"]

WORLD = Const(0)
PREDEFINED = 3
"""World, self and null have the first numbers."""

MESSAGES = frozenset({
    Category.SEND, Category.RECV, Category.SENDRECV, Category.PERSISTENT, Category.PROBE,
})  # fmt: skip
PEERS = ("dest", "source")
TAGS = ("tag", "sendtag", "recvtag")


def absolute_ranks(program: BenchmarkProgram) -> BenchmarkProgram:
    """The same program without the application's communicators.

    Raises:
        GenerateError: intercommunicators' collectives, topologies' collectives, communicators made while
            other calls go on, and receives of any tag beside other communicators need what is taken away.
    """
    return _AbsoluteRanks(program).program()


class _AbsoluteRanks:
    def __init__(self, before: BenchmarkProgram) -> None:
        self.before, self.nprocs = before, before.nprocs
        self.trace = Trace(before.nprocs, comms=list(before.comms))
        self.special = Specialiser(self.trace)
        self.rank = rank_variable(before.nprocs)
        self.everyone = tuple(range(before.nprocs))
        self.channels = sorted(self.families(c["comm"] for c in calls(before.body) if _is_message(c)))
        self.wanted: set[int] = set()

    def program(self) -> BenchmarkProgram:
        body = self.body(self.before.body)
        subsets = tuple(self.subset(number) for number in sorted(self.wanted) if number >= PREDEFINED)
        return replace(self.before, body=body, subsets=subsets)

    def body(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        stmts: list[Stmt] = []
        for stmt in body:
            match stmt:
                case MpiCall():
                    try:
                        stmts += self.call(stmt)
                    except (GenerateError, FormulaError) as error:
                        raise wrong_call(stmt.op, stmt.site, error) from None
                case LoopStatement():
                    stmts.append(replace(stmt, body=self.body(stmt.body)))
                case Branch():
                    then, otherwise = self.body(stmt.then), self.body(stmt.otherwise)
                    stmts.append(replace(stmt, then=then, otherwise=otherwise))
                case _:
                    stmts.append(stmt)
        return tuple(stmts)

    def call(self, call: MpiCall) -> list[MpiCall]:
        category = operation(call.op).category
        if category is Category.COMMUNICATOR:
            if operation(call.op).nonblocking:
                raise GenerateError("absolute ranks leave no place for a communicator in the making")
            return []
        if _is_message(call):
            return [replace(call, arguments=tuple(self.message(call, a) for a in call.arguments))]
        if category is Category.NEIGHBOUR:
            raise GenerateError("its neighbours are those of a topology, which absolute ranks do without")
        if "comm" in call and not call.dropped:
            families = self.families([call["comm"]])
            if any(self.before.comms[n].remote_sizes is not None for n in families):
                raise GenerateError("a collective of an intercommunicator has no absolute ranks")
            self.wanted |= families
        return [call]

    def message(self, call: MpiCall, a: ProgramArgument) -> ProgramArgument:
        family = call.number("comm")
        if a.kind is Kind.COMM:
            return replace(a, value=WORLD)
        if a.name in PEERS:
            return replace(a, value=self.world(a.value, family))
        if a.name in TAGS and len(self.channels) > 1:
            return replace(a, value=self.tag(a.value, family))
        return a

    def families(self, exprs: Iterable[Value]) -> set[int]:
        """The communicators that expressions can mean, on any rank."""
        families: set[int] = set()

        def note(n: int) -> int:
            families.add(n)
            return n

        for e in set(exprs):
            for rank in range(self.nprocs):
                per_value(number_or(self.special.expr(e, rank), -1), note)
        return {n for n in families if n >= 0}

    def tag(self, tag: Value, family: Expr) -> Expr:
        """A tag that no other communicator's messages have."""
        if "ANY_TAG" in specials_in(tag):
            raise GenerateError("a receive of any tag would take messages of other communicators")
        place = per_value(family, self.channels.index)
        return add(mul(number(tag), Const(len(self.channels))), place)

    def world(self, peer: Value, family: Expr) -> Value:
        """The rank in MPI_COMM_WORLD of a peer."""
        if family == WORLD:
            return peer
        seen = dict(self.seen(peer, family))
        numbers = {rank: n for rank, e in seen.items() if (n := stored(e)) is not None}
        if seen and len(numbers) == len(seen):
            return self.ruled(numbers)
        return self.looked_up(peer, family, tuple(seen))

    def seen(self, peer: Value, family: Expr) -> Iterable[tuple[int, Value]]:
        """Each rank's peer as a world rank, as far as the rank has the communicator."""
        for rank in range(self.nprocs):
            try:
                peer_rank, family_number = self.special.expr(peer, rank), self.special.expr(family, rank)
                yield rank, self.of_rank(peer_rank, family_number, rank)
            except (FormatError, IndexError):
                continue  # a rank that does not come here

    def of_rank(self, peer: Value, family_number: Expr, rank: int) -> Value:
        if isinstance(peer, Special):
            return peer
        if not isinstance(family_number, Const):
            if not isinstance(peer, Const):
                raise GenerateError("peer and communicator both vary from iteration to iteration")
            place = peer.value
            return per_value(family_number, lambda n: self.trace.communicator(n, rank).peers[place])
        members = self.trace.communicator(family_number.value, rank).peers
        return Const(members[peer.value]) if isinstance(peer, Const) else peer

    def ruled(self, peers: dict[int, int]) -> Value:
        """One value for each rank, by the shortest rule."""
        odd: dict[int, list[int]] = {}
        for rank, peer in peers.items():
            if peer < SPECIAL_MAX:
                odd.setdefault(peer, []).append(rank)
        plain = {rank: peer for rank, peer in peers.items() if peer >= SPECIAL_MAX}
        e: Value = self.plain(plain) if plain else constant(next(iter(odd)))
        for value, ranks in odd.items():
            e = select(among(RankList(ranks), RankList(peers), self.nprocs), constant(value), e)
        return e

    def plain(self, peers: dict[int, int]) -> Expr:
        n, rank = self.nprocs, self.rank
        rules: list[tuple[Callable[[int, int], int], Callable[[Expr], Expr]]] = [
            (lambda r, p: p - r, lambda e: add(rank, e)),
            (lambda r, p: (p - r) % n, lambda e: mod(add(rank, e), n)),
            (lambda r, p: p ^ r, lambda e: xor(rank, e)),
            (lambda r, p: p, lambda e: e),
        ]
        result = [back(self.of_ranks({r: key(r, p) for r, p in peers.items()})) for key, back in rules]
        return min(result, key=lambda e: len(str(e)))

    def of_ranks(self, values: dict[int, int]) -> Expr:
        """A number for each rank; those of others are the most frequent."""
        usual = Counter(values.values()).most_common(1)[0][0]
        return number(of_vec(vec_of([values.get(r, usual) for r in range(self.nprocs)]), self.rank))

    def looked_up(self, peer: Value, family: Expr, ranks: tuple[int, ...]) -> Value:
        """A table with a row of members for each rank."""
        if not isinstance(family, Const):
            raise GenerateError("peer and communicator both vary from iteration to iteration")
        rows = {rank: self.trace.communicator(family.value, rank) for rank in ranks}
        local = self.local(peer, rows)
        if all(comm.peers == self.everyone for comm in rows.values()):
            return local
        width = max(len(comm.peers) for comm in rows.values())
        table: list[int] = []
        for rank in range(self.nprocs):
            members = rows[rank].peers if rank in rows else ()
            table += [*members, *[0] * (width - len(members))]

        def leaf(e: Expr) -> Expr:
            return Item(tuple(table), add(mul(self.rank, Const(width)), e))

        return map_leaves(local, leaf)

    def local(self, peer: Value, rows: dict[int, Communicator]) -> Value:
        """A peer within its communicator, with the own rank and size as numbers."""
        match peer:
            case Special():
                return peer
            case Select(cond, a, b):
                return Select(cond, self.local(a, rows), self.local(b, rows))
            case Lookup(table, index):
                return Lookup(table, self.local_expr(index, rows))
        return self.local_expr(peer, rows)

    def local_expr(self, peer: Expr, rows: dict[int, Communicator]) -> Expr:
        """The same for a peer that is always a rank."""
        match peer:
            case Element("own"):
                return self.of_ranks({rank: comm.rank for rank, comm in rows.items()})
            case Element("size"):
                return self.of_ranks({rank: len(comm.peers) for rank, comm in rows.items()})
            case Binary(op, a, b):
                return Binary(op, self.local_expr(a, rows), self.local_expr(b, rows))
            case Choose(cond, a, b):
                return Choose(cond, self.local_expr(a, rows), self.local_expr(b, rows))
            case Item(table, index):
                return Item(table, self.local_expr(index, rows))
            case Search(table, index):
                return Search(table, self.local_expr(index, rows))
        return peer

    def subset(self, number: int) -> Subset:
        """How the ranks of a family find together: first member and place, by rank."""
        color, key = {}, {}
        for rank in range(self.nprocs):
            try:
                comm = self.trace.communicator(number, rank)
            except FormatError:
                comm = None
            is_member = comm is not None and rank in comm.members
            color[rank] = comm.members[0] if comm is not None and is_member else UNDEFINED
            key[rank] = comm.rank if comm is not None and is_member else 0
        colored = {rank: c for rank, c in color.items() if c != UNDEFINED}
        outside = RankList(rank for rank, c in color.items() if c == UNDEFINED)
        who = among(outside, RankList.all(self.nprocs), self.nprocs)
        e = self.of_ranks(colored)
        return Subset(number, select(who, Special("UNDEFINED"), e) if len(outside) else e, self.of_ranks(key))


def _is_message(call: MpiCall) -> bool:
    return operation(call.op).category in MESSAGES and "comm" in call
