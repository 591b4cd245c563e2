"""Programs of formulas do, on every rank of any grid, what the trace of that size says."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from math import prod
from pathlib import Path

import pytest

import scalatrace
from scalatrace.cli import main
from scalatrace.codegen.builders.symbolic import build_scalable
from scalatrace.codegen.conceptual.errors import ProgramError
from scalatrace.codegen.emit.conceptual.sets.grid_formulas import ExprTranslator
from scalatrace.codegen.emit.interface import EmitOptions
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.generate import GenerateOptions, generate, generate_scalable
from scalatrace.codegen.program.grid_shape import shape_of
from scalatrace.codegen.program.interpret import InterpretSetting, run, value
from scalatrace.codegen.program.tree import ComputeStatement, Duration, MpiCall
from scalatrace.errors import UsageError
from scalatrace.extrap.extrapolate import model_of, of_model
from scalatrace.formula import FUNCTIONS, Called, Const, evaluate, parse_number
from scalatrace.formula.functions import block, diagonal
from scalatrace.trace.model.symbolic import Field, ParamRule, Rule, StatRule, SymbolicTrace
from scalatrace.trace.model.tables import Kind, Op
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.values.vec import ANY_TAG, PROC_NULL
from support.calls import IssuedCall, call
from support.formulas import part
from support.grids import (
    Body,
    Rank,
    butterfly,
    ends,
    halo,
    panels,
    rows_and_columns,
    trace_of,
    wavefront,
)
from support.scalable import calls_of_tasks, compare, setting

PLANES = [(4, 4), (5, 4), (5, 5), (6, 5)]
CUBES = [(3, 3, 3), (4, 3, 3), (4, 4, 3), (4, 4, 4)]
LINES = [(4,), (5,), (6,), (8,)]


@cache
def halos(wrap: bool) -> SymbolicTrace:
    """A halo exchange on a plane."""
    return model(halo(wrap), PLANES)


def model(body: Body, small: list[tuple[int, ...]], n: int = 0, groups: bool = False) -> SymbolicTrace:
    traces = [trace_of(body, dims, n, groups) for dims in small]
    return model_of(traces, small)[1]


DOUBLES = ParamRule(
    "datatype", Kind.TYPE, Field((part("1", (None, ((None, None, ("MPI_DOUBLE", "")),)), ("0", "8", "8")),))
)
"""Counts of a model are elements of this datatype."""


def typed(found: SymbolicTrace) -> SymbolicTrace:
    """The model with datatypes, which made-up traces lack."""
    datatype = [("datatype", Kind.TYPE)]
    ops = [
        Op(op.name, tuple(p for pair in op.params for p in (pair, *(datatype * (pair[0] == "count")))))
        for op in found.ops
    ]
    return replace(found, ops=ops, nodes=tuple(map(_typed, found.nodes)))


def _typed(rule: Rule) -> Rule:
    params = tuple(p for one in rule.params for p in (one, *([DOUBLES] * (one.name == "count"))))
    return replace(rule, params=params, children=tuple(map(_typed, rule.children)))


def still(stat: StatRule) -> Duration | None:
    """No computation."""
    return None


@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize(
    ("small", "large"),
    [
        (LINES, [(2,), (3,), (13,)]),
        (PLANES, [(2, 2), (2, 3), (6, 7)]),
        pytest.param(CUBES, [(2, 2, 2), (3, 4, 5)], marks=pytest.mark.slow),
    ],
)
def test_halos(small: list[tuple[int, ...]], large: list[tuple[int, ...]], wrap: bool) -> None:
    found = halos(wrap) if small is PLANES else model(halo(wrap), small)
    program = build_scalable(found, still, FUNCTIONS)
    for dims in large:
        if wrap and len(dims) == 3 and 2 in dims:
            continue  # both neighbours are one rank there, which no cube from 3 on shows: it is refused
        compare(program, found, dims)


def test_wavefronts_with_blocks() -> None:
    found = model(wavefront, [*PLANES, (6, 6)], 24)
    program = build_scalable(found, still, FUNCTIONS)
    for n, dims in ((24, (3, 7)), (31, (4, 4)), (7, (9, 2))):
        compare(program, found, dims, {"n": n})


def stages(rank: Rank) -> list[IssuedCall]:
    """A long computation before the first of several stages; how many depends on the grid."""
    calls = []
    for _ in range(3):
        calls.append(call("Bcast", 50, count=1, root=0, comm="world"))
        for i in range(rank.dims[0]):
            calls += [call("Barrier", 51, comm="world")] * (i > 0)
            calls += [call("Allreduce", 52, count=1, comm="world")] * (i < rank.dims[0] - 1)
    return calls


@pytest.mark.parametrize(
    ("body", "slow", "op"), [(wavefront, "Recv", "Send"), (stages, "Bcast", "Allreduce")]
)
def test_computations_are_those_after_the_call_before(body: Body, slow: str, op: str) -> None:
    """Also where a language cannot look at it: borders come by other ways, first iterations too."""

    def slowly(stat: StatRule) -> Duration:
        return Duration(1e6 if stat.pred is not None and stat.pred[0] == slow else 4e4)

    found = model(body, [*PLANES, (6, 6)], 24)
    program = build_scalable(found, slowly, FUNCTIONS, exact_times=False)
    dims = (3, 4)
    trace = of_model(found, 12, dims, {"n": 24}).trace
    for rank in range(12):
        at = setting(program, trace, Grid(dims), {"n": 24}, rank)
        before, computed = "", 0.0
        for stmt, here in run(program, at):
            if isinstance(stmt, ComputeStatement):
                later = stmt.first is not None and here.variables[stmt.first.name] > 0
                computed += stmt.contexts[later].duration.ns
            elif isinstance(stmt, MpiCall):
                if stmt.op == op:
                    assert computed == (1e6 if before == slow else 4e4)
                before, computed = stmt.op, 0.0


def test_communicators_of_rows_and_columns() -> None:
    found = model(rows_and_columns, [(2, 3), (3, 3), (3, 4), (4, 4), (5, 4)], 48, groups=True)
    program = build_scalable(found, still, FUNCTIONS)
    for dims in ((2, 2), (6, 8)):
        compare(program, found, dims, {"n": 48})


def token(rank: Rank) -> list[IssuedCall]:
    """Rank 0 sends first, all others receive first."""
    size = prod(rank.dims)
    first = rank.number == 0
    dest, source = (rank.number + 1) % size, (rank.number - 1) % size
    send = call("Send", 20 if first else 22, count=1, dest=dest, tag=0, comm="world")
    receive = call("Recv", 21 if first else 23, count=1, source=source, tag=0, comm="world")
    return [send, receive] * 10 if first else [receive, send] * 10


def test_only_ranks_that_make_a_call_have_to_agree_with_its_formulas() -> None:
    """On rank 0, size - 1 and (rank - 1) mod size are the same; on other ranks they need not be."""
    found = model(token, LINES)
    shape = build_scalable(found, still, FUNCTIONS).shape
    assert shape is not None
    rival_checks = [one for one in shape.requirements if "are equal in all traces" in one.complaint]
    assert rival_checks
    sides = {"X": 7, "P": 7}
    for rank in range(7):
        names = {variable.name: sides.get(variable.name, rank) for variable in shape.variables().values()}
        assert all(evaluate(one.cond, names) for one in rival_checks)


def test_butterflies_want_powers_of_two() -> None:
    found = model(butterfly, [(4,), (8,), (16,), (32,)])
    program = build_scalable(found, still, FUNCTIONS)
    assert program.shape is not None
    assert program.shape.powers
    for dims in ((8,), (64,)):
        compare(program, found, dims)


@pytest.mark.parametrize(("body", "steps"), [(panels, 1), (ends, 1), (ends, 4)])
def test_iterations_that_differ(body: Body, steps: int) -> None:
    """Formulas of the iterations of the loops around, and what follows how often such a loop has run."""

    def repeated(rank: Rank) -> list[IssuedCall]:
        return body(rank) * steps + [call("Barrier", 99, comm="world")]

    found = model(repeated, [(3, 3), (4, 4), (5, 5), (6, 6)], groups=True)
    program = build_scalable(found, still, FUNCTIONS)
    for dims in ((2, 2), (3, 3), (7, 7)):
        compare(program, found, dims)


def round_robin(rank: Rank) -> list[IssuedCall]:
    """Each time to another rank, in nested loops: indices are quotients and remainders of the sides."""
    made = []
    for i in range(3 * rank.dims[0]):
        peer = (rank.number + 1) % rank.dims[0] if i % rank.dims[0] else rank.number
        made.append(call("Send", 1, count=4 + i % rank.dims[0], dest=peer, tag=1, comm="world"))
    return [*made, call("Barrier", 9, comm="world")]


def test_values_that_go_round() -> None:
    found = model(round_robin, LINES)
    program = build_scalable(found, still, FUNCTIONS)
    for dims in ((3,), (7,), (12,)):
        compare(program, found, dims)


@pytest.mark.parametrize("wrap", [False, True])
def test_conceptual_does_as_that_of_the_size(wrap: bool) -> None:
    found = typed(halos(wrap))
    text = generate_scalable(found, "conceptual", still, FUNCTIONS).text
    for x, y in ((3, 4), (5, 5)):
        fixed = generate(of_model(found, x * y, (x, y)).trace, "conceptual").text
        assert calls_of_tasks(text, x * y, {"x": x, "y": y}) == calls_of_tasks(fixed, x * y, {})


def test_the_text_is_what_a_person_writes() -> None:
    found = typed(halos(False))
    messages = tuple(
        replace(rule, children=tuple(child for child in rule.children if child.op in ("Irecv", "Isend")))
        for rule in found.nodes
        if rule.op is None
    )
    text = generate_scalable(replace(found, nodes=messages), "c", still, FUNCTIONS).text
    body = text[text.index("static void benchmark") :]
    assert body.index("if (x > 0) {") < body.index("rank - Y") < body.index("if (y > 0) {")
    assert "if (y < Y - 1) {" in body
    assert "%" not in body[: body.index("/* One line per operation")]


def test_sizes_of_blocks_divide_tasks() -> None:
    """coNCePTuaL's messages cannot have sizes that differ within a set of tasks."""
    found = typed(model(wavefront, [*PLANES, (6, 6)], 24))
    text = generate_scalable(found, "conceptual", still, FUNCTIONS).text
    fixed = generate(of_model(found, 20, (4, 5), {"n": 31}, accept_unconfirmed=True).trace, "conceptual").text
    assert calls_of_tasks(text, 20, {"x": 4, "y": 5, "n": 31}) == calls_of_tasks(fixed, 20, {})


