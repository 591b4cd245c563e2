"""Which requests a Start starts, and what they move: live requests by age, along the walk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalatrace
from scalatrace.errors import LimitError
from scalatrace.operations import operation
from scalatrace.pmpi import parameter_rules as rules
from scalatrace.pmpi.standard import procedures
from scalatrace.report.costs.rows import CostRow, by_node, by_rank
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.nodes import Node
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.query.counting import executions_of
from scalatrace.trace.query.requests import ENDING, STARTING, ages, started
from scalatrace.trace.query.walk import walk
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import PROC_NULL, UNDEFINED, Vec
from support.builder import DOUBLE, INT, Builder, Comm, To
from support.mpis import Mpi
from support.programs import Sample


class Program:
    """A trace of one rank, call by call; every request-making call has its own tag."""

    def __init__(self) -> None:
        self.builder, self.nodes = Builder(1), list[Node]()

    def make(self, op: str, tag: int) -> None:
        peer = "source" if "ecv" in op else "dest"
        self.call(op, count=1, datatype=INT, **{peer: 0}, tag=tag, comm=Comm())

    def call(self, op: str, **params: Any) -> None:
        self.nodes.append(self.builder.event(op, **params))

    def started(self) -> list[tuple[int, ...]]:
        """The tags of what each start starts."""
        trace = self.builder.of(*self.nodes)
        starts = [event for event, _ in executions_of(trace, 0) if trace.ops[event.op].name in STARTING]
        found = list(started(trace, 0))
        return [tuple(made["tag"] for at, made, _ in found if at is event) for event in starts]


@pytest.fixture
def three() -> Program:
    """An Isend between two persistent requests: ages 2 (tag 10), 1 (tag 11, ends), 0 (tag 12)."""
    program = Program()
    for tag, op in enumerate(("Send_init", "Isend", "Recv_init"), 10):
        program.make(op, tag)
    return program


def test_a_start_without_requests_starts_nothing(three: Program) -> None:
    three.call("Start", count=1)
    three.call("Startall", requests=Vec(UNDEFINED))
    assert three.started() == [(), ()]


def test_ages_count_from_the_newest(three: Program) -> None:
    three.call("Start", request=2)
    three.call("Startall", requests=(0, 2))
    assert three.started() == [(10,), (12, 10)]


@pytest.mark.parametrize(
    ("op", "params"),
    [
        ("Wait", {"request": 1}),
        ("Test", {"request": 1}),
        ("Waitall", {"requests": (2, 1, 0)}),
        ("Testall", {"requests": (UNDEFINED, 1)}),
        ("Waitany", {"requests": (0, 1, 2), "index": 1}),
        ("Testany", {"requests": (1,), "index": 0}),
        ("Waitsome", {"requests": (2, 1)}),
        ("Testsome", {"requests": (1, 0)}),
        ("Request_free", {"request": 1}),
    ],
)
def test_what_completes_ends_unless_persistent(three: Program, op: str, params: dict[str, Any]) -> None:
    three.call(op, **params)
    three.call("Startall", requests=(1, 0))
    assert three.started() == [(10, 12)]


@pytest.mark.parametrize(
    ("op", "params"),
    [
        ("Waitany", {"requests": (2, 1), "index": 0}),
        ("Waitany", {"requests": (1,), "index": UNDEFINED}),
        ("Request_get_status", {"request": 1}),
        ("Cancel", {"request": 1}),
        ("Pready", {"partition": 0, "request": 2}),
        ("Iprobe", {"source": 0, "tag": 1, "comm": Comm()}),
    ],
)
def test_what_ends_no_request(three: Program, op: str, params: dict[str, Any]) -> None:
    three.call(op, **params)
    three.call("Startall", requests=(2, 0))
    assert three.started() == [(10, 12)]


def test_only_freeing_ends_a_persistent_request(three: Program) -> None:
    three.call("Request_free", request=2)
    three.call("Start", request=0)
    three.make("Ssend_init", 13)
    three.call("Startall", requests=(1, 0))
    assert three.started() == [(12,), (12, 13)]


def test_what_names_no_persistent_request_is_left_out(three: Program) -> None:
    three.call("Startall", requests=(UNDEFINED, 1, 3, 0))
    assert three.started() == [(12,)]


def test_likes_are_counted_together() -> None:
    """Requests made, started twice and freed in a loop: one line for each of the two values of the count."""
    b = Builder(1)
    counts = Vec(((50, 0, 3, 4),))
    make = b.event("Send_init", count=counts, datatype=INT, dest=0, tag=1, comm=Comm())
    start, free = b.event("Start", 2, request=0), b.event("Request_free", request=0)
    trace = b.of(b.loop(100, make, start, free))
    found = [(event is start, made["count"], times) for event, made, times in started(trace, 0)]
    assert found == [(True, 3, 100), (True, 4, 100)]


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Loops that make, start, complete and free requests, of which some vary from turn to turn."""
    program, b = Program(), Builder(1)
    program.builder = b

    def ages_of(event: str) -> Vec:
        low = draw(st.integers(0, 3))
        return Vec(((9000, low, draw(st.sampled_from([0, 0, 0, 1]))),)) if event == "Start" else Vec(low)

    def event() -> Node:
        op = draw(
            st.sampled_from(["Send_init", "Isend", "Start", "Startall", "Wait", "Waitall", "Request_free"])
        )
        if op in ("Send_init", "Isend"):
            return b.event(op, count=draw(st.integers(1, 2)), datatype=INT, dest=0, tag=1, comm=Comm())
        if op.endswith("all"):
            return b.event(op, requests=tuple(draw(st.lists(st.integers(0, 4), max_size=3))))
        return b.event(op, draw(st.integers(1, 2)), request=ages_of(op))

    def nodes(depth: int) -> list[Node]:
        kinds = draw(st.lists(st.booleans(), min_size=1, max_size=4))
        return [
            b.loop(draw(st.integers(1, 9)), *nodes(depth - 1)) if depth and inner else event()
            for inner in kinds
        ]

    program.nodes = nodes(3)
    return program


