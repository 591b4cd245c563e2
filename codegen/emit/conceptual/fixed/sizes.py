"""Sizes of messages in bytes, from elements and datatypes."""

from __future__ import annotations

from scalatrace.codegen.emit.conceptual.fixed.tables import combine
from scalatrace.codegen.emit.conceptual.fixed.writer import FixedWriter
from scalatrace.codegen.program.specialise import per_value
from scalatrace.formula import (
    Choose,
    Const,
    Expr,
    Item,
    Select,
    Special,
    Value,
    choose,
    map_leaves,
    mul,
    number,
    number_or,
)

__all__ = ["MessageByteSizes"]


class MessageByteSizes:
    """Works out sizes."""

    def __init__(self, writer: FixedWriter) -> None:
        self.writer = writer

    def nbytes(self, n: Value, kind: Value) -> Expr:
        """The size of so many elements of a datatype, both as one rank sees them; symbols are nothing."""
        sizes = tuple(t.size for t in self.writer.program_tree.types)
        if isinstance(n, Special) or isinstance(kind, Special):
            return Const(0)
        if isinstance(kind, Choose | Select):
            if not isinstance(n, Const):  # the two go together, and each alone may be what never comes
                return number(combine([n, kind], lambda a, b: max(0, a) * (sizes[b] if b >= 0 else 0)))
            return choose(kind.cond, self.nbytes(n, kind.then), self.nbytes(n, kind.otherwise))
        size = per_value(number_or(kind, -1), lambda i: sizes[i] if i >= 0 else 0)
        if isinstance(size, Const):
            return self.scaled(n, size.value)
        if isinstance(n, Const) and isinstance(size, Item):
            n = Item((n.value,) * len(size.table), size.index)
        if isinstance(size, Item) and isinstance(n, Item) and n.index == size.index:
            pairs = zip(n.table, size.table, strict=False)  # an index is within both: the rest never comes
            return Item(tuple(max(0, a) * b for a, b in pairs), n.index)
        return number(combine([n, size], lambda a, b: max(0, a) * b))

    def scaled(self, n: Value, size: int) -> Expr:
        """So many elements in bytes; symbols are none."""

        def leaf(e: Expr) -> Expr:
            if isinstance(e, Const):
                return Const(max(0, e.value) * size)
            if isinstance(e, Item):
                return Item(tuple(max(0, v) * size for v in e.table), e.index)
            return mul(e, Const(size))

        return map_leaves(number_or(n, 0), leaf)
