"""Simulated threads of a rank: those that share a request, window or file wait for each other's uses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scalatrace import Trace
from scalatrace.executor.matching import Matching, SenderPolicy
from scalatrace.predict.engine.simulate import SimulationDeadlockError, simulate
from scalatrace.predict.platform import Platform
from scalatrace.trace.model.nodes import Event, Sequence
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import SharedKind
from scalatrace.trace.query.requests import OF_STREAM
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, Builder, Comm, To

STEP_NS = 1000
CREATED = OF_STREAM + OF_STREAM // 2
"""The first request of thread 0, in a call of another thread."""


def in_threads(trace: Trace, *nevents: int) -> Trace:
    """Make the events of a trace those of several threads, so many of each."""
    nodes, streams, at = trace.nodes, list[Event | Sequence](), 0
    for thread, n in enumerate(nevents):
        own = nodes[at : at + n]
        streams += [Sequence(Vec(1), tuple(own), thread)] if thread else own
        at += n
    return replace(trace, nodes=streams, meta={**trace.meta, "threads": str(len(nevents))})


def uses(trace: Trace, kind: SharedKind, entries: list[int], number: int = 0) -> Trace:
    return replace(trace, uses={**trace.uses, (kind, 0): vec_of([number, len(entries), *entries])})


def computing(steps: int) -> Histogram:
    return Histogram.of(steps * STEP_NS)


@pytest.mark.parametrize(
    ("entries", "steps"),
    [
        ([], 5),  # no order: the threads run side by side
        ([0, 0, 2, 2], 5),
        ([0, 2, 0, 2], 5),
        ([2, 2, 0, 0], 7),  # the first thread begins when the second one has ended
        ([2, 0, 2, 0], 5),
        ([1, 1, 3, 3], 5),  # uses that may overlap
        ([3, 3, 0, 0], 7),
        ([2, 1, 1, 2], 5),
        ([3, 1, 2, 0], 5),  # both threads, then the second one
    ],
)
@pytest.mark.parametrize("kind", [SharedKind.WINDOW, SharedKind.FILE])
def test_uses_of_an_object(kind: SharedKind, entries: list[int], steps: int) -> None:
    """Thread 0 uses it after 1 and 2 steps of computation, thread 1 after 3 and 2."""
    b = Builder(1)
    given = {"comm": Comm(), "win" if kind is SharedKind.WINDOW else "fh": 0}
    op = "Win_sync" if kind is SharedKind.WINDOW else "File_write"
    events = [b.event(op, at=(f"{i}",), compute=computing(n), **given) for i, n in enumerate((1, 2, 3, 2))]
    trace = in_threads(b.of(*events, every=True), 2, 2)
    if entries:
        trace = uses(trace, kind, entries)
    assert simulate(trace, Platform()).time_ns == pytest.approx(steps * STEP_NS, abs=1)


def test_objects_have_orders_of_their_own() -> None:
    """Thread 1 uses window 1 first, which thread 0 uses later; window 0 is of thread 0 alone."""
    b = Builder(1)
    events = [
        b.event("Win_sync", at=(f"{win}.{n}",), compute=computing(n), comm=Comm(), win=win)
        for win, n in ((0, 1), (1, 1), (1, 4))
    ]
    trace = uses(in_threads(b.of(*events, every=True), 2, 1), SharedKind.WINDOW, [2, 0], number=1)
    simulation = simulate(trace, Platform())
    assert simulation.time_ns == pytest.approx(4 * STEP_NS, abs=1)
    assert simulation.by_rank[0, 2] == pytest.approx(2 * STEP_NS * 1000, abs=1000)


def persistent(entries: list[int]) -> Trace:
    """Thread 0 makes, starts (after 1 step) and frees a receive; thread 1 waits for it twice, and sends."""
    b = Builder(1)
    message = {"count": 1, "datatype": DOUBLE, "tag": 5, "comm": Comm()}
    events = [
        b.event("Recv_init", at=("0",), source=To(Encoding.ABSOLUTE, Vec(0)), **message),
        b.event("Start", at=("1",), compute=computing(1), request=0),
        b.event("Start", at=("2",), compute=computing(1), request=0),
        b.event("Request_free", at=("3",), request=0),
        b.event("Send", at=("4",), dest=To(Encoding.ABSOLUTE, Vec(0)), **message),
        b.event("Wait", at=("5",), request=CREATED),
        b.event("Send", at=("6",), compute=computing(7), dest=To(Encoding.ABSOLUTE, Vec(0)), **message),
        b.event("Wait", at=("7",), request=CREATED - 1),
    ]
    return uses(in_threads(b.of(*events, every=True), 4, 4), SharedKind.REQUEST, entries)


def test_uses_of_a_persistent_request() -> None:
    """The second start comes after the first wait, and the end after the second one."""
    trace = persistent([0, 2, 0, 2, 0])
    simulation = simulate(trace, Platform())
    assert simulation.time_ns >= 8 * STEP_NS
    for policy in SenderPolicy:
        execution = Matching(trace).execute(policy, synchronous=False)
        assert execution.ended
        assert not execution.left()


def test_an_order_that_no_run_has() -> None:
    with pytest.raises(SimulationDeadlockError, match="rank 0 in"):
        simulate(persistent([0, 0, 0]), Platform())


def test_names_of_other_threads_are_none_in_a_trace_without_threads() -> None:
    b = Builder(2)
    trace = b.of(b.event("Wait", request=CREATED), b.event("Barrier", comm=Comm()))
    assert simulate(trace, Platform()).nevents == trace.nevents()
