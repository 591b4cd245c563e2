"""Making a program readable: neighbouring statements under one condition stand under it together."""

from __future__ import annotations

from dataclasses import replace

from scalatrace.codegen.program.tree import Branch, Loop, Stmt
from scalatrace.formula import negate

__all__ = ["tidy"]


def tidy(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The same statements, with equal or opposite conditions of neighbours written once.

    Conditions depend on ranks and loop variables only, so no statement changes what a later one finds.
    """
    result: list[Stmt] = []
    for stmt in map(_inside, body):
        last = result[-1] if result else None
        if isinstance(stmt, Branch) and isinstance(last, Branch):
            if stmt.cond == last.cond:
                result[-1] = _joined(last, stmt)
                continue
            if stmt.cond == negate(last.cond) and not stmt.otherwise:
                result[-1] = _joined(last, Branch(last.cond, (), stmt.then))
                continue
        result.append(stmt)
    return tuple(result)


def _joined(a: Branch, b: Branch) -> Branch:
    return Branch(a.cond, tidy(a.then + b.then), tidy(a.otherwise + b.otherwise))


def _inside(stmt: Stmt) -> Stmt:
    if isinstance(stmt, Loop):
        return replace(stmt, body=tidy(stmt.body))
    if isinstance(stmt, Branch):
        return replace(stmt, then=tidy(stmt.then), otherwise=tidy(stmt.otherwise))
    return stmt
