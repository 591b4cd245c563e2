"""GOAL read back by its grammar: messages match, and each rank keeps the order of its walk."""

from __future__ import annotations

import pytest

from scalatrace import Trace
from scalatrace.predict.export.goal import GOAL
from scalatrace.predict.lowering import Computation, RecvMessage, SendMessage, TraceLowering, WaitAction
from scalatrace.trace.values.histogram import Histogram
from support.builder import DOUBLE, Builder, Comm, stencil
from support.goal import execute, goal_of, read_goal
from support.lowered import every_kind


@pytest.mark.parametrize("trace", [stencil(), every_kind(4), every_kind(6)])
def test_read_back(trace: Trace) -> None:
    ranks = read_goal(goal_of(trace))
    execute(ranks)
    for number, rank in enumerate(ranks):
        actions = [a for a in TraceLowering(trace, GOAL).actions(number) if not isinstance(a, WaitAction)]
        assert len(rank) == len(actions)
        for operation, action in zip(rank.values(), actions, strict=True):
            assert isinstance(action, SendMessage | RecvMessage)
            kind = "send" if isinstance(action, SendMessage) else "recv"
            expected = kind, max(action.nbytes, 1), action.peer, action.tag
            assert (operation.kind, operation.size, operation.peer, operation.tag) == expected


def test_what_follows_a_wait_needs_its_requests() -> None:
    trace = every_kind(4)
    for number, rank in enumerate(read_goal(goal_of(trace))):
        labels = iter(rank)
        by_request: dict[int, str] = {}
        awaited: set[str] = set()
        for action in TraceLowering(trace, GOAL).actions(number):
            if isinstance(action, WaitAction):
                awaited |= {by_request[request] for request in action.requests}
                continue
            label = next(labels)
            assert not awaited - ended_before(rank, label)
            if isinstance(action, SendMessage | RecvMessage) and action.request is not None:
                by_request[action.request] = label
            else:
                awaited.add(label)


def ended_before(rank: dict, label: str) -> set[str]:  # type: ignore[type-arg]
    """Labels that have ended when an operation begins, by all its dependencies."""
    result: set[str] = set()
    todo = [label]
    begun_only = {label}
    while todo:
        operation = rank[todo.pop()]
        for each in operation.ended:
            if each not in result:
                result.add(each)
                todo.append(each)
        for each in operation.begun:
            if each not in begun_only:
                begun_only.add(each)
                todo.append(each)
    return result


def test_remainders_of_times_are_carried() -> None:
    b = Builder(2)
    total = {"count": 1, "datatype": DOUBLE, "op": "MPI_SUM", "comm": Comm()}
    trace = b.of(b.event("Allreduce", compute=Histogram(4, 10, 11, 10.75, 0.4), **total))
    lowered = TraceLowering(trace, GOAL)
    computed = sum(a.ns for a in lowered.actions(0) if isinstance(a, Computation))
    text = goal_of(trace)
    written = sum(op.size for op in read_goal(text)[0].values() if op.kind == "calc")
    assert written == int(computed)
