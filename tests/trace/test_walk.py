"""The walk, and everything that is counted without walking, against the plainest reading of the format."""

from __future__ import annotations

import pytest
from hypothesis import given

from scalatrace.errors import FormatError, UsageError
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.nodes import Event, Peer, PredStats, Sequence
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import Datatype, Kind, Op, RecordedStat
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.model.trace_tables import START
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import ANY_SOURCE, Vec
from support.traces import naive_walk, traces


@given(traces())
def test_walk_equals_expansion(trace: Trace) -> None:
    for rank in range(trace.nprocs):
        expected = list(naive_walk(trace, rank))
        walked = list(trace.walk(rank))
        assert [(c.node.op, c.node.signature, c.values) for c in walked] == expected
        assert trace.nevents(rank) == len(expected)
        pairs = [START, *[(op, signature) for op, signature, _ in expected]]
        assert [c.pred for c in walked] == [trace.pred_index.get(pair, -1) for pair in pairs[: len(walked)]]
    assert trace.nevents() == sum(trace.nevents(rank) for rank in range(trace.nprocs))


@given(traces())
def test_who_runs_a_node_takes_part_in_it(trace: Trace) -> None:
    for rank in range(trace.nprocs):
        assert all(rank in trace.participants(call.node) for call in trace.walk(rank))


@given(traces())
def test_parameters_resolve(trace: Trace) -> None:
    kinds = {Kind.TYPE: Datatype, Kind.STRING: str, Kind.ARRAY: tuple, Kind.INT: int, Kind.PEER: int}
    for call in trace.walk(0):
        for name, kind in trace.ops[call.node.op].params:
            if kind in kinds:
                assert isinstance(call[name], kinds[kind])
            else:
                assert 0 in call.comm.members
                assert call.comm.members[call.comm.rank] == 0
        assert call.params == {name: call[name] for name, _ in trace.ops[call.node.op].params}


def _ring(**changes: object) -> Trace:
    comm = Op("Isend", (("dest", Kind.PEER), ("comm", Kind.COMM)))
    event = Event(Vec(2), 0, 1, (Peer(Encoding.MODULO, Vec(1)), Vec(0)), (PredStats(0, (Histogram.of(5),)),))
    fields = {
        "ops": [comm],
        "frames": ["a/b.py:3:main"],
        "signatures": [(), (0,)],
        "preds": [START, (0, 1)],
        "stats": [RecordedStat("compute_ns", 10.0)],
        "nodes": [Sequence(Vec(3), (event,))],
    }
    return Trace(4, **(fields | changes))


def test_a_ring() -> None:
    trace = _ring()
    calls = list(trace.walk(3))
    assert [call["dest"] for call in calls] == [0] * 6
    assert (calls[0].op, calls[0].site, calls[0].stack) == ("Isend", "a/b.py:3:main", ("a/b.py:3:main",))
    assert calls[0].stat("compute_ns") == Histogram(1, 50, 50, 50, 0)
    assert (calls[1].stat("compute_ns"), calls[0].stat("nonsense")) == (None, None)
    assert (trace.nevents(), trace.nnodes, len(list(trace.leaves()))) == (24, 2, 1)
    assert "tag" not in calls[0]
    assert calls[0].get("tag", 7) == 7


def test_special_peers_are_never_relative() -> None:
    event = Event(Vec(1), 0, 0, (Peer(Encoding.RELATIVE, Vec((ANY_SOURCE,))), Vec(0)))
    assert [next(_ring(nodes=[event]).walk(r))["dest"] for r in range(4)] == [ANY_SOURCE] * 4


def test_huge_loops_start_at_once() -> None:
    event = Event(Vec(((0, 0, 1, 0),)), 0, 0, (Peer(Encoding.ABSOLUTE, Vec(((0, 1, 0),))), Vec(0)))
    trace = _ring(nodes=[Sequence(Vec(1 << 62), (Sequence(Vec(1 << 62), (event,)),))])
    walk = trace.walk(0)
    assert [next(walk)["dest"] for _ in range(4)] == [0, 1, 2, 3]
    assert trace.nevents(0) == 1 << 123


def test_sequences_that_never_run_anything_do_not_hang() -> None:
    event = Event(Vec(0), 0, 0, (Peer(Encoding.ABSOLUTE, Vec(0)), Vec(0)))
    assert list(_ring(nodes=[Sequence(Vec(1 << 62), (event,))]).walk(0)) == []


def test_ranks_that_are_not_there() -> None:
    with pytest.raises(UsageError, match="rank 4 is not"):
        _ring().walk(4)
    with pytest.raises(UsageError, match="rank 1 is not"):
        _ring(ranks=RankList([0, 2])).nevents(1)
    with pytest.raises(UsageError, match="not in this trace"):
        _ring().participants(Sequence(Vec(1), ()))


@pytest.mark.parametrize(
    "node",
    [
        Event(Vec((1,)), 0, 0, (Peer(Encoding.ABSOLUTE, Vec(0)), Vec(7))),
        Event(Vec((2,)), 0, 0, (Peer(Encoding.ABSOLUTE, Vec((1,))), Vec(0))),
        Sequence(Vec(2), (Event(Vec((1,)), 0, 0, (Peer(Encoding.ABSOLUTE, Vec(1)), Vec(0))),)),
        Event(Vec(1), 0, 0, (Peer(Encoding.ABSOLUTE, Groups([(RankList([1]), Vec(1))])), Vec(0))),
        Event(Vec(1), 0, 0, (Peer(Encoding.MODULO, Vec(1)), Vec(2000))),
    ],
)
def test_a_trace_that_contradicts_itself_is_an_error(node: Event | Sequence) -> None:
    with pytest.raises(FormatError):
        [call.params for call in _ring(nodes=[node]).walk(0)]
