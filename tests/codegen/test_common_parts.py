"""Expressions that statements have in common, as variables; marks of calls that nothing looks back at."""

from __future__ import annotations

import re

import pytest

from scalatrace.codegen.emit import emitter
from scalatrace.codegen.emit.array_runs import ArrayRun, array_runs
from scalatrace.codegen.emit.interface import EmitOptions
from scalatrace.codegen.foreign import Foreign
from scalatrace.codegen.passes.common import with_common_parts
from scalatrace.codegen.passes.marks import without_dead_marks
from scalatrace.codegen.passes.total import interval_of
from scalatrace.codegen.program.interpret import InterpretSetting, run, value
from scalatrace.codegen.program.tree import (
    BenchmarkProgram,
    Branch,
    ComputeStatement,
    Duration,
    LetStatement,
    LoopStatement,
    MpiCall,
    ProgramArgument,
    ProgramContext,
    Stmt,
    calls,
    statements,
)
from scalatrace.formula import (
    Binary,
    Choose,
    Compare,
    Cond,
    Const,
    Element,
    Expr,
    Item,
    Select,
    Special,
    Value,
    Var,
)
from scalatrace.trace.model.tables import Family, IntArray, Kind
from scalatrace.trace.values.vec import Vec
from support.builder import INT

NPROCS = 16
RANK = Var("rank", NPROCS)
I1, I2 = Var("i1", 5), Var("i2", 4)
OWN = Element("own", Const(3))


ZERO = Const(0)


def sent(dest: Value, tag: Expr = ZERO, mark: int | None = None, line: int = 1) -> MpiCall:
    values: list[tuple[str, Kind, Value]] = [
        ("count", Kind.INT, Const(1)),
        ("datatype", Kind.TYPE, Const(0)),
        ("dest", Kind.PEER, dest),
    ]
    values += [("tag", Kind.INT, tag), ("comm", Kind.COMM, Const(0))]
    arguments = tuple(ProgramArgument(*argument) for argument in values)
    return MpiCall("Send", arguments, (Foreign(f"/app/halo.py:{line}:step"),), mark)


def program(*body: Stmt) -> BenchmarkProgram:
    comms = tuple(Family(kind, -1, Vec(1), Vec(0)) for kind in ("world", "self", "null"))
    return BenchmarkProgram(NPROCS, body, comms=comms, types=(INT,))


def less(e: Expr, n: int) -> Cond:
    return Compare("<", e, Const(n))


def issued(given: BenchmarkProgram) -> list[list[tuple[int, ...]]]:
    """The values of the arguments of each call, on each rank."""
    return [
        [
            tuple(value(argument.value, at) for argument in stmt.arguments)
            for stmt, at in run(given, InterpretSetting({"rank": rank}, lambda _, rank=rank: (rank, NPROCS)))  # type: ignore[misc]
            if isinstance(stmt, MpiCall)
        ]
        for rank in range(NPROCS)
    ]


def lets(given: BenchmarkProgram) -> dict[str, Value | None]:
    return {
        stmt.variable.name: stmt.value for stmt in statements(given.body) if isinstance(stmt, LetStatement)
    }


STEP = Binary("+", Binary("*", I1, Const(4)), I2)
GUARDED = Choose(less(I1, 2), Item((7, 9), I1), Const(1))
NEIGHBOUR = Select(less(RANK, 4), Special("PROC_NULL"), Binary("-", OWN, Const(4)))


@pytest.mark.parametrize(
    "part",
    [
        STEP,
        Binary("+", GUARDED, STEP),
        Binary("%", Binary("+", RANK, STEP), Const(16)),
        NEIGHBOUR,
        Binary("^", OWN, Item((1, 1, 3, 1), Binary("%", RANK, Const(4)))),
    ],
)
def test_common_parts_keep_the_calls(part: Value) -> None:
    around = Branch(less(I2, 3), (sent(part), sent(RANK)), (sent(part, I2),))
    inner = LoopStatement(I2, Const(4), (sent(part), around, sent(part, I1)))
    given = program(sent(RANK), LoopStatement(I1, Const(5), (inner, sent(I1))))
    shared = with_common_parts(given)
    assert lets(shared)
    assert issued(shared) == issued(given)


def test_variables_stand_in_the_loop_that_they_depend_on() -> None:
    of_rank = Choose(less(RANK, 3), Const(2), Const(4))
    loops = [LoopStatement(I2, of_rank, (sent(STEP), sent(STEP, STEP), sent(RANK))) for _ in range(3)]
    shared = with_common_parts(program(LoopStatement(I1, Const(5), tuple(loops))))
    first, second = shared.body
    assert isinstance(first, LetStatement)
    assert (first.variable.name, first.value) == ("trips1", of_rank)
    assert isinstance(second, LoopStatement)
    assert all(
        isinstance(loop, LoopStatement) and isinstance(loop.body[0], LetStatement) for loop in second.body
    )


