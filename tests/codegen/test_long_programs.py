"""Long programs: names for parts of expressions, functions for parts of the statements, short lines."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scalatrace import Trace
from scalatrace.codegen.builders.recorded import build
from scalatrace.codegen.emit.wrapping import MAX_LINE_LENGTH, wrap_lines
from scalatrace.codegen.generate import generate
from scalatrace.codegen.passes import repeats, shorten, split
from scalatrace.codegen.passes.repeats import with_repeats
from scalatrace.codegen.passes.shorten import with_short_expressions
from scalatrace.codegen.passes.split import with_functions
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
    ProgramPart,
    Stmt,
    needed_by,
    statements,
)
from scalatrace.formula import (
    Const,
    Var,
    length,
)
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, Builder, Comm
from support.interpreted import made, sound, walked
from support.traces import traces


def nested(depth: int) -> Trace:
    """Loops in loops whose trip counts follow no short rule: each index holds the index around it."""
    b = Builder(4)
    inner = b.event("Bcast", count=1, datatype=DOUBLE, root=Vec(((0, 0, 0, 1, 2, 3, 2, 1),)), comm=Comm())
    for level in range(depth):
        trips = Vec((3, 1, 2, 2, (0, 0, 2, 1, 3, 1, 2)))
        inner = b.loop(trips if level < depth - 1 else 5, inner, b.event("Barrier", comm=Comm()))
    return b.of(inner)


def long(n: int) -> Trace:
    """Many statements, some of them within loops."""
    b = Builder(4)
    halves = RankList.from_runs([(0, 2)]), RankList.from_runs([(2, 4)])
    groups = [Groups([(halves[0], Vec(r + 1)), (halves[1], Vec(7))]) for r in range(4)]
    nodes = [
        b.loop(
            3,
            *(
                b.event("Bcast", count=groups[(i + j) % 4], datatype=DOUBLE, root=0, comm=Comm())
                for j in range(n)
            ),
        )
        for i in range(n)
    ]
    return b.of(*nodes)


@settings(max_examples=40)
@given(traces(), st.integers(1, 6))
def test_any_trace_has_the_same_calls_with_names_and_functions(trace: Trace, limit: int) -> None:
    if not sound(trace):
        return
    with pytest.MonkeyPatch.context() as patch:
        for name in ("MAX_LENGTH", "MAX_PART_LENGTH", "MAX_CHOICE_LENGTH", "MIN_NAMED_LENGTH"):
            patch.setattr(shorten, name, limit)
        for name in ("MAX_STATEMENTS", "PART_STATEMENTS", "MIN_PART_STATEMENTS"):
            patch.setattr(split, name, limit)
        patch.setattr(repeats, "MAX_STATEMENTS", 10 * limit)
        patch.setattr(repeats, "MIN_STATEMENTS", limit)
        program = with_functions(with_short_expressions(with_repeats(build(trace), drawn=False)))
    for rank in trace.ranks:
        assert list(made(program, trace, rank)) == list(walked(trace, rank))


def in_place(body: tuple[Stmt, ...], given: tuple[Duration, ...] = ()) -> Iterator[Stmt]:
    """Statements with those of functions in place of calls, and no numbers of predecessors."""

    def time(duration: Duration) -> Duration:
        return duration if duration.argument is None else given[duration.argument]

    for stmt in body:
        match stmt:
            case ProgramPart():
                yield from in_place(stmt.body, tuple(map(time, stmt.times)))
            case LoopStatement():
                yield replace(stmt, body=tuple(in_place(stmt.body, given)))
            case Branch(_, then, otherwise):
                both = tuple(in_place(then, given)), tuple(in_place(otherwise, given))
                yield replace(stmt, then=both[0], otherwise=both[1])
            case ComputeStatement(contexts):
                times = (Duration(time(context.duration).ns) for context in contexts)
                yield replace(stmt, contexts=tuple(replace(ProgramContext((), one)) for one in times))
            case MpiCall():
                yield replace(stmt, mark=None)
            case _:
                yield stmt


@st.composite
def repetitive(draw: st.DrawFn) -> tuple[Stmt, ...]:
    """Statements with sequences that come again, also within others, with other times."""
    counts = (Const(draw(st.integers(0, 3))) for _ in iter(int, 1))
    plain = [MpiCall("Bcast", (ProgramArgument("count", Kind.INT, Const(n)),)) for n in range(3)]

    def timed(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(
            stmt
            for each in body
            for stmt in (
                ComputeStatement((ProgramContext((1,), Duration(draw(st.integers(0, 5)))),)),
                again(each),
            )
        )

    def again(stmt: Stmt) -> Stmt:
        return replace(stmt, body=timed(stmt.body)) if isinstance(stmt, LoopStatement) else stmt

    known: list[tuple[Stmt, ...]] = [(call,) for call in plain]
    for level in range(draw(st.integers(1, 4))):
        inner = tuple(stmt for one in draw(st.lists(st.sampled_from(known), min_size=2)) for stmt in one)
        looped = LoopStatement(Var(f"i{level}", 4), next(counts), inner[:40])
        known.append((looped,) if draw(st.booleans()) else inner[:40])
    chosen = draw(st.lists(st.sampled_from(known), min_size=2, max_size=12))
    return tuple(stmt for one in chosen for stmt in timed(one))


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(repetitive(), st.integers(2, 12))
def test_functions_of_repeats_are_what_they_stand_for(body: tuple[Stmt, ...], least: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repeats, "MAX_STATEMENTS", 4 * least)
        patch.setattr(repeats, "MIN_STATEMENTS", least)
        program = with_repeats(BenchmarkProgram(4, body), drawn=False)
    assert list(in_place(program.body)) == list(in_place(body))
    assert len(list(statements(program.body))) >= len(list(statements(body)))  # with the calls of functions
    own = {stmt.name: stmt for stmt in statements(program.body) if isinstance(stmt, ProgramPart)}
    for part in own.values():
        assert split.nstatements(part.body) >= 2


def test_repeats_with_other_times_are_written_once() -> None:
    b = Builder(4)
    nodes = []
    for step in range(200):
        nodes += [
            b.event(
                "Bcast", compute=Histogram(1, t, t, t, 0), count=n + 1, datatype=DOUBLE, root=0, comm=Comm()
            )
            for n in range(9)
            for t in [1000 * step + n]
        ]
        nodes.append(b.event("Bcast", count=1000 + step, datatype=DOUBLE, root=0, comm=Comm()))
    program = build(b.of(*nodes))
    shorter = with_repeats(program, drawn=False)
    assert split.nstatements(shorter.body) < split.nstatements(program.body) / 3
    assert with_repeats(build(long(3)), drawn=False).body == build(long(3)).body


@pytest.mark.parametrize("language", ["c", "python"])
def test_functions_have_the_name_of_the_function_that_calls(language: str) -> None:
    """Equal sequences from other callers are one; a name that is none in the language is not taken."""
    b = Builder(2)
    nodes = []
    for step in range(40):
        for function in ("halo::exchange(int)", "<module>"):
            for line in range(1, 10):
                at = (f"a.cc:{line}:{function}", f"main.cc:{step}:main")
                nodes.append(b.event("Bcast", at=at, count=line, datatype=DOUBLE, root=0, comm=Comm()))
            nodes.append(b.event("Bcast", count=100 + step, datatype=DOUBLE, root=0, comm=Comm()))
    text = generate(b.of(*nodes), language).text
    assert text.count("exchange_1(") == 41
    assert "sequence" in text
    assert "module_" not in text


def test_an_index_in_an_index_is_written_once() -> None:
    trace = nested(7)
    program = build(trace)
    before = max(length(part) for stmt in statements(program.body) for part in needed_by(stmt))
    program = with_short_expressions(program)
    after = max(length(part) for stmt in statements(program.body) for part in needed_by(stmt))
    assert before > 10 * after
    assert after < 3 * shorten.MAX_CHOICE_LENGTH
    for rank in trace.ranks:
        assert list(made(program, trace, rank)) == list(walked(trace, rank))


@pytest.mark.parametrize("language", ["c", "python"])
@pytest.mark.parametrize("trace", [nested(7), long(40)], ids=["nested", "long"])
def test_no_line_is_long(trace: Trace, language: str) -> None:
    text = generate(trace, language).text
    assert max(map(len, text.split("\n"))) <= MAX_LINE_LENGTH
    if language == "python":
        ast.parse(text)


def test_small_programs_have_neither() -> None:
    program = build(long(3))
    assert with_short_expressions(program) is program
    assert with_functions(program) is program


def test_functions_get_the_variables_that_they_use() -> None:
    program = with_functions(build(long(40)))
    parts = [stmt for stmt in statements(program.body) if isinstance(stmt, ProgramPart)]
    assert parts
    for part in parts:
        assert len(list(statements(part.body))) < 2 * split.MAX_STATEMENTS
    text = generate(long(40), "c").text
    assert "static void sequence1(" in text
    assert "sequence1(" in text[text.index("static void benchmark") :]


def test_a_named_part_may_be_used_under_its_condition_only() -> None:
    lets = [
        stmt
        for stmt in statements(with_short_expressions(build(nested(7))).body)
        if isinstance(stmt, LetStatement)
    ]
    assert len({let.variable.name for let in lets if let.declares}) == sum(let.declares for let in lets)


@pytest.mark.parametrize("language", ["c", "python"])
def test_wrapped_lines_have_the_same_tokens(language: str) -> None:
    numbers = ", ".join(map(str, range(100)))
    quoted = '"a, b && (c \\" ' + "x" * 300 + '"'
    note = {"c": "/* a.c:1:f */", "python": "# a.c:1:f"}[language]
    line = f"    f(({numbers}), {quoted}); {'' if language == 'c' else ' '}{note}"
    text = wrap_lines(line, language)
    assert all(len(part) <= MAX_LINE_LENGTH for part in text.split("\n"))
    assert text.split("\n")[0] == f"    {note}"
    joined = "".join(part.strip() for part in text.split("\n")[1:])
    assert joined.replace('""', "").replace(" ", "") == f"f(({numbers}), {quoted});".replace(" ", "")


def test_comments_are_cut_between_words() -> None:
    words = "word " * 60
    assert all(line.endswith("*/") for line in wrap_lines(f"  /* {words}*/", "c").split("\n"))
    assert all(line.startswith(" * ") for line in wrap_lines(f" * {words}", "c").split("\n"))
    first, *others = wrap_lines(f"/* {words}", "c").split("\n")
    assert first.startswith("/* ")
    assert all(line.startswith(" * ") for line in others)
    assert all(line.startswith("# ") for line in wrap_lines(f"# {words}", "python").split("\n"))
    assert len(wrap_lines(f"/* {'x' * 500} */", "c").split("\n")) > 3


@pytest.mark.parametrize(("language", "note"), [("c", "/* {} */"), ("python", "# {}")])
def test_comments_within_many_loops_keep_their_words(language: str, note: str) -> None:
    words = " ".join(f"word{i}" for i in range(60))
    lines = wrap_lines(" " * 300 + note.format(words), language).split("\n")
    assert len(lines) > 1
    assert re.findall(r"word\d+", " ".join(lines)) == words.split()
