"""What if: computation that takes longer or shorter, and messages that are larger or smaller (§3.5.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.program.tree import (
    BenchmarkProgram,
    Branch,
    ComputeStatement,
    Duration,
    LoopStatement,
    MpiCall,
    ProgramArgument,
    ProgramContext,
    Stmt,
)
from scalatrace.formula import Binary, Const, Expr, Item, add, map_leaves, mul
from scalatrace.operations import BLOCKING_COLLECTIVES, operation
from scalatrace.scaling import COUNTS, DISPLACEMENTS, SCALED, VECTORS, scaled, spread
from scalatrace.trace.model.tables import IntArray
from scalatrace.trace.query.factors import Factors
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.vec import is_symbol

__all__ = ["SUFFIX", "collectives_as_messages", "scale_bytes", "scale_compute"]

NO_FACTORS = Factors()


def scale_compute(program: BenchmarkProgram, scale: float, factors: Factors = NO_FACTORS) -> BenchmarkProgram:
    """The same with computations times a factor, and those before some calls times the factors of these.

    Computations that take no time are left out.
    """
    if scale == 1 and all(rule.compute == 1 for rule in factors.rules):
        return program

    def change(body: tuple[Stmt, ...], following: MpiCall | None) -> tuple[Stmt, ...]:
        stmts: list[Stmt] = []
        for stmt in reversed(body):
            changed: Stmt | None = stmt
            match stmt:
                case MpiCall():
                    following = stmt
                case LoopStatement():
                    changed = replace(stmt, body=change(stmt.body, following))
                case Branch():
                    branches = (change(part, following) for part in (stmt.then, stmt.otherwise))
                    changed = Branch(stmt.cond, *branches)
                case ComputeStatement():
                    changed = _scaled_compute(stmt, scale * _compute_factor(following, factors))
            if changed is not None:
                stmts.append(changed)
        return tuple(reversed(stmts))

    return program.with_body(change(program.body, None))


def _compute_factor(call: MpiCall | None, factors: Factors) -> float:
    return 1.0 if call is None else factors.compute_of(call.op, _stack(call))


def _scaled_compute(compute: ComputeStatement, factor: float) -> ComputeStatement | None:
    if factor == 0:
        return None
    return replace(compute, contexts=tuple(_longer(context, factor) for context in compute.contexts))


def _stack(call: MpiCall) -> tuple[str, ...]:
    return tuple(frame.raw for frame in call.site)


def _longer(context: ProgramContext, factor: float) -> ProgramContext:
    duration = context.duration
    histogram = duration.histogram.scaled(factor) if duration.histogram else None
    law = tuple((c * factor, power, log) for c, power, log in duration.law)
    return replace(context, duration=Duration(duration.ns * factor, histogram, law))


def scale_bytes(program: BenchmarkProgram, factors: Factors) -> BenchmarkProgram:
    """The same with messages of other sizes, rounded up to whole elements.

    Receives have room for the largest factor of a sender: the two sides may count in different datatypes.
    """
    if not factors.scales_nbytes:
        return program
    if program.shape and program.shape.arrays:
        raise GenerateError("--bytes-scale: the arrays of sizes follow formulas; scale a trace of one size")
    arrays = _ScaledArrays(program.arrays)

    def change(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, MpiCall) or operation(stmt.op).category not in SCALED:
            return stmt
        names = [a.name for a in stmt.arguments]
        sent = factors.sent_factor(factors.nbytes_of(stmt.op, _stack(stmt)), names)
        if sent == factors.max_nbytes_factor == 1:
            return stmt
        return replace(stmt, arguments=tuple(argument(stmt.op, names, sent, a) for a in stmt.arguments))

    def argument(op: str, names: list[str], sent: Fraction, a: ProgramArgument) -> ProgramArgument:
        shift = 0
        if a.name in COUNTS:
            factor = factors.count_factor(op, a.name, names, sent)
            return replace(a, value=map_leaves(a.value, lambda leaf: _scaled_leaf(leaf, factor)))
        if a.name in VECTORS:
            shift = arrays.counts(factors.count_factor(op, a.name, names, sent))
        elif a.name in DISPLACEMENTS:
            shift = arrays.displacements(spread(sent))
        return replace(a, value=map_leaves(a.value, lambda e: add(e, Const(shift)))) if shift else a

    body = _each(program.body, change)
    return replace(program, body=body, arrays=tuple(arrays.all))


class _ScaledArrays:
    """The arrays of a program, and behind them a copy of all for each factor.

    A copy has the same order, so that an index becomes that of the copy by adding a number.
    """

    def __init__(self, arrays: Sequence[IntArray]) -> None:
        self._own, self.all = arrays, list(arrays)
        self._starts: dict[tuple[str, Fraction], int] = {}

    def counts(self, factor: Fraction) -> int:
        """Return what to add to the index of an array of counts that are to be scaled."""
        return self._copy("counts", factor, lambda v: scaled(v, factor))

    def displacements(self, factor: int) -> int:
        """Return what to add to the index of an array of displacements."""
        return self._copy("displs", Fraction(factor), lambda v: v if is_symbol(v) else v * factor)

    def _copy(self, kind: str, factor: Fraction, change: Callable[[int], int]) -> int:
        if factor == 1:
            return 0
        if (kind, factor) not in self._starts:
            self._starts[kind, factor] = len(self.all)
            self.all += [_array(array, change) for array in self._own]
        return self._starts[kind, factor]


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
    stmts: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, LoopStatement):
            stmt = replace(stmt, body=_each(stmt.body, change))
        elif isinstance(stmt, Branch):
            then, otherwise = _each(stmt.then, change), _each(stmt.otherwise, change)
            stmt = replace(stmt, then=then, otherwise=otherwise)
        changed = change(stmt)
        if changed is not None:
            stmts.append(changed)
    return tuple(stmts)


BY_MESSAGES = frozenset(name for name in BLOCKING_COLLECTIVES if name != "Alltoallw")
"""The collectives that can become messages; those of intercommunicators stay what they are."""

SUFFIX = "_by_messages"


def collectives_as_messages(program: BenchmarkProgram) -> BenchmarkProgram:
    """The same with messages between each pair of ranks in place of collectives (Figure 4.13)."""

    def change(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, MpiCall) or stmt.op not in BY_MESSAGES:
            return stmt
        family = stmt["comm"]
        comms = [program.comms[family.value]] if isinstance(family, Const) else program.comms
        if any(f.remote_sizes is not None for f in comms):
            return stmt
        return replace(stmt, op=stmt.op + SUFFIX)

    return program.with_body(_each(program.body, change))
