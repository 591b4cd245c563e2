"""The ranks of a recorded trace (§4.4.2): sets of ranks, and expressions that do not depend on the rank.

Communicators become sets of the ranks of MPI_COMM_WORLD.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.emit.conceptual.common import expr_writer as writing
from scalatrace.codegen.emit.conceptual.common.patterns import PATTERNS, divide_bytes, mean
from scalatrace.codegen.emit.conceptual.sets.recorded_peers import RecordedPeers
from scalatrace.codegen.emit.conceptual.sets.tables import combine, list_combinations
from scalatrace.codegen.emit.conceptual.sets.task_sets import (
    CommunicatorTasks,
    Preamble,
    TaskSet,
    TaskSets,
)
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.passes.whatif import SUFFIX
from scalatrace.codegen.program.conditions import among, rank_variable
from scalatrace.codegen.program.specialise import Specialiser
from scalatrace.codegen.program.tree import BenchmarkProgram, LoopStatement, MpiCall
from scalatrace.formula import (
    FALSE,
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
    number,
)
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import SPECIAL

__all__ = ["RecordedTasks"]

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
        result, left = [], chosen.ranks
        for ranks, seen in self.special.conditions(cond, chosen.ranks):
            result.append((TaskSet(ranks), seen))
            left = left - ranks
        return [*result, (TaskSet(left), FALSE)] if len(left) else result

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
            own = RankList(rank for rank in ranks if apart and self._peers.is_own(e, rank))
            if len(own):
                if not self._peers.is_only_own(e, own.first):
                    self.unsure |= own
                yield TaskSet(own), e, True
            if len(ranks - own):
                yield TaskSet(ranks - own), e, False

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
        pattern = PATTERNS[call.op.removesuffix(SUFFIX)]
        if not pattern.count:
            return Const(0)
        is_array = any(a.name == pattern.count and a.kind is Kind.ARRAY for a in call.arguments)
        parts = []
        for rank in members:
            n = self.special.expr(call[pattern.count], rank)
            if is_array:
                n = map_leaves(number(n), self._total)
            kind = self.special.expr(call[pattern.datatype], rank)
            if isinstance(kind, Const) and self.is_null(kind.value):
                continue  # in place, or not significant on this rank
            parts.append(self.nbytes(n, kind))
        whole = mean(parts) if parts else Const(0)
        return divide_bytes(whole, len(members)) if is_array else whole

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
