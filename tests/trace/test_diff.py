"""Comparing traces event by event."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from scalatrace.errors import UsageError
from scalatrace.trace.model.nodes import Event, PredStats, Sequence
from scalatrace.trace.model.tables import Datatype, Family, Kind, Op, RecordedStat
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.model.trace_tables import START
from scalatrace.trace.query.diff import diff
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.vec import Vec
from support.builder import INT, Builder, Comm
from support.traces import naive_walk, traces

SEND = Op("Send", (("count", Kind.INT), ("datatype", Kind.TYPE), ("comm", Kind.COMM)))


def _trace(count: int = 5, comm: int = 0, times: int = 7, **tables: object) -> Trace:
    event = Event(Vec(1), 0, 1, (Vec(count), Vec(0), Vec(comm)), (PredStats(0, (Histogram.of(times),)),))
    given: dict[str, object] = {
        "ops": [SEND],
        "stats": [RecordedStat("compute_ns", 1.0)],
        "frames": ["a.py:1:f"],
        "signatures": [(), (0,)],
        "types": [Datatype("MPI_INT", 4, 4)],
    }
    trace = Trace(2, [Sequence(Vec(3), (event,))], **(given | tables))
    trace.comms.extend([Family("dup", 0, Vec((2,)), Vec((0, 1))), Family("dup", 0, Vec((2,)), Vec((0, 1)))])
    return trace


def _unrolled(trace: Trace) -> Trace:
    """The same events in another compressed form."""
    return replace(trace, nodes=[Sequence(Vec(1), (node,)) for node in trace.nodes])


@given(traces())
def test_a_trace_equals_itself_in_any_form(trace: Trace) -> None:
    assert diff(trace, trace) == []
    assert diff(trace, _unrolled(trace)) == []


@given(traces(), traces())
def test_finds_a_difference_exactly_when_there_is_one(a: Trace, b: Trace) -> None:
    b = replace(
        b, nprocs=a.nprocs, ranks=a.ranks, comms=a.comms, strings=a.strings, frames=a.frames, nodes=[]
    )
    expected = [rank for rank in range(a.nprocs) if list(naive_walk(a, rank))]
    assert [found.rank for found in diff(a, b, {"times"})] == expected


def test_what_differs_is_named() -> None:
    first, second = diff(_trace(), _trace(count=6))
    assert (first.rank, first.event, second.rank) == (0, 1, 1)
    assert "count=5" in first.left
    assert "count=6" in first.right
    assert str(first).startswith("rank 0, event 1:\n  - Send(")
    assert diff(_trace(), _trace(count=6), {"count"}) == []


def test_call_sites_and_times_can_be_ignored() -> None:
    elsewhere = _trace(frames=["b.py:1:f"])
    assert diff(_trace(), elsewhere)
    assert diff(_trace(), elsewhere, {"callsites"}) == []
    later = _trace(times=9)
    changed = diff(_trace(), later)[0]
    assert changed.left == changed.right
    assert (changed.left_stats, changed.right_stats) == ((("compute_ns", 1, 7),), (("compute_ns", 1, 9),))
    assert diff(_trace(), later, {"times"}) == []


def test_communicators_are_matched_not_numbered() -> None:
    assert diff(_trace(comm=3), _trace(comm=4)) == []
    assert diff(_trace(comm=0), _trace(comm=4))
    assert diff(_trace(comm=0), _trace(comm=4), {"comms"}) == []
    one, two = _trace(comm=3), _trace(comm=3)
    mixed = Event(Vec(1), 0, 1, (Vec(5), Vec(0), Vec(4)))
    assert diff(replace(one, nodes=[*one.nodes, mixed]), replace(two, nodes=two.nodes * 2), {"times"})


def test_types_are_compared_by_what_they_are() -> None:
    other = _trace(types=[Datatype("MPI_FLOAT", 4, 4)])
    assert "MPI_FLOAT" in str(diff(_trace(), other)[0])


def test_length_and_ranks() -> None:
    shorter = replace(_trace(), nodes=[])
    assert str(diff(_trace(), shorter)[0]).endswith("+ no more events")
    assert str(diff(shorter, _trace())[0]).endswith(")") is False
    (found,) = diff(_trace(), Trace(3))
    assert (found.rank, found.right) == (None, "ranks 0-2 of 3")


def test_unknown_words() -> None:
    with pytest.raises(UsageError, match="--ignore tiems: give callsites"):
        diff(_trace(), _trace(), {"tiems"})


def test_calls_that_differ_come_before_times() -> None:
    """Times differ in the first call already, as in all runs."""

    def run(count: int, mean_ns: int) -> Trace:
        b = Builder(2)
        b.trace.stats.append(RecordedStat("comm_ns", 1.0))
        times = (PredStats(0, (None, Histogram(2, mean_ns, mean_ns, mean_ns, 0))),)
        trace = b.of(
            replace(b.event("Barrier", comm=Comm()), stats=times),
            b.event("Bcast", count=count, datatype=INT, root=0, comm=Comm()),
        )
        trace.preds[:] = [START]
        return trace

    assert [each.event for each in diff(run(1, 1000), run(2, 2000))] == [2, 2]
    assert [each.event for each in diff(run(1, 1000), run(1, 2000))] == [1, 1]


def test_times_of_equal_calls_differ_without_a_walk() -> None:
    """There are more calls than are compared one by one."""

    def run(mean_ns: int) -> Trace:
        b = Builder(2)
        b.trace.stats.append(RecordedStat("comm_ns", 1.0))
        times = (PredStats(0, (None, Histogram(2, mean_ns, mean_ns, mean_ns, 0))),)
        trace = b.of(b.loop(1 << 33, replace(b.event("Barrier", comm=Comm()), stats=times)))
        trace.preds[:] = [START]
        return trace

    assert [each.event for each in diff(run(1000), run(2000))] == [1, 1]
