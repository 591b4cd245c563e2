"""Emit collectives of all tasks, or of each row or column of their grid, for any size of the grid."""

from __future__ import annotations

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.emit.conceptual.common import expr_writer as writing
from scalatrace.codegen.emit.conceptual.common.collective_steps import CollectiveSteps
from scalatrace.codegen.emit.conceptual.common.patterns import PATTERNS, integers
from scalatrace.codegen.emit.conceptual.scalable.expr_translator import NUM_TASKS, RANK
from scalatrace.codegen.emit.conceptual.scalable.messages import ScalableMessageEmitter
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.program.tree import MpiCall
from scalatrace.formula import Choose, Const, Expr, Var, add, mul, names_in, number, number_or
from scalatrace.formula.domain import Domain
from scalatrace.formula.polynomials import quotient
from scalatrace.trace.model.tables import Kind

__all__ = ["ScalableCollectiveEmitter"]

GROUP = Var("c", 1 << 31)


class ScalableCollectiveEmitter:
    """Adds the statements for collectives."""

    def __init__(self, writer: ScalableMessageEmitter) -> None:
        self.writer = writer

    def collective(self, call: MpiCall) -> None:
        """Each step of the collective, by all tasks or by each slice of the grid."""
        pattern = PATTERNS[call.op]
        axes = self.writer.translator.axes(call.number("comm"))
        members = NUM_TASKS if axes is None else self.side(axes[0])
        size = self.writer.translator.expr(self.volume(call, pattern.volume, members))
        root = self.writer.translator.expr(call.number("root")) if "root" in call else Const(0)
        if RANK.name in names_in(size, root):
            raise GenerateError("its size or root differs from task to task")
        for step in pattern.steps:
            whole = mul(members, size) if step == "multicast all" else size
            if axes is None:
                statement = self.step(step, t.AllTasks(), t.AllOthers(), root, whole)
            else:
                statement = self.sliced(step, axes[0], root, whole)
            self.writer.add(statement, self.writer.site(call))

    def side(self, axis: int) -> Expr:
        """The length of the grid along a dimension."""
        return self.writer.translator.sides[self.writer.shape.sizes[axis]]

    def sliced(self, step: str, axis: int, root: Expr, size: Expr) -> t.Statement:
        """Return a step of all rows, or of all columns, of a grid of two dimensions."""
        translator = self.writer.translator
        if len(translator.shape.sizes) != 2:
            raise GenerateError("its communicator is a line of a grid of more than two dimensions")
        cross_axis = 1 - axis
        strides = translator.strides()
        first = add(mul(GROUP, strides[cross_axis]), mul(root, strides[axis]))
        place = translator.coordinate(cross_axis)
        group = t.Variable(GROUP.name)
        tasks = t.SuchThat("t", t.NumberComparison("=", writing.expr(place), group))
        targets: t.Tasks = t.SuchThat("u", t.NumberComparison("=", writing.expr(place, "u"), group))
        if step.startswith("multicast"):
            targets = writing.without(targets, writing.expr(first))
        if step == "reduce to each":
            raise GenerateError("no statement reduces to each task of several communicators")
        last = writing.expr(add(self.side(cross_axis), Const(-1)))
        each = self.step(step, tasks, targets, first, size)
        return t.ForEach(GROUP.name, (writing.range_to(last),), each)

    def step(self, step: str, tasks: t.Tasks, others: t.Tasks, root: Expr, size: Expr) -> t.Statement:
        """Return one statement of a collective."""
        members = writing.range_to(writing.expr(add(NUM_TASKS, Const(-1))))
        return CollectiveSteps(tasks, root, others, others, members, size, _integers(size)).statement(step)

    def volume(self, call: MpiCall, kind: str, members: Expr) -> Expr:
        """Bytes of one message."""
        names = {
            "count": ("count", "datatype"), "block": ("recvcount", "datatype"),
            "blocks": ("recvcounts", "datatype"), "sent": ("sendcount", "sendtype"),
            "received": ("recvcount", "recvtype"), "all received": ("recvcounts", "recvtype"),
        }  # fmt: skip
        if kind == "nothing":
            return Const(0)
        count, datatype = names[kind]
        n = call[count]
        if next(a.kind for a in call.arguments if a.name == count) is Kind.ARRAY:
            n = self.mean(number(n))
        return self.writer.nbytes(n, self.significant(number_or(call[datatype], -1)))

    def significant(self, kind: Expr) -> Expr:
        """The datatype where it means something."""
        if isinstance(kind, Choose):
            then_significant = self.significant(kind.then), self.significant(kind.otherwise)
            null = [
                k for k, e in enumerate(then_significant) if isinstance(e, Const) and self.is_null(e.value)
            ]
            if len(null) == 1:
                return then_significant[1 - null[0]]
        return kind

    def is_null(self, number: int) -> bool:
        """Whether a datatype is none."""
        return number < 0 or self.writer.program_tree.types[number].description == "MPI_DATATYPE_NULL"

    def mean(self, index: Expr) -> Expr:
        """Return the mean of an array's elements, if they are all equal or all numbers."""
        if isinstance(index, Const) and (rule := self.writer.shape.arrays.get(index.value)) is not None:
            if rule.variable.name not in names_in(rule.element):
                return number(rule.element)
        elif isinstance(index, Const) and (values := self.writer.program_tree.arrays[index.value].values):
            return Const(round(sum(values) / len(values)))
        raise GenerateError("the mean of its sizes has no closed formula")


def _integers(nbytes: Expr) -> Expr:
    """As `integers`, of sizes that follow from the grid's sides."""
    if isinstance(nbytes, Const):
        return integers(nbytes)
    return quotient(add(nbytes, Const(3)), Const(4), Domain())
