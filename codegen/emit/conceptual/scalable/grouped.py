"""Collectives of all tasks, or of each row or column of their grid, whatever its size."""

from __future__ import annotations

from scalatrace.codegen.build.algebra import Facts, quotient
from scalatrace.codegen.emit.conceptual import expr_writer as words
from scalatrace.codegen.emit.conceptual.collective_steps import Wording
from scalatrace.codegen.emit.conceptual.collectives import PATTERNS, integers
from scalatrace.codegen.emit.conceptual.scalable.expr_translator import NUM_TASKS, RANK
from scalatrace.codegen.emit.conceptual.scalable.message_emitter import Said
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.expr import Choose, Const, Expr, Var, add, mul, names_in
from scalatrace.codegen.program.tree import Call
from scalatrace.trace.model.tables import Kind

__all__ = ["Grouped"]

GROUP = Var("c", 1 << 31)


class Grouped:
    """Says collectives."""

    def __init__(self, said: Said) -> None:
        self.said = said

    def collective(self, call: Call) -> None:
        """Each step of the collective, by all tasks or by each slice of the grid."""
        pattern = PATTERNS[call.op]
        axes = self.said.tongue.axes(call["comm"])
        members = NUM_TASKS if axes is None else self.side(axes[0])
        size = self.said.tongue.expr(self.volume(call, pattern.volume, members))
        root = self.said.tongue.expr(call["root"]) if "root" in call else Const(0)
        if RANK.name in names_in(size, root):
            raise GenerateError("its size or root differs from task to task")
        for step in pattern.steps:
            whole = mul(members, size) if step == "multicast all" else size
            if axes is None:
                text = self.step(step, "ALL TASKS", "ALL OTHER TASKS", root, whole)
            else:
                text = self.sliced(step, axes[0], root, whole)
            self.said.say(text, self.said.site(call))

    def side(self, axis: int) -> Expr:
        """The length of the grid along a dimension."""
        return self.said.tongue.sides[self.said.shape.sizes[axis]]

    def sliced(self, step: str, axis: int, root: Expr, size: Expr) -> str:
        """A step of all rows, or of all columns, of a grid of two dimensions."""
        tongue = self.said.tongue
        if len(tongue.shape.sizes) != 2:
            raise GenerateError("communicators of lines of a grid have words in two dimensions only")
        other = 1 - axis
        strides = tongue.strides()
        first = add(mul(GROUP, strides[other]), mul(root, strides[axis]))
        place = tongue.coordinate(other)
        who = f"TASKS t SUCH THAT {words.expr(place)} = c"
        targets = f"TASKS u SUCH THAT {words.expr(place, 'u')} = c"
        if step.startswith("multicast"):
            targets += f" /\\ u <> {words.atom(first)}"
        if step == "reduce to each":
            raise GenerateError("reductions to each task of several communicators have no words")
        last = words.expr(add(self.side(other), Const(-1)))
        return f"FOR EACH c IN {{0, ..., {last}}} {self.step(step, who, targets, first, size)}"

    def step(self, step: str, who: str, others: str, root: Expr, size: Expr) -> str:
        """One statement of a collective."""
        wording = Wording(
            who,
            root,
            others,
            everyone=others,
            members=f"0, ..., {words.expr(add(NUM_TASKS, Const(-1)))}",
            nbytes=size,
            integers=_integers(size),
        )
        return wording.statement(step)

    def volume(self, call: Call, kind: str, members: Expr) -> Expr:
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
            n = self.mean(n)
        return self.said.nbytes(n, self.significant(call[datatype]))

    def significant(self, kind: Expr) -> Expr:
        """The datatype where it means something."""
        if isinstance(kind, Choose):
            some = self.significant(kind.then), self.significant(kind.otherwise)
            null = [k for k, e in enumerate(some) if isinstance(e, Const) and self.is_null(e.value)]
            if len(null) == 1:
                return some[1 - null[0]]
        return kind

    def is_null(self, number: int) -> bool:
        """Whether a datatype is none."""
        return number < 0 or self.said.program.types[number].description == "MPI_DATATYPE_NULL"

    def mean(self, index: Expr) -> Expr:
        """The mean of an array's elements, if they are all alike or all numbers."""
        if isinstance(index, Const) and (made := self.said.shape.arrays.get(index.value)) is not None:
            if made.variable.name not in names_in(made.element):
                return made.element
        elif isinstance(index, Const) and (values := self.said.program.arrays[index.value].values):
            return Const(round(sum(values) / len(values)))
        raise GenerateError("the mean of its sizes follows no short rule")


def _integers(nbytes: Expr) -> Expr:
    """As `integers`, of sizes that follow from the grid's sides."""
    if isinstance(nbytes, Const):
        return integers(nbytes)
    return quotient(add(nbytes, Const(3)), Const(4), Facts())
