"""The ranks of a recorded trace (§4.4.2): sets of ranks, and expressions that do not depend on the rank.

Communicators become sets of the ranks of MPI_COMM_WORLD.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.emit.conceptual.common import expr_writer as writing
from scalatrace.codegen.emit.conceptual.common.operations import NO_TASK
from scalatrace.codegen.emit.conceptual.common.patterns import divide_bytes, mean
from scalatrace.codegen.emit.conceptual.sets.tables import combine, list_combinations
from scalatrace.codegen.emit.conceptual.sets.task_sets import (
    CommunicatorTasks,
    Preamble,
    TaskSet,
    TaskSets,
)
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.passes.whatif import SUFFIX
from scalatrace.codegen.program.conditions import RANK, among, rank_variable
from scalatrace.codegen.program.specialise import Specialiser
from scalatrace.codegen.program.tree import BenchmarkProgram, LoopStatement, MpiCall
from scalatrace.errors import FormatError
from scalatrace.formula import (
    FALSE,
    Binary,
    Choose,
    Cond,
    Const,
    Expr,
    Item,
    Special,
    Symbolic,
    Value,
    Var,
    add,
    div,
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
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import SPECIAL

__all__ = ["RecordedTasks"]


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
        family_number = self.special.expr(family, rank)
        if not isinstance(family_number, Const):
            return number_or(combine([family_number, peer], lambda n, p: self.placed(n, p, rank)), NO_TASK)
        members = self.trace.communicator(family_number.value, rank).peers
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
        index = self.special.expr(family, rank)
        return isinstance(index, Const) and self.trace.communicator(index.value, rank).peers == self.everyone

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


Members = tuple[int, ...]


class RecordedTasks(TaskSets):
    """Sets of the ranks of a trace."""

    def __init__(self, program: BenchmarkProgram) -> None:
        super().__init__(program, RankList.all(program.nprocs))
        self.nprocs = program.nprocs
        self.trace = Trace(program.nprocs, comms=list(program.comms))
        self.special = Specialiser(self.trace)
        self._peers = RecordedPeers(self.special)

    def preamble(self) -> Preamble:
        size = t.NumberComparison("=", t.Variable("num_tasks"), t.Integer(self.nprocs))
        return f"{self.nprocs} tasks", [], [t.Assert(f"this benchmark is for {self.nprocs} tasks", size)]

    def condition(self, chosen: TaskSet) -> Cond:
        return among(chosen.ranks, self.everyone.ranks, self.nprocs)

    def single(self, chosen: TaskSet) -> Expr | None:
        return Const(chosen.ranks.first) if len(chosen.ranks) == 1 else None

    def select(self, ranks: RankList, within: TaskSet) -> TaskSet:
        return TaskSet(ranks)

    def cases(self, cond: Cond, chosen: TaskSet) -> list[tuple[TaskSet, Cond]]:
        cases, remaining = [], chosen.ranks
        for ranks, seen in self.special.conditions(cond, chosen.ranks):
            cases.append((TaskSet(ranks), seen))
            remaining = remaining - ranks
        return [*cases, (TaskSet(remaining), FALSE)] if len(remaining) else cases

    def values(self, exprs: Sequence[Value], chosen: TaskSet) -> list[tuple[TaskSet, tuple[Value, ...]]]:
        return [(TaskSet(ranks), seen) for ranks, seen in self.special.classes(exprs, chosen.ranks)]

    def trip_counts(self, loop: LoopStatement, chosen: TaskSet) -> list[tuple[TaskSet, Expr]]:
        return [(runners, number(times)) for runners, (times,) in self.values([loop.count], chosen)]

    def known(self, e: Value, rank: int) -> int | None:
        seen = self.special.expr(e, rank)
        if isinstance(seen, Special):
            return SPECIAL[seen.name]
        return seen.value if isinstance(seen, Const) else None

    def at(self, e: Expr, task: Expr) -> Expr:
        assert isinstance(task, Const)
        return self.special.expr(e, task.value)

    def tabulate(self, parts: Sequence[Value], of: Callable[..., int]) -> Expr | None:
        return number(combine(parts, of))

    def peers(
        self, call: MpiCall, name: str, chosen: TaskSet, apart: bool
    ) -> Iterator[tuple[TaskSet, Expr, bool]]:
        for ranks, e in self._peers.of(call, name, chosen.ranks):
            own_ranks = RankList(rank for rank in ranks if apart and self._peers.is_own(e, rank))
            if len(own_ranks):
                if not self._peers.is_only_own(e, own_ranks.first):
                    self.unsure |= own_ranks
                yield TaskSet(own_ranks), e, True
            if len(ranks - own_ranks):
                yield TaskSet(ranks - own_ranks), e, False

    def communicators(self, call: MpiCall, chosen: TaskSet) -> Iterator[CommunicatorTasks]:
        for ranks_of_family, (family,) in self.special.classes([call["comm"]], chosen.ranks):
            if not isinstance(family, Const):
                raise GenerateError("its communicator varies between iterations")
            groups: dict[Members, None] = {}
            for rank in ranks_of_family:
                comm = self.trace.communicator(family.value, rank)
                if comm.remote is not None:
                    raise GenerateError("its communicator is an intercommunicator")
                if not RankList(comm.members) <= ranks_of_family:
                    raise GenerateError("not all ranks of its communicator call it at this place")
                groups[tuple(comm.members)] = None
            yield from self._together(call, [members for members in groups if len(members) > 1])

    def _together(self, call: MpiCall, groups: list[Members]) -> Iterator[CommunicatorTasks]:
        """Yield each communicator; rows or columns of a grid of equal sizes together."""
        facts = [(self._volume(call, members), self._root(call, members)) for members in groups]
        rule = self._rule(groups) if len(groups) > 1 and len({size for size, _ in facts}) == 1 else None
        step = _distance([root for _, root in facts]) if rule is not None else None
        if rule is None or step is None:
            for members, (size, root) in zip(groups, facts, strict=True):
                yield CommunicatorTasks(
                    TaskSet(RankList(members)), writing.numbers(members), Const(len(members)), root, size
                )
            return
        members, (size, root) = groups[0], facts[0]
        root = add(mul(Var("c", len(groups)), Const(step)), root)
        last = Const(len(groups) - 1)
        yield CommunicatorTasks(
            self.everyone, writing.numbers(members), Const(len(members)), root, size, rule, last
        )

    def _rule(self, groups: list[Members]) -> Expr | None:
        """What is c for the tasks of the c-th group, if all tasks are in one; None for no simple rule."""
        if sum(map(len, groups)) != self.nprocs:
            return None
        rank, n = rank_variable(self.nprocs), len(groups)
        if all(r // (self.nprocs // n) == c for c, g in enumerate(groups) for r in g):
            return div(rank, self.nprocs // n)
        if all(r % n == c for c, g in enumerate(groups) for r in g):
            return mod(rank, n)
        return None

    def _root(self, call: MpiCall, members: Members) -> Expr:
        """The world rank of the root; where the ranks say it by different rules, those of its iterations."""
        if "root" not in call:
            return Const(members[0])
        roots = list(dict.fromkeys(self.special.expr(call["root"], rank) for rank in members))
        symbols = any(isinstance(root, Symbolic) for root in roots)
        if len(roots) > 1 and (symbols or all(isinstance(root, Const) for root in roots)):
            raise GenerateError("the ranks of its communicator give different roots")
        if symbols:
            raise GenerateError("its root is no rank of its communicator")
        if isinstance(roots[0], Const):
            return Const(members[roots[0].value])
        return number(combine(roots[:1], lambda root: members[root]))

    def _volume(self, call: MpiCall, members: Members) -> Expr:
        """Bytes of one message, the mean where they differ."""
        block = operation(call.op.removesuffix(SUFFIX)).block
        if block is None:
            return Const(0)
        is_array = any(a.name == block.count and a.kind is Kind.ARRAY for a in call.arguments)
        parts = []
        for rank in members:
            n = self.special.expr(call[block.count], rank)
            if is_array:
                n = map_leaves(number(n), self._total)
            kind = self.special.expr(call[block.datatype], rank)
            if isinstance(kind, Const) and self.is_null(kind.value):
                continue  # in place, or not significant on this rank
            parts.append(self.nbytes(n, kind))
        mean_bytes = mean(parts) if parts else Const(0)
        return divide_bytes(mean_bytes, len(members)) if is_array else mean_bytes

    def _total(self, leaf: Expr) -> Expr:
        """The sum of an array's elements."""
        arrays = self.program.arrays
        if isinstance(leaf, Const):
            return Const(sum(arrays[leaf.value].values))
        if isinstance(leaf, Item):
            return Item(tuple(sum(arrays[i].values) for i in leaf.table), leaf.index)
        return Item(tuple(sum(array.values) for array in arrays), leaf)


def _distance(roots: list[Expr]) -> int | None:
    """How far each root is from the one before, if that is always the same."""
    steps = set()
    for a, b in pairwise(roots):
        try:
            steps |= {y - x for x, y in list_combinations([a, b])[1]}
        except GenerateError:
            return None
    return steps.pop() if len(steps) == 1 else None
