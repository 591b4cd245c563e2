"""Making a program readable: neighbouring statements under one condition stand under it together."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scalatrace.codegen.program.tree import Branch, LoopStatement, Stmt
from scalatrace.formula import Cond, negate

__all__ = ["tidy"]


def tidy(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The same statements, with equal or opposite conditions of neighbours written once.

    Conditions depend on ranks and loop variables only, so no statement changes what a later one finds.
    Neighbours are joined before what is inside them is looked at, so each statement is visited once.
    """
    result: list[Stmt | _StatementGroup] = []
    for stmt in body:
        last = result[-1] if result else None
        if not isinstance(stmt, Branch):
            result.append(stmt)
        elif not (isinstance(last, _StatementGroup) and last.takes(stmt)):
            result.append(_StatementGroup(stmt.cond, [*stmt.then], [*stmt.otherwise]))
    return tuple(map(_inside, result))


@dataclass(slots=True)
class _StatementGroup:
    """Neighbouring branches under one condition, as one branch that grows."""

    cond: Cond
    then: list[Stmt]
    otherwise: list[Stmt]

    def takes(self, stmt: Branch) -> bool:
        """Add a branch if its condition is the same or the opposite; whether it was added."""
        if stmt.cond == self.cond:
            self.then += stmt.then
            self.otherwise += stmt.otherwise
            return True
        if not stmt.otherwise and stmt.cond == negate(self.cond):
            self.otherwise += stmt.then
            return True
        return False


def _inside(stmt: Stmt | _StatementGroup) -> Stmt:
    if isinstance(stmt, LoopStatement):
        return replace(stmt, body=tidy(stmt.body))
    if isinstance(stmt, _StatementGroup):
        return Branch(stmt.cond, tidy(tuple(stmt.then)), tidy(tuple(stmt.otherwise)))
    return stmt
