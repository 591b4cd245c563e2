"""What if: computation that takes longer or shorter, and messages that are larger or smaller (§3.5.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import ceil

from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.program.tree import (
    Argument,
    Branch,
    Call,
    Compute,
    Context,
    Duration,
    Loop,
    Program,
    Stmt,
)
from scalatrace.formula import Binary, Const, Expr, Item, add, map_leaves, mul
from scalatrace.operations import operation
from scalatrace.scaling import COUNTS, DISPLACEMENTS, SCALED, VECTORS, is_room, scaled
from scalatrace.trace.model.tables import IntArray
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.vec import is_symbol

__all__ = ["SUFFIX", "collectives_as_messages", "scale_bytes", "scale_compute"]


def scale_compute(program: Program, factor: float) -> Program:
    """The same with computations times a factor; none at all times 0."""

    def change(stmt: Stmt) -> Stmt | None:
        if not isinstance(stmt, Compute):
            return stmt
        if factor == 0:
            return None
        return replace(stmt, contexts=tuple(_longer(context, factor) for context in stmt.contexts))

    return program if factor == 1 else program.with_body(_each(program.body, change))


def _longer(context: Context, factor: float) -> Context:
    duration = context.duration
    histogram = duration.histogram.scaled(factor) if duration.histogram else None
    law = tuple((c * factor, power, log) for c, power, log in duration.law)
    return replace(context, duration=Duration(duration.ns * factor, histogram, law))


def scale_bytes(program: Program, factor: float) -> Program:
    """The same with messages of `factor` times as many elements, rounded up.

    Receives have room for the next whole factor: the two sides may count in different datatypes.
    """
    if factor == 1:
        return program
    if program.shape and program.shape.arrays:
        raise GenerateError("--bytes-scale: the arrays of sizes follow formulas; scale a trace of one size")
    n, exact, whole = len(program.arrays), Fraction(factor).limit_denominator(1000), ceil(factor)
    counts = tuple(_array(array, lambda v: scaled(v, exact)) for array in program.arrays)
    rooms = tuple(_array(array, lambda v: v if is_symbol(v) else v * whole) for array in program.arrays)

    def change(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Call) or operation(stmt.op).category not in SCALED:
            return stmt
        return replace(stmt, arguments=tuple(argument(stmt, a) for a in stmt.arguments))

    def argument(call: Call, a: Argument) -> Argument:
        if a.name in COUNTS:
            f = Fraction(whole) if is_room(call.op, a.name, call) else exact
            return replace(a, value=map_leaves(a.value, lambda leaf: _scaled_leaf(leaf, f)))
        shift = n if a.name in VECTORS else 2 * n if a.name in DISPLACEMENTS else 0
        return replace(a, value=map_leaves(a.value, lambda e: add(e, Const(shift)))) if shift else a

    body = _each(program.body, change)
    return replace(program, body=body, arrays=(*program.arrays, *counts, *rooms))


def _scaled_leaf(leaf: Expr, factor: Fraction) -> Expr:
    match leaf:
        case Const(value):
            return Const(scaled(value, factor))
        case Item(table, index):
            return Item(tuple(scaled(v, factor) for v in table), index)
    grown = add(mul(leaf, Const(factor.numerator)), Const(factor.denominator - 1))
    return grown if factor.denominator == 1 else Binary("/", grown, Const(factor.denominator))


def _array(array: IntArray, change: Callable[[int], int]) -> IntArray:
    constant = array.vec.constant
    if constant is not None:
        return replace(array, vec=vec_of([change(constant)]))
    return IntArray(array.length, vec_of([change(v) for v in array.values]))


def _each(body: tuple[Stmt, ...], change: Callable[[Stmt], Stmt | None]) -> tuple[Stmt, ...]:
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, Loop):
            stmt = replace(stmt, body=_each(stmt.body, change))
        elif isinstance(stmt, Branch):
            then, otherwise = _each(stmt.then, change), _each(stmt.otherwise, change)
            stmt = replace(stmt, then=then, otherwise=otherwise)
        changed = change(stmt)
        if changed is not None:
            result.append(changed)
    return tuple(result)


BY_MESSAGES = frozenset({
    "Barrier", "Bcast", "Reduce", "Allreduce", "Reduce_scatter", "Reduce_scatter_block", "Scan", "Exscan",
    "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv", "Alltoall", "Alltoallv",
})  # fmt: skip
"""The collectives that can become messages; those of intercommunicators stay what they are."""

SUFFIX = "_by_messages"


def collectives_as_messages(program: Program) -> Program:
    """The same with messages between each pair of ranks in place of collectives (Figure 4.13)."""

    def change(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Call) or stmt.op not in BY_MESSAGES:
            return stmt
        family = stmt["comm"]
        known = [program.comms[family.value]] if isinstance(family, Const) else program.comms
        if any(f.remote_sizes is not None for f in known):
            return stmt
        return replace(stmt, op=stmt.op + SUFFIX)

    return program.with_body(_each(program.body, change))