def test_remainders_of_the_rank_are_coordinates() -> None:
    column = Binary("%", RANK, Const(4))
    shared = with_common_parts(program(*(sent(Binary("+", column, Const(n))) for n in range(3))))
    assert lets(shared) == {"rank_mod_4": column}


def test_parts_without_a_value_everywhere_stay_where_they_are() -> None:
    beyond = Binary("+", Item((7, 9), I1), Binary("*", I1, Const(3)))  # i1 goes to 4
    choices = [Choose(less(I1, 2), beyond, Const(n)) for n in range(3)]
    guard = Branch(less(RANK, 4), (sent(choices[0]), sent(choices[1]), sent(choices[2])))
    given = program(LoopStatement(I1, Const(5), (guard,)))
    assert with_common_parts(given) is given


def test_parts_that_a_statement_evaluates_are_named_before_it() -> None:
    beyond = Binary("+", Item((7, 9), I1), Binary("*", I1, Const(3)))  # i1 goes to 4
    guard = Branch(less(I1, 2), (sent(RANK), sent(beyond), sent(beyond), sent(beyond, I1)))
    given = program(LoopStatement(I1, Const(5), (guard,)))
    shared = with_common_parts(given)
    assert list(lets(shared).values()) == [beyond]
    assert issued(shared) == issued(given)


def test_communicators_that_a_loop_makes_are_asked_each_time() -> None:
    made = MpiCall("Comm_dup", (ProgramArgument("newcomm", Kind.COMM, Const(3)),))
    given = program(LoopStatement(I1, Const(5), (sent(NEIGHBOUR), made, sent(NEIGHBOUR), sent(NEIGHBOUR))))
    assert with_common_parts(given) is given


@pytest.mark.parametrize(
    ("e", "interval"),
    [
        (Item((7, 9), I1), None),
        (GUARDED, (1, 9)),
        (Binary("//", I1, I2), None),
        (Binary("%", I2, Const(9)), (0, 3)),
        (Binary("*", Binary("*", RANK, Const(1 << 20)), Const(1 << 20)), None),
        (Choose(Compare("==", RANK, Const(0)), Binary("+", RANK, Const(1)), Const(1)), (1, 1)),
        (OWN, (0, NPROCS)),
        (Var("n"), None),
    ],
)
def test_intervals(e: Expr, interval: tuple[int, int] | None) -> None:
    assert interval_of(e, NPROCS) == interval


def after(*marks: int) -> ComputeStatement:
    return ComputeStatement(tuple(ProgramContext((mark,), Duration(1000.0 * (mark + 1))) for mark in marks))


def marks(body: tuple[Stmt, ...]) -> list[int | None]:
    return [call.mark for call in calls(without_dead_marks(program(*body)).body)]


def test_marks_that_another_call_follows_are_dropped() -> None:
    first, second, third = (sent(RANK, mark=n) for n in (1, 2, 3))
    assert marks((first, second, after(1, 2, 3), third)) == [None, 2, None]
    assert marks((LoopStatement(I1, Const(5), (after(1, 2, 3), first, second)), third)) == [None, 2, None]
    branch = Branch(less(RANK, 3), (second,), ())
    assert marks((first, branch, after(1, 2, 3), third)) == [1, 2, None]
    assert marks((first, LoopStatement(I1, Const(0), (second,)), after(1, 2, 3), third)) == [1, 2, None]


def test_calls_and_tables_are_named_after_lines() -> None:
    body = (LoopStatement(I1, Const(5), (after(0, 1), sent(RANK, mark=1, line=30))),)
    text = emitter("c").emit(program(*body), EmitOptions())
    assert "enum { PROGRAM_START = 0, SEND_30 = 1 };" in text
    assert "before_send_30[] = {{PROGRAM_START, 1}, {SEND_30, 2}, {-1, 0}}; /* mean 1.5 us */" in text
    assert re.search(r"compute_after\(before_send_30\);\n +Send\(.*\n +previous_call = SEND_30;", text)
    python = emitter("python").emit(program(*body), EmitOptions())
    assert "before_send_30 = {PROGRAM_START: 1, SEND_30: 2}  # mean 1.5 us" in python


def test_arrays_of_one_length_are_rows_and_displacements_are_sums() -> None:
    counts = [(3 + n, 5, 2 * n) for n in range(6)]
    displacements = [(0, a, a + b) for a, b, _ in counts]
    arrays = [IntArray(3, Vec(numbers)) for numbers in (*counts, *displacements)]
    runs = array_runs(arrays, range(12), lambda i: True)
    assert runs == [ArrayRun(0, 6, 3, None), ArrayRun(6, 6, 3, 0)]