@given(programs())
@settings(max_examples=300, deadline=None)
def test_loops_are_counted_as_their_calls_are(program: Program) -> None:
    """Against live requests that are tracked call by call."""
    trace = program.builder.of(*program.nodes)
    live: list[Call] = []
    expected: Counter[tuple[int, int, int]] = Counter()
    for call in walk(trace, 0):
        named = [len(live) - 1 - age for age in ages(call) if age < len(live)] if "comm" not in call else []
        if call.op in ("Send_init", "Isend"):
            live.append(call)
        elif call.op in STARTING:
            for position in named:
                if live[position].op == "Send_init":
                    expected[id(call.node), id(live[position].node), live[position]["count"]] += 1
        else:
            gone = {k for k in named if call.op not in ENDING or live[k].op == "Isend"}
            live = [one for k, one in enumerate(live) if k not in gone]
    found = {(id(at), id(made.node), made["count"]): n for at, made, n in started(trace, 0)}
    assert found == expected


def test_who_starts_nothing_is_not_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    b = Builder(2)
    only_one = Groups([(RankList([1]), Vec(1))])
    trace = b.of(
        b.event("Send_init", count=1, datatype=INT, dest=0, tag=1, comm=Comm()),
        b.event("Start", only_one, request=0),
    )
    walked = []
    real = scalatrace.trace.query.requests.compiled
    monkeypatch.setattr(
        "scalatrace.trace.query.requests.compiled",
        lambda t, nodes, rank: walked.append(rank) or real(t, nodes, rank),
    )
    assert trace.matrix("messages").tolist() == [[0, 0], [1, 0]]
    assert walked == [1]


def _ring(persistent: bool) -> Builder:
    """Four ranks: 9 doubles to the right, 2 integers to nobody, a broadcast of 5 doubles, seven times."""
    b = Builder(4)
    to_right, from_left = To(Encoding.MODULO, Vec(1)), To(Encoding.MODULO, Vec(-1))
    kind = ("Psend_init", "Recv_init", "Ssend_init", "Bcast_init") if persistent else (
        "Send", "Recv", "Ssend", "Bcast"
    )  # fmt: skip
    out: dict[str, Any] = {"partitions": 3, "count": 3} if persistent else {"count": 9}
    moved = (
        b.event(kind[0], **out, datatype=DOUBLE, dest=to_right, tag=0, comm=Comm()),
        b.event(kind[1], count=9, datatype=DOUBLE, source=from_left, tag=0, comm=Comm()),
        b.event(kind[2], count=2, datatype=INT, dest=PROC_NULL, tag=0, comm=Comm()),
        b.event(kind[3], count=5, datatype=DOUBLE, root=1, comm=Comm()),
    )
    if not persistent:
        b.of(b.loop(7, *moved))
        return b
    start = b.loop(7, b.event("Startall", requests=(3, 2, 1, 0)), b.event("Waitall", requests=(3, 2, 1, 0)))
    b.of(*moved, start, *(b.event("Request_free", request=0) for _ in moved))
    return b


