"""Rows of messages, of calls that differ in their tags and in more."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from scalatrace.operations import operation
from scalatrace.trace.consistency.messages import MessageRows, messages_of_event, peer_of, tag_of
from scalatrace.trace.query.counting import executions_of
from support.calls import IssuedCall, call, record

Step = tuple[int, int, bool]
"""Count, tag and whether a Sendrecv stands in place of a Send and a Recv."""

STEPS = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 5), st.booleans()), max_size=12)


def _calls(rank: int, steps: list[Step]) -> list[IssuedCall]:
    result, other = [], 1 - rank
    for count, tag, both in steps:
        sent = {"datatype": "MPI_INT", "dest": other, "count": count}
        received = {"datatype": "MPI_INT", "source": other, "count": count + 1}
        if both:
            names = {"sendcount": count, "sendtype": "MPI_INT", "dest": other, "sendtag": tag}
            names |= {"recvcount": count + 1, "recvtype": "MPI_INT", "source": other, "recvtag": tag}
            result.append(call("Sendrecv", 3, **names, comm="world"))
        else:
            result.append(call("Isend", 1, **sent, tag=tag, comm="world", request=0))
            result.append(call("Irecv", 2, **received, tag=tag, comm="world", request=0))
    return result


@given(STEPS, st.integers(1, 4))
def test_rows_are_those_of_the_calls(steps: list[Step], turns: int) -> None:
    """Every call of the walk is in a row, and every row is of calls."""
    trace = record([_calls(rank, steps * turns) for rank in (0, 1)])
    expected: tuple[Counter[tuple[int, ...]], Counter[tuple[int, ...]]] = Counter(), Counter()
    for rank in trace.ranks:
        for issued in trace.walk(rank):
            row = operation(issued.op)
            for flow, name, counted in ((row.sends, "sendtag", 0), (row.recvs, "recvtag", 1)):
                if flow is not None and (peer := peer_of(issued, flow)) is not None:
                    ends = (rank, peer) if counted == 0 else (peer, rank)
                    expected[counted][issued.family, *ends, tag_of(issued, name), flow.nbytes(issued)] += 1
    listed: tuple[Counter[tuple[int, ...]], Counter[tuple[int, ...]]] = Counter(), Counter()
    rows = MessageRows()
    for rank in trace.ranks:
        for event, times in executions_of(trace, rank):
            messages = messages_of_event(trace, event, rank, times)
            rows.add(messages)
            for which, table in enumerate((messages.sent, messages.received)):
                for *key, n in table.tolist():
                    listed[which][tuple(key)] += n
    assert listed == expected
    assert rows.unbalanced() == (Counter(), Counter())


def test_messages_that_do_not_fit() -> None:
    """A longer message, and one that nobody receives, are named with their numbers."""
    steps: list[Step] = [(3, tag, False) for tag in range(4)]
    first, second = _calls(0, steps), _calls(1, steps)
    first.append(call("Send", 7, count=9, datatype="MPI_INT", dest=1, tag=2, comm="world"))
    trace = record([first, second])
    rows = MessageRows()
    for rank in trace.ranks:
        for event, times in executions_of(trace, rank):
            rows.add(messages_of_event(trace, event, rank, times))
    sent, received = rows.unbalanced()
    assert {tuple(key): n for key, n in sent.items()} == {(0, 0, 1, 2): 2}
    assert {tuple(key): n for key, n in received.items()} == {(0, 0, 1, 2): 1}
    assert {tuple(key): sizes for key, sizes in rows.unequal_sizes().items()} == {
        (0, 0, 1, 2): ({24: 1, 72: 1}, {32: 1})
    }
