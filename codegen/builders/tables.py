"""What ARRAY, TYPE and STRING parameters of a symbolic trace refer to: entries, each with a number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from scalatrace.codegen.builders.vectors import at, prefix, row
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.program.grid_shape import Array
from scalatrace.formula import Const, Expr, Special, Value, Var, map_leaves
from scalatrace.formula.domain import Domain
from scalatrace.trace.exchange.type_sizes import entry_size
from scalatrace.trace.model.symbolic import CYCLE, Shape
from scalatrace.trace.model.tables import Datatype, IntArray, Kind
from scalatrace.trace.model.typetree import checked
from scalatrace.trace.symbolic.shapes import join
from scalatrace.trace.symbolic.special_values import stored
from scalatrace.trace.values.compress import vec_of

__all__ = ["ELEMENT", "TABLES", "ProgramTables"]

TABLES = frozenset({Kind.ARRAY, Kind.TYPE, Kind.STRING})
ELEMENT = Var("element", None)
"""Counts the elements of an array."""


@dataclass
class ProgramTables:
    """The entries so far; equal ones are one."""

    types: dict[Datatype, int] = field(default_factory=dict)
    strings: dict[str, int] = field(default_factory=dict)
    arrays: dict[Any, int] = field(default_factory=dict)

    def index(
        self, kind: Kind, shape: Shape, slots: Iterator[Value], n: Callable[[], Expr], facts: Domain
    ) -> Value:
        """Which entry a parameter names the n-th time; n is asked for when that matters."""
        pattern, entries = join(shape, slots)
        numbers = [self._entry(kind, entry, facts) for entry in entries]
        if isinstance(pattern, tuple):
            again_and_again = ((Const(0), Const(0), *pattern[1:]),)
            position = at(again_and_again if pattern[0] == CYCLE else pattern, n(), facts)
        else:
            position = pattern
        value: Value = map_leaves(position, lambda leaf: row(numbers, leaf))
        return value

    def _entry(self, kind: Kind, entry: Any, facts: Domain) -> Const | Special:
        if isinstance(entry, Const | Special):
            return entry  # a constant of MPI
        if kind is Kind.ARRAY:
            return Const(self._array(entry, facts))
        if kind is Kind.STRING:
            return Const(self.strings.setdefault(_text(entry), len(self.strings)))
        description = checked(_text(entry[-1]))
        sizes = (n if isinstance(n, int) else _number(n) for n in entry_size(entry, description))
        datatype = Datatype(description, *sizes)
        return Const(self.types.setdefault(datatype, len(self.types)))

    def array(self, array: Array) -> Const:
        """Which entry an array is that is worked out at run time."""
        return Const(self.arrays.setdefault(array, len(self.arrays)))

    def _array(self, entry: Any, facts: Domain) -> int:
        word, length, terms = entry
        if not isinstance(terms, tuple):
            terms = ((Const(0), Const(0), terms),)
        if (numbers := _numbers((length, *terms))) is not None:
            array: Any = IntArray(numbers[0], _vec(terms, numbers[0], word == "summed", facts))
        else:
            element_domain = facts.within(ELEMENT, Const(0), length)
            element: Value = (prefix if word == "summed" else at)(terms, ELEMENT, element_domain)
            array = Array(length, ELEMENT, element)
        return self.arrays.setdefault(array, len(self.arrays))


def _vec(terms: Any, length: int, summed: bool, facts: Domain) -> Any:
    of = prefix if summed else at
    values = [of(terms, Const(k), facts) for k in range(length)]
    return vec_of([n for e in values if (n := stored(e)) is not None])


def _numbers(terms: Any) -> list[int] | None:
    """The integers in nested tuples; None when one is a formula."""
    numbers: list[int] = []
    for term in terms:
        if isinstance(term, tuple):
            inner = _numbers(term)
        else:
            inner = None if (n := stored(term)) is None else [n]
        if inner is None:
            return None
        numbers += inner
    return numbers


def _number(e: Expr) -> int:
    if not isinstance(e, Const):
        raise GenerateError("the layout of its datatype depends on the number of ranks")
    return e.value


def _text(parts: Any) -> str:
    return "".join(part if isinstance(part, str) else str(_number(part)) for part in parts)
