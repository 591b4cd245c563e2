"""Emit the collectives of a family of communicators, each of which is a set of tasks."""

from __future__ import annotations

from itertools import pairwise

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.emit.conceptual.common import expr_writer as writing
from scalatrace.codegen.emit.conceptual.common.collective_steps import CollectiveSteps
from scalatrace.codegen.emit.conceptual.common.patterns import PATTERNS, divide_bytes, integers, mean
from scalatrace.codegen.emit.conceptual.fixed.sizes import MessageByteSizes
from scalatrace.codegen.emit.conceptual.fixed.tables import combine, list_combinations
from scalatrace.codegen.emit.conceptual.fixed.writer import FixedWriter
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.passes.whatif import SUFFIX
from scalatrace.codegen.program.conditions import RANK
from scalatrace.codegen.program.tree import MpiCall
from scalatrace.formula import Const, Expr, Item, Symbolic, Var, add, div, map_leaves, mod, mul, number
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.values.ranklist import RankList

__all__ = ["CollectiveEmitter"]


class CollectiveEmitter:
    """Adds the statements for collectives."""

    def __init__(self, writer: FixedWriter) -> None:
        self.writer, self.sizes = writer, MessageByteSizes(writer)

    def collective(self, call: MpiCall, ranks: RankList) -> None:
        """Add a collective of each communicator of the family, in one statement where possible."""
        for ranks_of_family, (family,) in self.writer.special.classes([call["comm"]], ranks):
            if not isinstance(family, Const):
                raise GenerateError("its communicator varies between iterations")
            groups: dict[tuple[int, ...], None] = {}
            for rank in ranks_of_family:
                comm = self.writer.trace.communicator(family.value, rank)
                if comm.remote is not None:
                    raise GenerateError("its communicator is an intercommunicator")
                if not RankList(comm.members) <= ranks_of_family:
                    raise GenerateError("not all ranks of its communicator call it at this place")
                groups[tuple(comm.members)] = None
            self.together(call, [members for members in groups if len(members) > 1])

    def together(self, call: MpiCall, groups: list[tuple[int, ...]]) -> None:
        """The collective of each communicator; rows or columns of a grid of equal sizes in one statement."""
        pattern, by_messages = PATTERNS[call.op.removesuffix(SUFFIX)], call.op.endswith(SUFFIX)
        facts = [(self.volume(call, g, pattern.volume), self.root(call, g)) for g in groups]
        sizes = {size for size, _ in facts}
        rule = self.rule(groups) if len(groups) > 1 and len(sizes) == 1 else None
        step = _distance([root for _, root in facts]) if rule is not None else None
        if rule is None or step is None:
            for members, (size, root) in zip(groups, facts, strict=True):
                for kind in pattern.steps:
                    statement = self.step(kind, members, root, size, None, by_messages)
                    self.writer.add(statement, self.writer.site(call))
            return
        row = Var("c", len(groups))
        size, root = facts[0]
        for kind in pattern.steps:
            root_rule = add(mul(row, Const(step)), root)
            statement = self.step(kind, groups[0], root_rule, size, rule, by_messages)
            every = writing.range_to(t.Integer(len(groups) - 1))
            self.writer.add(t.ForEach("c", (every,), statement), self.writer.site(call))

    def rule(self, groups: list[tuple[int, ...]]) -> Expr | None:
        """What is c for the tasks of the c-th group, if all tasks are in one; None for no simple rule."""
        if sum(map(len, groups)) != self.writer.nprocs:
            return None
        rank, n = Var(RANK, self.writer.nprocs), len(groups)
        if all(r // (self.writer.nprocs // n) == c for c, g in enumerate(groups) for r in g):
            return div(rank, self.writer.nprocs // n)
        if all(r % n == c for c, g in enumerate(groups) for r in g):
            return mod(rank, n)
        return None

    def step(
        self,
        step: str,
        members: tuple[int, ...],
        root: Expr,
        size: Expr,
        rule: Expr | None,
        by_messages: bool,
    ) -> t.Statement:
        """Return one statement of a collective; with a rule, the statement of the c-th of many groups."""
        group = RankList(members)
        whole = mul(size, Const(len(members))) if step == "multicast all" else size
        steps = CollectiveSteps(
            self.writer.tasks(group) if rule is None else _in_group(rule, "t"),
            root,
            self.others(group, root, rule),
            self.everyone(group, rule),
            writing.numbers(members),
            whole,
            integers(size),
        )
        if by_messages:
            return steps.messages(step)
        if step == "reduce to each" and rule is not None:
            raise GenerateError("no statement reduces to each task of several communicators")
        return steps.statement(step)

    def everyone(self, group: RankList, rule: Expr | None) -> t.Tasks:
        """Return all of a group as targets of all of it."""
        if rule is not None:
            return _in_group(rule, "u")
        if len(group) == self.writer.nprocs:
            return t.AllOthers()
        return writing.tasks(group, self.writer.nprocs, "u", target=True)

    def others(self, group: RankList, root: Expr, rule: Expr | None) -> t.Tasks:
        """Return all of a group but the root."""
        if rule is None and len(group) == self.writer.nprocs:
            return t.AllOthers()
        if rule is None and isinstance(root, Const):
            return writing.tasks(group - RankList([root.value]), self.writer.nprocs, "u", target=True)
        return writing.without(self.everyone(group, rule), writing.expr(root))

    def root(self, call: MpiCall, members: tuple[int, ...]) -> Expr:
        """The world rank of the root; where the ranks say it by different rules, those of its iterations."""
        if "root" not in call:
            return Const(members[0])
        roots = list(dict.fromkeys(self.writer.special.expr(call["root"], rank) for rank in members))
        symbols = any(isinstance(root, Symbolic) for root in roots)
        if len(roots) > 1 and (symbols or all(isinstance(root, Const) for root in roots)):
            raise GenerateError("the ranks of its communicator give different roots")
        if symbols:
            raise GenerateError("its root is no rank of its communicator")
        if isinstance(roots[0], Const):
            return Const(members[roots[0].value])
        return number(combine(roots[:1], lambda root: members[root]))

    def volume(self, call: MpiCall, members: tuple[int, ...], kind: str) -> Expr:
        """Bytes of one message, the mean where they differ."""
        n = len(members)
        if kind == "nothing":
            return Const(0)
        if kind == "count":
            return self.average(call, members, "count", "datatype")
        if kind == "block":
            return self.average(call, members, "recvcount", "datatype")
        if kind == "blocks":
            return divide_bytes(self.average(call, members, "recvcounts", "datatype"), n)
        if kind == "sent":
            return self.average(call, members, "sendcount", "sendtype")
        if kind == "all received":
            whole = self.average(call, members, "recvcounts", "recvtype")
            return divide_bytes(whole, n)
        return self.average(call, members, "recvcount", "recvtype")

    def average(self, call: MpiCall, members: tuple[int, ...], count: str, datatype: str) -> Expr:
        kinds = {argument.name: argument.kind for argument in call.arguments}
        parts = []
        for rank in members:
            n = self.writer.special.expr(call[count], rank)
            if kinds[count] is Kind.ARRAY:
                n = map_leaves(number(n), self.total)
            kind = self.writer.special.expr(call[datatype], rank)
            if (
                isinstance(kind, Const)
                and self.writer.program_tree.types[kind.value].description == "MPI_DATATYPE_NULL"
            ):
                continue  # in place, or not significant on this rank
            parts.append(self.sizes.nbytes(n, kind))
        return mean(parts) if parts else Const(0)

    def total(self, leaf: Expr) -> Expr:
        """The sum of an array's elements."""
        arrays = self.writer.program_tree.arrays
        if isinstance(leaf, Const):
            return Const(sum(arrays[leaf.value].values))
        if isinstance(leaf, Item):
            return Item(tuple(sum(arrays[i].values) for i in leaf.table), leaf.index)
        limit = [sum(array.values) for array in arrays]
        return Item(tuple(limit), leaf)


def _distance(roots: list[Expr]) -> int | None:
    """How far each root is from the one before, if that is always the same."""
    steps = set()
    for a, b in pairwise(roots):
        try:
            steps |= {y - x for x, y in list_combinations([a, b])[1]}
        except GenerateError:
            return None
    return steps.pop() if len(steps) == 1 else None


def _in_group(rule: Expr, task: str) -> t.Tasks:
    """Return the tasks of the c-th group."""
    return t.SuchThat(task, t.NumberComparison("=", writing.expr(rule, task), t.Variable("c")))
