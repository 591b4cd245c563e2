"""Traces without the calls that returned errors."""

from __future__ import annotations

from scalatrace.operations import Category, operation
from scalatrace.trace.consistency.failed import repeatable
from support.builder import INT, Builder, Comm, stencil


def test_a_trace_without_failures_stays() -> None:
    trace = stencil()
    assert repeatable(trace) is trace


def test_what_calls_with_errors_did_stays() -> None:
    b = Builder(2)
    bcast = {"count": 1, "datatype": INT, "root": 0, "comm": Comm()}
    trace = b.of(
        b.loop(3, b.event("Bcast_failed", error="MPI_ERR_ROOT")),
        b.event("Bcast", **bcast),
        b.event("Bcast_error", **bcast, error="MPI_ERR_TRUNCATE"),
        b.event("Barrier_failed", error="MPI_ERR_COMM"),
    )
    plain = repeatable(trace)
    assert [call.op for call in plain.walk(0)] == ["Bcast", "Bcast"]
    assert len(plain.nodes) == 2
    kept = repeatable(trace, keep_failed=True)
    assert [call.op for call in kept.walk(0)] == ["Bcast_failed"] * 3 + ["Bcast", "Bcast", "Barrier_failed"]


def test_the_table_of_operations() -> None:
    assert operation("Recv_error").recvs == operation("Recv").recvs
    assert operation("Recv_failed").category is Category.OTHER
