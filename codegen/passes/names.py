"""Variables that stand for parts of a program's expressions, for all passes that name parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import TypeVar

from scalatrace.codegen.program.tree import (
    BenchmarkProgram,
    LetStatement,
    LoopStatement,
    needed_by,
    statements,
)
from scalatrace.formula import (
    Compare,
    Cond,
    Const,
    Element,
    Interner,
    Value,
    Var,
    children,
    names_in,
    with_children,
)
from scalatrace.formula.bounds import Interval

__all__ = ["PartNames", "is_set"]

Part = Value | Cond
P = TypeVar("P", bound=Part)


class PartNames:
    """Variables of parts where the pass is, and all names that a program has.

    Attributes:
        intern: gives equal parts the same object; parts are known by their ids.
        variables: id of an interned part -> its variable; that of a condition is 1 or 0.
    """

    def __init__(self, program: BenchmarkProgram) -> None:
        every = list(statements(program.body))
        declared = {stmt.variable.name for stmt in every if isinstance(stmt, LoopStatement | LetStatement)}
        self._taken = names_in(*(part for stmt in every for part in needed_by(stmt))) | declared
        self._numbers: dict[str, Iterator[int]] = {}
        self._replaced: dict[int, Part] = {}
        self.intern = Interner()
        self.variables: dict[int, Var] = {}

    def new_variable(self, part: Part, limits: Interval | None, stem: str = "", preferred: str = "") -> Var:
        """Return a variable with a free name for a part, between limits if they are known.

        Args:
            stem: the name before a number; "": what the part depends on.
            preferred: the name, where it is free.
        """
        name = preferred
        if not name or name in self._taken:
            stem = stem or _stem_of(part)
            numbers = self._numbers.setdefault(stem, count(1))
            name = next(name for n in numbers if (name := f"{stem}{n}") not in self._taken)
        self._taken.add(name)
        return Var(name, limits[1] + 1, limits[0]) if limits else Var(name)

    def assign(self, variables: dict[int, Var]) -> None:
        """Let variables stand for parts, until the end of the innermost scope."""
        self.variables.update(variables)
        self._replaced = {}

    @contextmanager
    def scope(self, function: bool = False) -> Iterator[None]:
        """Forget the variables of a block at its end; a function knows none of those around it."""
        outer = self.variables
        self.variables = {} if function else dict(outer)
        self._replaced = {} if function else self._replaced
        try:
            yield
        finally:
            self.variables, self._replaced = outer, {}

    def replaced(self, part: P) -> P:
        """Return an interned part with variables in place of the parts that they stand for."""
        if not self.variables or not children(part):
            return part
        if id(part) not in self._replaced:
            variable = self.variables.get(id(part))
            if variable is None:
                result: Part = with_children(part, [self.replaced(child) for child in children(part)])
            else:
                result = is_set(variable) if isinstance(part, Cond) else variable
            self._replaced[id(part)] = result
        return self._replaced[id(part)]  # type: ignore[return-value]


def is_set(variable: Var) -> Cond:
    """Return the condition that a variable stands for."""
    return Compare("!=", variable, Const(0))


_LOOP = re.compile(r"(i|iteration)\d+")


def _stem_of(part: Part) -> str:
    """The name, before a number, of a variable for an expression: what it depends on."""
    names, pending, seen = set[str](), [part], set[int]()
    while pending:
        part = pending.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, Element):
            return "peer"
        if isinstance(part, Var):
            names.add(part.name)
        pending += children(part)
    if any(map(_LOOP.fullmatch, names)):
        return "iteration"
    return "of_rank" if names == {"rank"} else "value"