def _bytes(rows: list[CostRow]) -> tuple[int, int]:
    return sum(row.sent for row in rows), sum(row.received for row in rows)


def test_started_sends_count_like_sends() -> None:
    """Partitions times count; the broadcast and PROC_NULL are in no matrix, but in the bytes."""
    plain, persistent = _ring(False).trace, _ring(True).trace
    ring = np.roll(np.eye(4, dtype=int), 1, axis=1)
    assert (persistent.matrix("bytes") == 7 * 72 * ring).all()
    for what in ("bytes", "messages"):
        assert (persistent.matrix(what) == plain.matrix(what)).all()
    expected = 4 * 7 * (72 + 8) + 7 * 40, 4 * 7 * 72 + 3 * 7 * 40
    for trace in (plain, persistent):
        assert _bytes(by_node(trace, "op")) == _bytes(by_node(trace, "site")) == expected
        assert _bytes(by_rank(trace)) == expected


def test_stats_give_the_bytes_to_the_start() -> None:
    rows = {row.key[0]: (row.calls, row.sent > 0) for row in by_node(_ring(True).trace, "op")}
    assert rows["Startall"] == (28, True)
    assert rows["Psend_init"] == (4, False)


@pytest.mark.mpi
def test_recorded_persistent_sends(
    openmpi: Mpi, recorded: Callable[[Mpi, int, Sample], tuple[Path, Path]]
) -> None:
    """Each of 100 steps sends what the Send_inits say; mpi4py's allreduce of an object sends as well."""
    trace = scalatrace.load(recorded(openmpi, 4, Sample("persistent.py"))[0])
    expected = np.zeros((4, 4), int)
    for call in (call for rank in range(4) for call in trace.walk(rank)):
        if call.op in ("Send", "Isend", "Send_init", "Sendrecv"):
            steps = 100 if call.op == "Send_init" else 1
            count, kind = ("sendcount", "sendtype") if call.op == "Sendrecv" else ("count", "datatype")
            expected[call.rank, call["dest"]] += steps * call[count] * call[kind].size
    right = np.roll(np.eye(4, dtype=int), 1, axis=1)
    assert (expected >= 800 * (right + right.T)).all()
    assert (trace.matrix("bytes") == expected).all()
    moved = {row.key[0]: (row.sent, row.received) for row in by_node(trace, "op")}
    assert moved["Startall"] == (4 * 1600, 4 * 1600)
    assert moved["Send_init"] == moved["Recv_init"] == (0, 0)


def test_which_operations_make_requests() -> None:
    """The table of operations against the MPI Forum's database, large-count variants too."""
    for procedure in filter(rules.is_event, procedures()):
        outs = [p for p in procedure.parameters if p.kind == "REQUEST" and p.direction == "OUT"]
        assert operation(procedure.name).makes_request == bool(outs), procedure.name
        assert operation(procedure.name).flow_later <= bool(outs), procedure.name


@pytest.mark.parametrize("depth", [1, 3, 12, 40])
@pytest.mark.parametrize("inside", [True, False])
def test_nested_loops_are_followed_in_linear_time(depth: int, inside: bool) -> None:
    """A loop whose iterations do not differ is followed once, whatever is around it."""
    b = Builder(2)
    neighbour = To(Encoding.MODULO, Vec(1))
    made = b.event("Send_init", count=8, datatype=DOUBLE, dest=neighbour, tag=1, comm=Comm())
    start, end = b.event("Start", request=0), b.event("Wait", request=0)
    node = b.loop(2, start, end) if inside else b.loop(2, b.event("Barrier", comm=Comm()))
    for _ in range(depth - 1):
        node = b.loop(2, node)
    trace = b.of(made, node) if inside else b.of(made, start, end, node)
    assert [n for _, _, n in started(trace, 0)] == [2**depth if inside else 1]


def test_iterations_without_calls_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop of very many iterations, with a call in the first one only."""
    monkeypatch.setattr("scalatrace.trace.query.requests.MAX_WALKED", 1000)
    b = Builder(2)
    once, neighbour = Vec((1, (0, 0, 0))), To(Encoding.MODULO, Vec(1))
    made = b.event("Send_init", count=8, datatype=DOUBLE, dest=neighbour, tag=1, comm=Comm())
    start = b.event("Start", request=0)
    with pytest.raises(LimitError, match="rank 0 starts persistent requests"):
        list(started(b.of(made, start, b.loop(5000, b.event("Barrier", once, comm=Comm()))), 0))