def shares(rank: Rank) -> list[IssuedCall]:
    """A rank's part of 4096 elements is divided once more among all ranks; every size divides evenly."""
    return [call("Bcast", 1, count=4096 // prod(rank.dims) ** 2, root=0, comm="world")]


def test_conceptual_asserts_what_formulas_demand() -> None:
    found = typed(model(shares, [(2,), (4,), (8,)], 4096))
    text = generate_scalable(found, "conceptual", still, FUNCTIONS).text
    assert "are equal in all traces, but not here" in text
    fixed = generate(of_model(found, 16, (16,), {"n": 4096}).trace, "conceptual").text
    assert calls_of_tasks(text, 16, {"n": 4096}) == calls_of_tasks(fixed, 16, {})
    with pytest.raises(ProgramError, match="are equal in all traces, but not here"):
        calls_of_tasks(text, 3, {"n": 4096})


def mirrored(rank: Rank) -> list[IssuedCall]:
    """Cells as in BT: some formulas differ only where the points divide with other remainders."""
    side, below, above = rank.dims[0], rank.neighbour((1, 0), True), rank.neighbour((-1, 0), True)

    def cells(row: int, column: int) -> int:
        return block(rank.n, side, -column - 1) * block(rank.n, side, row + column + 1)

    row, column = rank.place
    return [
        call("Irecv", 83, count=cells((row - 1) % side, column), source=above, tag=1, comm="world"),
        call("Isend", 84, count=cells(row, column), dest=below, tag=1, comm="world"),
        call("Waitall", 85, requests=(1, 0)),
    ] * 3


def test_conceptual_asserts_for_each_task_what_formulas_demand_there() -> None:
    found = typed(model(mirrored, [(2, 2), (3, 3), (4, 4), (5, 5)], 24))
    text = generate_scalable(found, "conceptual", still, FUNCTIONS).text
    assert text.count("FOR EACH t IN {0, ..., num_tasks - 1} {") == 1
    for side in (4, 6):
        made = of_model(found, side * side, (side, side), {"n": 24}, accept_unconfirmed=True)
        fixed = generate(made.trace, "conceptual").text
        assert calls_of_tasks(text, side * side, {"x": side, "y": side, "n": 24}) == calls_of_tasks(
            fixed, side * side, {}
        )
    with pytest.raises(ProgramError, match="are equal in all traces, but not here"):
        calls_of_tasks(text, 49, {"x": 7, "y": 7, "n": 24})


def persistent(rank: Rank) -> list[IssuedCall]:
    """Persistent requests around a ring, then an exchange in place."""
    size = rank.dims[0]
    left, right = (rank.number - 1) % size, (rank.number + 1) % size
    step = [call("Startall", 72, requests=(1, 0)), call("Waitall", 73, requests=(1, 0))]
    return [
        call("Recv_init", 70, count=8, source=left, tag=1, comm="world"),
        call("Send_init", 71, count=8, dest=right, tag=1, comm="world"),
        *step * 3,
        call("Sendrecv_replace", 74, count=2, dest=right, sendtag=2, source=left, recvtag=2, comm="world"),
    ]


def test_persistent_requests_and_exchanges_in_place() -> None:
    found = typed(model(persistent, LINES))
    text = generate_scalable(found, "conceptual", still, FUNCTIONS).text
    fixed = generate(of_model(found, 7, (7,)).trace, "conceptual").text
    assert "ASYNCHRONOUSLY SEND A 64 BYTE MESSAGE" in text
    assert "SEND A 16 BYTE MESSAGE" in text
    assert calls_of_tasks(text, 7, {}) == calls_of_tasks(fixed, 7, {})


SQUARES = [(4, 4), (5, 5), (6, 6), (7, 7)]


def diagonals(rank: Rank) -> list[IssuedCall]:
    """Each rank has a diagonal of cells, and sends its points down the column."""
    below, above = rank.neighbour((1, 0), True), rank.neighbour((-1, 0), True)
    points, column = diagonal(rank.n, rank.dims[0], rank.place[1], 1), rank.place[1]
    return [
        call("Irecv", 80, count=points, source=above, tag=column, comm="world"),
        call("Isend", 81, count=points, dest=below, tag=column, comm="world"),
        call("Waitall", 82, requests=(1, 0)),
    ] * 3


def test_sizes_that_are_another_on_each_task_are_said_one_task_after_the_other() -> None:
    found = typed(model(diagonals, SQUARES, 18))
    text = generate_scalable(found, "conceptual", still, FUNCTIONS).text
    assert "FOR EACH s IN {0, ..., num_tasks - 1} " in text
    for n, side in ((18, 3), (29, 4), (5, 8)):
        made = of_model(found, side * side, (side, side), {"n": n}, accept_unconfirmed=True)
        fixed = generate(made.trace, "conceptual").text
        assert calls_of_tasks(text, side * side, {"x": side, "y": side, "n": n}) == calls_of_tasks(
            fixed, side * side, {}
        )


def growing(rank: Rank) -> list[IssuedCall]:
    """Counts and tags that grow with the place: no limit of theirs is known before the grid is given."""
    own = rank.number
    return [call("Send", 90, count=800 * own + 1, dest=own, tag=900 * own, comm="world")] * 2


def test_numbers_whose_limits_are_those_of_the_grid_are_ordinary() -> None:
    body = generate_scalable(typed(model(growing, LINES)), "c", still, FUNCTIONS).text
    assert "Send(rank * 800 + 1, DOUBLE, rank, rank * 900, WORLD);" in body
    assert "Send_c" not in body


def test_sums_over_diagonals_need_no_sum() -> None:
    translator = ExprTranslator(shape_of(model(halo(False), LINES)))
    for n, parts, shift, sign in product((1, 5, 16, 23), (2, 3, 7), range(-8, 9), (1, -1)):
        e = translator.expr(Called("diagonal", (Const(n), Const(parts), Const(shift), Const(sign))))
        assert value(e, InterpretSetting({}, lambda family: (0, 1))) == diagonal(n, parts, shift, sign)


def test_unknown_functions_are_refused() -> None:
    found = model(halo(False), LINES)
    first = found.nodes[0]
    unknown = replace(first.repeat.parts[0], formulas=(parse_number("f(X)"),))
    odd = replace(first, repeat=replace(first.repeat, parts=(unknown,)))
    with pytest.raises(GenerateError, match="function f"):
        build_scalable(replace(found, nodes=(odd,)), still, FUNCTIONS)


def test_drawn_times_want_a_trace() -> None:
    found = model(halo(False), LINES)
    with pytest.raises(UsageError, match="drawn"):
        generate_scalable(found, "c", still, FUNCTIONS, GenerateOptions(EmitOptions(drawn=True)))


def ring(border: bool) -> Body:
    """Messages to the right; any tag everywhere, or only where a border has no neighbour."""

    def body(rank: Rank) -> list[IssuedCall]:
        size, left, right = rank.dims[0], rank.number - 1, rank.number + 1
        source = (left if left >= 0 else PROC_NULL) if border else left % size
        dest = (right if right < size else PROC_NULL) if border else right % size
        tag = (1 if source >= 0 else ANY_TAG) if border else ANY_TAG
        return [
            call("Irecv", 10, count=64, source=source, tag=tag, comm="world"),
            call("Send", 11, count=64, dest=dest, tag=1, comm="world"),
            call("Wait", 12, request=0),
            call("Irecv", 13, count=64, source=source, tag=2, comm="world"),
            call("Send", 14, count=64, dest=dest, tag=2, comm="world"),
            call("Wait", 15, request=0),
        ]

    return body


@pytest.mark.parametrize("border", [False, True])
def test_any_tag(border: bool) -> None:
    """A receive of any tag takes all of them; one from nobody leaves the others their tags."""
    found = typed(model(ring(border), LINES))
    text = generate_scalable(found, "conceptual", still, FUNCTIONS).text
    assert ("USING TAG 2" in text) == border


@pytest.mark.parametrize(
    "options", [["--times", "drawn"], ["--absolute-ranks"], ["--at", "Irecv", "bytes=2"]]
)
def test_sizes_of_the_command_line_bind_formulas(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, bound = typed(halos(True)), tmp_path / "42.st"
    found = replace(found, nodes=tuple(rule for rule in found.nodes if rule.op != "Allreduce"))
    scalatrace.save(found, formulas := tmp_path / "app.stx")
    scalatrace.save(of_model(found, 42, (6, 7)).trace, bound)
    texts = []
    for words in ([str(bound)], [str(formulas), "--dims", "6x7"]):
        assert main(["generate", *words, "--to", "c", *options]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
