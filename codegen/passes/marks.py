"""Drop the marks of calls after which no computation looks at the call before.

A computation may depend on the call before it. The program then keeps that call in a variable. It need not do
so after a call that another marked call follows before any such computation: a backward analysis of live
variables, with one variable.
"""

from __future__ import annotations

from dataclasses import replace

from scalatrace.codegen.program.tree import (
    BenchmarkProgram,
    Branch,
    ComputeStatement,
    LoopStatement,
    MpiCall,
    Stmt,
    statements,
)

__all__ = ["looks_back", "used_marks", "without_dead_marks"]

Body = tuple[Stmt, ...]


def looks_back(compute: ComputeStatement) -> bool:
    """Whether the time of a computation depends on the call before."""
    return len(compute.contexts) > 1 and compute.first is None


def used_marks(body: Body) -> set[int]:
    """Return the marks that computations tell apart."""
    computes = (stmt for stmt in statements(body) if isinstance(stmt, ComputeStatement) and looks_back(stmt))
    return {mark for compute in computes for context in compute.contexts for mark in context.marks}


def without_dead_marks(program: BenchmarkProgram) -> BenchmarkProgram:
    """The program with marks at calls that a computation may look back at; it has no functions yet."""
    used = used_marks(program.body)
    return program.with_body(_block(program.body, False, used)[0]) if used else program


def _block(body: Body, live: bool, used: set[int]) -> tuple[Body, bool]:
    """Return statements without dead marks, and whether a computation in or after them looks back past them.

    Args:
        live: whether a computation after them looks back.
    """
    result: list[Stmt] = []
    for stmt in reversed(body):
        match stmt:
            case ComputeStatement():
                live = live or looks_back(stmt)
            case MpiCall() if stmt.mark in used and not stmt.dropped:
                if not live:
                    stmt = replace(stmt, mark=None)
                live = False
            case Branch(_, then, otherwise):
                (then, in_then), (otherwise, in_otherwise) = (
                    _block(part, live, used) for part in (then, otherwise)
                )
                stmt, live = replace(stmt, then=then, otherwise=otherwise), in_then or in_otherwise
            case LoopStatement():
                inner, before = _block(stmt.body, live, used)
                if before and not live:  # the next iteration looks back
                    inner, before = _block(stmt.body, True, used)
                stmt, live = replace(stmt, body=inner), before or live
        result.append(stmt)
    return tuple(reversed(result)), live
