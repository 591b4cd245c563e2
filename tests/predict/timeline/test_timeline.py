"""Times are consistent: within a rank, between the ends of messages, and in collectives."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import pytest

from scalatrace import Trace
from scalatrace.predict.timeline import TimedCall, Timeline
from scalatrace.trace.values.histogram import Histogram
from support.builder import DOUBLE, Builder, Comm, stencil
from support.lowered import every_kind, on


def all_events(timeline: Timeline) -> list[list[TimedCall]]:
    return [list(timeline.events(rank)) for rank in timeline.ranks]


@pytest.mark.parametrize("trace", [stencil(), every_kind(4), every_kind(6)])
def test_consistent(trace: Trace) -> None:
    timeline = Timeline(trace)
    events = all_events(timeline)
    sent: dict[str, TimedCall] = {}
    received: dict[str, TimedCall] = {}
    for rank, own in enumerate(events):
        assert [event.call.op for event in own] == [call.op for call in trace.walk(rank)]
        for before, after in pairwise(own):
            assert before.start_ns < before.end_ns < after.start_ns
        for event in own:
            for message in event.messages:
                table = sent if message.sent else received
                assert message.name not in table
                table[message.name] = event
    assert sent.keys() == received.keys()
    assert all(received[name].end_ns > event.start_ns for name, event in sent.items())
    assert timeline.count() == sum(map(len, events))


def test_late_ranks_delay_the_others() -> None:
    b = Builder(3)
    trace = b.of(
        b.event("Send", repeat=on({0: 1}), count=1, datatype=DOUBLE, dest=1, tag=0, comm=Comm(),
                compute=Histogram.of(1_000_000)),
        b.event("Recv", repeat=on({1: 1}), count=1, datatype=DOUBLE, source=0, tag=0, comm=Comm()),
        b.event("Barrier", comm=Comm()),
    )  # fmt: skip
    events = all_events(Timeline(trace))
    assert events[0][0].start_ns == 1_000_000
    assert events[1][0].start_ns == 0
    assert events[1][0].end_ns > 1_000_000
    assert events[2][0].end_ns > events[1][0].end_ns


def test_windows_and_ranks() -> None:
    trace = every_kind(6)
    whole = all_events(Timeline(trace, ranks=[1, 4]))
    end = Timeline(trace, ranks=[1, 4]).end_ns
    window = (0.25 * end, 0.5 * end)
    part = all_events(Timeline(trace, ranks=[1, 4], window_ns=window))
    for own, chosen in zip(whole, part, strict=True):
        expected = [e for e in own if e.end_ns >= window[0] and e.start_ns <= window[1]]
        assert [(e.start_ns, e.messages) for e in chosen] == [(e.start_ns, e.messages) for e in expected]
        assert 0 < len(chosen) < len(own)
    peers = defaultdict(set)
    for own in whole:
        for event in own:
            peers[event.rank] |= {message.peer for message in event.messages}
    assert set(peers) == {1, 4}


def test_messages_without_a_partner_set_no_bound() -> None:
    b = Builder(2)
    trace = b.of(
        b.event("Recv", repeat=on({0: 2}), count=1, datatype=DOUBLE, source=1, tag=0, comm=Comm()),
        b.event("Barrier", comm=Comm()),
    )
    assert [len(own) for own in all_events(Timeline(trace))] == [3, 1]
