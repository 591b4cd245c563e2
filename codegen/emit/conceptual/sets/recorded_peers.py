"""Peers of messages between the ranks of a trace, as formulas of many tasks."""

from __future__ import annotations

from collections.abc import Callable

from scalatrace.codegen.emit.conceptual.common.operations import NO_TASK
from scalatrace.codegen.emit.conceptual.sets.tables import combine, list_combinations
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.program.conditions import RANK, rank_variable
from scalatrace.codegen.program.specialise import Specialiser
from scalatrace.codegen.program.tree import MpiCall
from scalatrace.errors import FormatError
from scalatrace.formula import (
    Binary,
    Choose,
    Const,
    Expr,
    Item,
    Value,
    Var,
    add,
    map_leaves,
    mod,
    names_in,
    number_or,
    numbers_in,
    specials_in,
    xor,
)
from scalatrace.trace.values.ranklist import RankList

__all__ = ["RecordedPeers"]


class RecordedPeers:
    """Finds formulas of peers."""

    def __init__(self, special: Specialiser) -> None:
        self.special, self.trace, self.nprocs = special, special.trace, special.trace.nprocs
        self.everyone = tuple(range(self.nprocs))

    def of(self, call: MpiCall, name: str, ranks: RankList) -> list[tuple[RankList, Expr]]:
        """World ranks of a call's peers: sets of ranks with one rule each; no message is to PROC_NULL."""
        e, family = call[name], call.number("comm")
        seen = {rank: self.special.expr(e, rank) for rank in ranks}
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
        which = self.special.expr(family, rank)
        if not isinstance(which, Const):
            return number_or(combine([which, peer], lambda n, p: self.placed(n, p, rank)), NO_TASK)
        members = self.trace.communicator(which.value, rank).peers
        if members == self.everyone:
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
            return self.trace.communicator(number, rank).peers[peer]
        except (FormatError, IndexError):  # an iteration that there is not
            return NO_TASK

    def is_world(self, family: Expr, rank: int) -> bool:
        which = self.special.expr(family, rank)
        return isinstance(which, Const) and self.trace.communicator(which.value, rank).peers == self.everyone

    def ruled(self, peers: dict[int, int]) -> list[tuple[RankList, Expr]]:
        """Peers by the rule that needs the fewest sets: distance, distance around the ring, exclusive-or."""
        n, rank = self.nprocs, rank_variable(self.nprocs)
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

    def is_own(self, peer: Expr, rank: int) -> bool:
        """Whether a peer can be the rank itself."""
        e = self.special.expr(peer, rank)
        return rank in self.possible(e)

    def is_only_own(self, peer: Expr, rank: int) -> bool:
        """Return whether a peer can only be the rank itself."""
        return self.possible(self.special.expr(peer, rank)) == {rank}

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
            return RANK not in names_in(cond) and _plain(a) and _plain(b)
        case Item(_, index):
            return RANK not in names_in(index) and _plain(index)
    return False
