"""Collective calls of a trace become points."""

from __future__ import annotations

import pytest

from scalatrace.replay.tune.points import CollectivePoint, LeftOutCalls, collect_calls, merge_calls
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.histogram import Histogram
from support.builder import DOUBLE, INT, Builder, Comm


def points_of(trace: Trace) -> list[CollectivePoint]:
    return merge_calls([collect_calls(trace, rank)[0] for rank in trace.ranks])


def test_operation_size_and_number_of_calls() -> None:
    b = Builder(4)
    sums = b.event("Allreduce", count=2, datatype=DOUBLE, op="MPI_SUM", comm=Comm())
    large = b.event("Allreduce", count=1000, datatype=INT, op="MPI_SUM", comm=Comm())
    [small, big] = points_of(b.of(b.loop(10, sums), large))
    assert (small.op, small.size, small.block, small.element, small.calls) == ("allreduce", 4, 16, 8, 10)
    assert (big.block, big.element, big.calls) == (4000, 4, 1)
    assert small.groups == ((0, 1, 2, 3),)


@pytest.mark.parametrize(
    ("op", "params", "block", "total"),
    [
        ("Alltoall", {"sendcount": 3, "sendtype": INT, "recvcount": 3, "recvtype": INT}, 12, 48),
        ("Gather", {"sendcount": 3, "sendtype": INT, "recvcount": 3, "recvtype": INT, "root": 1}, 12, 48),
        ("Bcast", {"count": 5, "datatype": DOUBLE, "root": 2}, 40, 40),
        ("Reduce_scatter", {"recvcounts": (1, 2, 3, 2), "datatype": DOUBLE, "op": "MPI_SUM"}, 16, 64),
        ("Barrier", {}, 0, 0),
    ],
)
def test_bytes_of_a_block_and_of_all(op: str, params: dict[str, object], block: int, total: int) -> None:
    b = Builder(4)
    [point] = points_of(b.of(b.event(op, **params, comm=Comm())))
    assert (point.op, point.block, point.total_bytes) == (op.lower(), block, total)
    assert point.root == params.get("root", 0)


def test_communicators_that_call_at_the_same_time() -> None:
    b = Builder(4)
    halves = b.family("split", (2, 2), (0, 2, 1, 3))
    [point] = points_of(
        b.of(b.event("Allreduce", repeat=6, count=1, datatype=DOUBLE, op="MPI_SUM", comm=halves))
    )
    assert point.groups == ((0, 2), (1, 3))
    assert (point.size, point.calls) == (2, 6)


def test_similar_sizes_are_one_point_of_the_most_frequent_size() -> None:
    b = Builder(2)
    calls = [
        b.event("Bcast", repeat=n, count=count, datatype=DOUBLE, root=0, comm=Comm())
        for n, count in ((1, 95), (5, 100), (1, 1000))
    ]
    assert [(point.block, point.calls) for point in points_of(b.of(*calls))] == [(800, 6), (8000, 1)]


def test_arrivals_follow_the_computation_before_most_calls() -> None:
    b = Builder(2)
    call = b.event("Barrier", compute=Histogram(2, 1000, 3000, 2000, 10), comm=Comm())
    [point] = points_of(b.of(call))
    assert point.arrivals_ns == ((0.0, 0.0),)  # without loads of ranks, all come at the same time


def test_what_no_rule_applies_to_is_left_out() -> None:
    b = Builder(2)
    own = b.event("Allreduce", count=2, datatype=DOUBLE, op="user", comm=Comm())
    later = b.event("Iallreduce", count=2, datatype=DOUBLE, op="MPI_SUM", comm=Comm(), request=0)
    alone = b.event("Bcast", count=2, datatype=DOUBLE, root=0, comm=Comm(1))
    sizes = {"sendcount": 1 << 28, "sendtype": DOUBLE, "recvcount": 1 << 28, "recvtype": DOUBLE}
    large = b.event("Alltoall", **sizes, comm=Comm())
    calls, left_out = collect_calls(b.of(own, later, alone, large), 0)
    assert calls == []
    assert left_out == [
        LeftOutCalls("Allreduce", "reduction by an operation of the program", 1),
        LeftOutCalls("Alltoall", "2 GiB or more", 1),
        LeftOutCalls("Iallreduce", "nonblocking or persistent", 1),
    ]
