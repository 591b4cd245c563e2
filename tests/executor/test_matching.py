"""Executions without time, and simulations of the senders that they choose."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from scalatrace.codegen.matching import resolve_wildcards
from scalatrace.errors import UsageError
from scalatrace.executor.matching import Matching, SenderPolicy, SlotState
from scalatrace.predict.engine import simulate
from scalatrace.predict.platform import Network, Platform, Segment
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG
from support.builder import Builder, Comm
from support.calls import call, record
from support.random_programs import Program, programs

FREE = Platform("free", Network((Segment(0),), None))


def receives(trace: Trace) -> list[Event]:
    return [leaf for leaf in trace.leaves() if "recv" in trace.ops[leaf.op].name.lower()]


@settings(max_examples=40, derandomize=True)
@given(programs())
def test_the_simulation_of_resolved_senders_ends(program: Program) -> None:
    trace = resolve_wildcards(record(*program))
    assert simulate(trace, FREE).nevents == trace.nevents()


def test_slots_name_the_messages_of_each_execution() -> None:
    receive = call("Recv", 20, source=ANY_SOURCE, tag=ANY_TAG, comm="world")
    sends = [[call("Send", 10, dest=0, tag=tag, comm="world")] * 2 for tag in (5, 6)]
    trace = record([[receive] * 4, *sends])
    matching = Matching(trace)
    assert matching.certain(receives(trace)) == {}
    execution = matching.execute(SenderPolicy.HIGHEST, synchronous=False, recorded=receives(trace))
    assert execution.ended
    matched = execution.matches(receives(trace))[id(receives(trace)[0])][0]
    filled = [[2, 6, 0, SlotState.FILLED], [1, 5, 0, SlotState.FILLED]]
    assert matched.slots.tolist() == [filled[0], filled[0], filled[1], filled[1]]


def test_a_nonblocking_sendrecv_is_one_request() -> None:
    """Its age counts once, and its completion waits for both halves."""
    n = 4
    ranks = [
        [
            call("Isendrecv", 10, dest=(r + 1) % n, sendtag=1, source=(r - 1) % n, recvtag=1, comm="world"),
            call("Irecv", 11, source=(r + 1) % n, tag=2, comm="world"),
            call("Send", 12, dest=(r - 1) % n, tag=2, comm="world"),
            call("Wait", 13, request=1),
            call("Wait", 14, request=0),
        ]
        for r in range(n)
    ]
    trace = record(ranks)
    assert Matching(trace).execute(SenderPolicy.CAREFUL, synchronous=False).ended
    assert simulate(trace, FREE).nevents == trace.nevents()


def test_a_message_without_receiver_is_an_error() -> None:
    b = Builder(2)
    trace = b.of(b.event("Send", tag=0, comm=Comm()))
    with pytest.raises(UsageError, match="cannot match calls: Send was recorded without its parameter dest"):
        Matching(trace)
