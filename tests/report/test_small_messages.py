"""Many small messages: named by their number, size and cost; not where something else takes the time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scalatrace.executor.ideal_run import IdealRun
from scalatrace.report.page.gather import PageOptions, TraceAggregates, gather
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.nodes import Event, Node, PredStats, Sequence, node_numbers
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, Builder, Comm, To
from support.small_messages import LONG_NS, NRANKS, P2P, STEPS, exchange, measured


def aggregates(trace: Trace, ideal: IdealRun | None = None) -> TraceAggregates:
    return gather(trace, "a.st", options=PageOptions(ideal=ideal))


def kinds(trace: Trace) -> list[str]:
    return [entry.kind for entry in aggregates(trace).advice]


def test_they_are_named_by_number_size_and_place() -> None:
    found = aggregates(measured(exchange(500)))
    assert found.small is not None
    # 500 pairs of calls of 3 µs, with 1 µs before each, in a step of 2 ms more.
    assert found.small.share == pytest.approx(500 * 8 / (500 * 8 + 2000 + 3))
    assert found.small.sentence.startswith(
        "67 % of the time goes to 500 small messages of 8 B per rank in each of 10 iterations"
    )
    assert found.small.sentence.endswith(" at a.py:7.")
    first = found.advice[0]
    assert first.kind == "small-messages"
    assert first.text.startswith("500 small messages of 8 B per rank in each of 10 iterations at a.py:7.")
    assert dict(first.numbers)["messages of all ranks"] == "20,000"
    assert dict(first.numbers)["to the same partner, one after another"] == "500"


def test_a_run_without_long_computation_has_them_per_rank() -> None:
    trace = exchange(500)
    trace.nodes = list(trace.nodes[0].nodes[:1])  # type: ignore[union-attr]
    found = aggregates(measured(trace))
    assert found.small is not None
    assert "500 small messages of 8 B per rank at" in found.small.sentence


@pytest.mark.parametrize(
    "trace",
    [
        measured(exchange(4)),  # a few messages
        measured(exchange(500, doubles=4000)),  # their bytes take the time
        measured(exchange(500), {"Send": 50_000}),  # each has a computation of its own
        measured(exchange(500), {"Barrier": 10**9}),  # they cost next to nothing
    ],
    ids=["few", "large", "computing", "cheap"],
)
def test_they_are_not_named_where_something_else_costs(trace: Trace) -> None:
    assert "small-messages" not in kinds(trace)
    assert aggregates(trace).small is None


def farm(task_ns: int) -> Trace:
    """Rank 0 hands out tasks, for which it waits as long as they take."""
    b = Builder(3)
    workers = Groups([(RankList([1, 2]), Vec(1))])
    master = b.loop(
        Groups([(RankList([0]), Vec(400))]),
        b.event("Recv", at=("farm.py:3:serve",), count=1, **P2P, source=1),
        b.event("Send", at=("farm.py:4:serve",), count=1, **P2P, dest=1),
        b.event("Recv", at=("farm.py:3:serve",), count=1, **P2P, source=2),
        b.event("Send", at=("farm.py:4:serve",), count=1, **P2P, dest=2),
    )
    work = b.loop(
        Groups([(RankList([1, 2]), Vec(400))]),
        b.event("Ssend", workers, at=("farm.py:8:work",), count=1, **P2P, dest=0),
        b.event("Recv", workers, at=("farm.py:9:work",), count=1, **P2P, source=0),
    )
    return measured(b.of(master, work), {"Ssend": task_ns})


def test_tasks_are_no_small_messages_but_empty_ones_are() -> None:
    """A master computes nothing between its messages; the workers do."""
    assert "small-messages" not in kinds(farm(LONG_NS))
    assert "small-messages" in kinds(farm(2_000))


def test_collective_calls() -> None:
    b = Builder(NRANKS)
    total = b.event("Allreduce", at=("sum.py:3:dot",), count=1, datatype=DOUBLE, comm=Comm())
    end = b.event("Barrier", at=("sum.py:9:main",), comm=Comm())
    found = aggregates(measured(b.of(b.loop(STEPS, b.loop(300, total), end))))
    assert found.small is not None
    assert (
        "300 small Allreduce calls of 8 B per rank in each of 10 iterations at sum.py:3"
        in found.small.sentence
    )


def test_waiting_for_late_ranks_is_not_their_cost() -> None:
    trace = measured(exchange(500), comm_ns=100_000)
    calls_ns = NRANKS * STEPS * 500 * 2 * 100_000.0
    long_waits = IdealRun(1e9, (calls_ns / NRANKS * 0.995,) * NRANKS)
    late, quick = aggregates(trace, long_waits), aggregates(trace, IdealRun(1e9, (0.0,) * NRANKS))
    assert late.small is None
    assert "late-senders" in [entry.kind for entry in late.advice]
    assert quick.small is not None
    assert quick.small.share > 0.9
    assert "late-senders" not in [entry.kind for entry in quick.advice]


def test_calls_that_take_much_longer_than_a_message_wait() -> None:
    """Where ranks shared cores, they may wait for these."""
    assert "small-messages" not in kinds(measured(exchange(500), comm_ns=2_000_000))


def test_number_of_the_call_that_sends() -> None:
    trace = measured(exchange(500))
    found = aggregates(trace)
    numbers = node_numbers(trace.nodes)
    (sends,) = [leaf for leaf in trace.leaves() if trace.ops[leaf.op].name == "Send"]
    assert isinstance(sends, Event)
    assert found.small is not None
    assert found.small.node == numbers[id(sends)]


def halo_of_cells() -> Trace:
    """Each step: a long computation, then a message for each of 100 cells, and a completion."""
    b = Builder(NRANKS)
    receive = b.event("Irecv", at=("a.py:7:post",), count=1, **P2P, source=To(Encoding.MODULO, Vec(-1)))
    send = b.event("Isend", at=("a.py:8:post",), count=1, **P2P, dest=To(Encoding.MODULO, Vec(1)))
    back = b.event("Isend", at=("a.py:9:post",), count=1, **P2P, dest=To(Encoding.MODULO, Vec(-1)))
    end = b.event("Waitall", at=("a.py:10:main",), requests=tuple(range(300)))
    return b.of(b.loop(STEPS, b.loop(100, receive), b.loop(100, send), b.loop(100, back), end))


def test_messages_of_an_iteration_count_together() -> None:
    """The computation before the first of them does not part them; one before the last would."""
    trace = measured(halo_of_cells())
    first = next(trace.leaves())
    rows = (PredStats(1, (histogram(NRANKS * STEPS, LONG_NS), histogram(NRANKS * STEPS, 3_000))),)

    def with_first(node: Node) -> Node:
        if isinstance(node, Sequence):
            return replace(node, nodes=tuple(map(with_first, node.nodes)))
        return replace(node, stats=(*node.stats, *rows)) if node is first else node

    found = aggregates(replace(trace, nodes=[with_first(node) for node in trace.nodes])).small
    assert found is not None
    assert "200 small messages of 8 B per rank in each of 10 iterations at a.py:8 and a.py:9" in found.text
    assert found.total == NRANKS * STEPS * 200


def histogram(count: int, ns: float) -> Histogram:
    return Histogram(count, ns, ns, ns, 0, ())
