"""Computations that alternate by a rule are told by how often a call was met, where nothing looks back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.codegen.builders.recorded import build
from scalatrace.codegen.program.tree import Branch, ComputeStatement, LoopStatement, MpiCall, Stmt
from scalatrace.codegen.timing.predecessor_schedule import (
    ComputeNumber,
    _endless,
    _period,
    _visits_with_call,
)
from scalatrace.trace.model.nodes import Event, PredStats, Sequence
from scalatrace.trace.model.tables import Op, RecordedStat
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.model.trace_tables import START
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.vec import Vec

TURNS = st.lists(st.one_of(st.none(), st.integers(0, 2)), min_size=1, max_size=12)


@given(TURNS, st.integers(1, 5), st.integers(0, 11))
def test_a_period_has_all_turns_that_are_known(turns: list[ComputeNumber], times: int, cut: int) -> None:
    whole = (turns * times)[: max(1, len(turns) * times - cut)]
    if all(turn is None for turn in whole):
        return
    for vec in _endless(_period(whole)):
        for turn, number in zip(whole, vec.first(len(whole)), strict=True):
            assert turn is None or turn == number


def _after(pred: int, count: int, ns: int) -> PredStats:
    return PredStats(pred, (Histogram(count, ns, ns, ns, 0.0),))


def alternating(nsteps: int) -> Trace:
    """Send in every step, Recv in every other: each Send is 5 ms after a Recv, 1 ms after a Send."""
    every_other = Vec(((0, 0, 1, 0),))
    recv = Event(every_other, 1, 0, (), (_after(1, nsteps // 2, 100),))
    send = Event(Vec(1), 0, 0, (), (_after(2, nsteps // 2, 5_000_000), _after(1, nsteps // 2, 1_000_000)))
    return Trace(
        nprocs=1,
        ops=[Op("Barrier", ()), Op("Finalize", ())],
        preds=[START, (0, 0), (1, 0)],
        stats=[RecordedStat("compute_ns", 1.0)],
        nodes=[Sequence(Vec(nsteps), (recv, send))],
    )


def computed(stmts: tuple[Stmt, ...]) -> list[ComputeStatement]:
    """The computations right before the Barrier."""
    result: list[ComputeStatement] = []
    for stmt in stmts:
        match stmt:
            case LoopStatement(_, _, body):
                return computed(body)
            case Branch(_, then, otherwise):
                result += computed(then) + computed(otherwise)
            case ComputeStatement():
                result.append(stmt)
            case MpiCall("Finalize"):
                result.clear()
    return result


def test_alternating_computations_are_not_averaged() -> None:
    program = build(alternating(40), exact_times=False)
    assert sorted(c.contexts[0].duration.ns for c in computed(program.body)) == [1_000_000, 5_000_000]


def test_no_visit_after_the_last_execution_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vector without end has 200,000 visits, and a trace thousands of nodes."""
    read: list[int] = []

    def visits(_: Vec) -> Iterator[int]:
        while True:
            read.append(1)
            yield 1

    monkeypatch.setattr(Vec, "__iter__", visits)
    assert _visits_with_call(Vec(1), 0, 3) == [1, 1, 1]
    assert _visits_with_call(Vec(1), 0, 0) == []
    assert len(read) == 3
