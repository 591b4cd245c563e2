"""Computation times: before each call as long as the trace says for what was called before it."""

from __future__ import annotations

import pytest

from scalatrace import Trace
from scalatrace.codegen.builders.recorded import build
from scalatrace.codegen.program.interpret import EvaluationSetting, run
from scalatrace.codegen.program.tree import Computation, MpiCall, statements
from scalatrace.codegen.timing.predecessors import Arrival, Predecessors
from scalatrace.formula import Const, Var, compare
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.nodes import Event, PredStats
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from support.builder import Builder, Comm

STEPS = 3


def after(event: Event, times: dict[int, int]) -> Event:
    """An event with a time for each predecessor."""
    stats = tuple(PredStats(pred, (Histogram.of(ns),)) for pred, ns in times.items())
    return Event(event.repeat, event.op, event.signature, event.params, stats)


def timed(inner: Vec | Groups) -> Trace:
    """A Bcast, a loop of (Barrier, Reduce of some or sometimes), and a Barrier of another line."""
    b = Builder(4)
    bcast = b.event("Bcast", at=("a.py:1:main",), comm=Comm())
    barrier = b.event("Barrier", at=("a.py:2:main",), comm=Comm())
    probe = b.event("Probe", inner, at=("a.py:3:main",), comm=Comm())
    last = b.event("Barrier", at=("a.py:4:main",), comm=Comm())
    nodes = [
        after(bcast, {0: 1000}),
        b.loop(STEPS, after(barrier, {1: 2000, 2: 3000, 3: 4000}), after(probe, {2: 5000})),
        after(last, {2: 6000, 3: 7000}),
    ]
    trace = b.of(*nodes)
    for event in (bcast, barrier, probe, last):
        trace.preds.append((event.op, event.signature))
    return trace


def waits(trace: Trace, rank: int, exact: bool) -> list[tuple[str, float]]:
    """What a rank calls and how long it computes before."""
    result, last, ns = [], 0, 0.0
    for stmt, at in run(build(trace, exact), EvaluationSetting({"rank": rank}, lambda _: (rank, 4))):
        if isinstance(stmt, MpiCall):
            result.append((stmt.op, ns))
            last, ns = stmt.mark or 0, 0.0
        elif len(stmt.contexts) == 1:
            ns = stmt.contexts[0].duration.ns
        elif stmt.first is not None:
            ns = stmt.contexts[min(1, at.variables[stmt.first.name])].duration.ns
        else:
            ns = next(c.duration.ns for c in stmt.contexts if last in c.marks)
    return result


def recorded(trace: Trace, rank: int) -> list[tuple[str, float]]:
    means = ((call.op, call.stat("compute_ns")) for call in trace.walk(rank))
    return [(op, h.mean if h else 0.0) for op, h in means]


def test_all_ranks_alike() -> None:
    trace = timed(Vec(1))
    for rank in range(4):
        assert waits(trace, rank, True) == recorded(trace, rank)
    computes = [s for s in statements(build(trace).body) if isinstance(s, Computation)]
    assert [s.first.name for s in computes if s.first] == ["i1"]  # the loop tells, nobody looks back
    assert sum(len(s.contexts) > 1 for s in computes) == 2  # but for what follows it


def test_ranks_that_went_other_ways() -> None:
    trace = timed(Groups([(RankList([0, 2]), Vec(1))]))
    for rank in range(4):
        assert waits(trace, rank, True) == recorded(trace, rank)


def test_iterations_that_went_other_ways() -> None:
    trace = timed(Vec((1, 0, 1)))
    for rank in range(4):
        assert waits(trace, rank, True) == recorded(trace, rank)


def test_without_looking_back_ranks_have_computations_of_their_own() -> None:
    trace = timed(Groups([(RankList([0, 2]), Vec(1))]))
    for rank in range(4):
        assert waits(trace, rank, False) == recorded(trace, rank)


def test_without_looking_back_what_iterations_do_not_tell_is_averaged() -> None:
    """Each rank computes as long in all as it did."""
    trace = timed(Vec((1, 0, 1)))
    for rank in range(4):
        found, exact = waits(trace, rank, False), recorded(trace, rank)
        assert [op for op, _ in found] == [op for op, _ in exact]
        assert sum(ns for _, ns in found) == pytest.approx(sum(ns for _, ns in exact))


def test_a_condition_on_the_first_iteration_tells_what_came_before() -> None:
    loop, everyone = Var("i", 4), RankList.all(2)
    predecessors = Predecessors.start(everyone).looped(Predecessors.start(everyone).called(3, everyone), loop)
    called = predecessors.called(7, everyone)
    late = predecessors.unless(compare("!=", loop, Const(0)), called)
    assert late.of(everyone) == [Arrival(frozenset({0}), frozenset({7}), loop)]
    early = predecessors.unless(compare("==", loop, Const(0)), called)
    assert early.of(everyone) == [Arrival(frozenset({7}), frozenset({3}), loop)]
    assert predecessors.unless(compare("<", loop, Const(2)), called) == predecessors.either(called)
