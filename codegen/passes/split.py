"""Split a long program in C or Python into functions, which compilers translate in linear time.

A compiler's time grows faster than the length of a function, and nobody reads one of thousands of lines.
Parts of the statements, at any depth, become functions; parameters are variables from around that are used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from scalatrace.codegen.program.tree import (
    BenchmarkProgram,
    Branch,
    ComputeStatement,
    LetStatement,
    LoopStatement,
    MpiCall,
    ProgramPart,
    Stmt,
    needed_by,
    statements,
)
from scalatrace.formula import Const, Var, names_in

__all__ = ["MAX_STATEMENTS", "names_of", "nstatements", "with_functions"]

MAX_STATEMENTS = 600
"""Statements of a function that is not split."""

PART_STATEMENTS = 200
"""Statements of a part, at least; statements that use the same local variable stay together."""

MIN_PART_STATEMENTS = 40
"""Statements that are worth a function, at the end of a block."""


def with_functions(program: BenchmarkProgram) -> BenchmarkProgram:
    """The program with no long function; the same object if it has none."""
    if nstatements(program.body) <= MAX_STATEMENTS:
        return program
    return program.with_body(_Splitting().block(program.body, {}))


class _Splitting:
    """The walk over the statements, innermost blocks first."""

    def __init__(self) -> None:
        self.names = (f"part{n}" for n in count(1))

    def block(self, body: tuple[Stmt, ...], scope: dict[str, Var]) -> tuple[Stmt, ...]:
        """Statements without long blocks.

        Args:
            scope: the variables from around, by name.
        """
        scope = {
            **scope,
            **{stmt.variable.name: stmt.variable for stmt in body if isinstance(stmt, LetStatement)},
        }
        body = tuple(self.inside(stmt, scope) for stmt in body)
        if nstatements(body) <= MAX_STATEMENTS:
            return body
        return tuple(stmt for group in _groups(body) for stmt in self.part(group, scope))

    def inside(self, stmt: Stmt, scope: dict[str, Var]) -> Stmt:
        """A statement without long blocks."""
        match stmt:
            case LoopStatement(variable, _, body) if nstatements(body) > MAX_STATEMENTS:
                return replace(stmt, body=self.block(body, {**scope, variable.name: variable}))
            case Branch(_, then, otherwise) if nstatements(then) + nstatements(otherwise) > MAX_STATEMENTS:
                return replace(stmt, then=self.block(then, scope), otherwise=self.block(otherwise, scope))
        return stmt

    def part(self, group: list[Stmt], scope: dict[str, Var]) -> list[Stmt]:
        """A function of statements; they stay where they are few, or assign to a variable from around."""
        body = tuple(group)
        inner = list(statements(body, parts=False))
        local_names = {
            s.variable.name
            for s in inner
            if isinstance(s, LoopStatement) or (isinstance(s, LetStatement) and s.declares)
        }
        assigned = {s.variable.name for s in inner if isinstance(s, LetStatement)}
        if len(inner) < MIN_PART_STATEMENTS or not assigned <= local_names:
            return group
        used = {name for stmt in inner for name in names_of(stmt)} - local_names
        return [ProgramPart(next(self.names), tuple(v for name, v in scope.items() if name in used), body)]


def _groups(body: tuple[Stmt, ...]) -> Iterator[list[Stmt]]:
    """Neighbours, PART_STATEMENTS or more, such that no variable of a group is used in another."""
    declared = {stmt.variable.name for stmt in body if isinstance(stmt, LetStatement)}
    last_use = {
        name: i
        for i, stmt in enumerate(body)
        for s in (statements((stmt,), parts=False) if declared else ())
        for name in names_of(s)
    }
    group: list[Stmt] = []
    size = until = 0
    for i, stmt in enumerate(body):
        if isinstance(stmt, LetStatement):
            until = max(until, last_use.get(stmt.variable.name, i))
        group.append(stmt)
        size += nstatements((stmt,))
        if size >= PART_STATEMENTS and until <= i:
            yield group
            group, size = [], 0
    if group:
        yield group


def names_of(stmt: Stmt) -> set[str]:
    """The variables that a statement itself reads or assigns, or hands to a function."""
    if isinstance(stmt, ProgramPart):
        return {variable.name for variable in stmt.parameters}
    names = names_in(*(part for part in needed_by(stmt) if not isinstance(part, Const)))
    return names | {stmt.variable.name} if isinstance(stmt, LetStatement) else names


def nstatements(body: tuple[Stmt, ...]) -> int:
    """Statements of a function with this body; those of other functions do not count."""
    total = 0
    for stmt in body:
        match stmt:
            case LoopStatement():
                total += 1 + nstatements(stmt.body)
            case Branch():
                total += 1 + nstatements(stmt.then) + nstatements(stmt.otherwise)
            case MpiCall() | ComputeStatement() | LetStatement() | ProgramPart():
                total += 1
    return total
