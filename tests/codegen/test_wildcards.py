"""Senders for receives from any source (Algorithm 3): checked against the plainest execution there is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from scalatrace.codegen.matching import MatchingError, has_wildcards, resolve_wildcards
from scalatrace.codegen.matching.execution.choices import CAREFUL
from scalatrace.codegen.matching.execution.script import _comes_again
from scalatrace.codegen.matching.wildcards import ExecutionPlan
from scalatrace.errors import UsageError
from scalatrace.trace.io.check import check
from scalatrace.trace.model.elastic import Summary
from scalatrace.trace.model.nodes import Peer
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG, PROC_NULL, Vec
from support.builder import Builder, Comm, To
from support.calls import IssuedCall, call, record, walked
from support.naive import Naive
from support.random_programs import Program, programs

WORLD = {"comm": "world"}
ANYONE: dict[str, Any] = {"source": ANY_SOURCE, "tag": ANY_TAG, "comm": "world"}


def send(dest: int, tag: int = 0, site: int = 10, op: str = "Send", comm: str = "world") -> IssuedCall:
    return call(op, site, dest=dest, tag=tag, comm=comm)


def recv(
    source: int = ANY_SOURCE, tag: int = 0, site: int = 20, op: str = "Recv", comm: str = "world"
) -> IssuedCall:
    return call(op, site, source=source, tag=tag, comm=comm)


def sources(trace: Trace, rank: int) -> list[int]:
    return [made["source"] for made in trace.walk(rank) if "source" in made]


def assert_resolved(before: Trace, after: Trace) -> None:
    """Each rank makes the same calls but for what was open, and all messages match one to one, in order."""
    assert not has_wildcards(after)
    check(after)
    for rank in before.ranks:
        for old, new in zip(walked(before, rank), walked(after, rank), strict=True):
            assert old[:2] == new[:2]
            changed = [was for (_, was), (_, now) in zip(old[2], new[2], strict=True) if was != now]
            assert set(changed) <= {ANY_SOURCE, ANY_TAG}
    played = Naive(after, synchronous=False)
    assert (played.stuck, played.unreceived) == ([], [])


@settings(derandomize=True)  # choosing senders is no exact science: now and then a program finds no end
@given(programs())
def test_random_programs(program: Program) -> None:
    trace = record(*program)
    assert_resolved(trace, resolve_wildcards(trace))


@settings(max_examples=20, derandomize=True)
@given(programs(closed=True, turns=20))
def test_iterations_that_are_alike_are_not_executed(program: Program) -> None:
    trace = record(*program)
    assert_resolved(trace, resolve_wildcards(trace))


def test_nothing_open_is_nothing_to_do() -> None:
    trace = record([[send(1)], [recv(0)]])
    assert not has_wildcards(trace)
    assert resolve_wildcards(trace) is trace


def test_figure_4_6_has_a_way_out() -> None:
    trace = record([[send(1)], [recv(), recv(0, site=21)], [send(1)]])
    assert sources(resolve_wildcards(trace), 1) == [2, 0]


def test_tags_that_only_one_rank_uses_need_no_execution() -> None:
    """As in LU: from the west with tag 1, from the east with tag 2."""
    n = 6
    ranks = [
        [*([recv(tag=1)] if r else []), *([send(r + 1, 1)] if r < n - 1 else []),
         *([recv(tag=2, site=21)] if r < n - 1 else []),
         *([send(r - 1, 2, 11)] if r else [])] * 20
        for r in range(n)
    ]  # fmt: skip
    trace = record(ranks)
    plan = ExecutionPlan(trace)
    assert plan.certain().keys() == plan.unnamed.keys()
    made = resolve_wildcards(trace)
    assert_resolved(trace, made)
    assert made.nnodes == trace.nnodes
    peers = [leaf.params[0] for leaf in made.leaves() if made.ops[leaf.op].name == "Recv"]
    assert all(isinstance(p, Peer) and p.value in (Vec(1), Vec(-1)) for p in peers)


def test_the_answers_of_a_manager_say_whom_it_heard() -> None:
    """Who asked is not in the trace; whom the manager answered is."""
    order = [3, 1, 2, 2, 3, 1, 1, 3, 2, 2, 1, 3]
    ranks: list[list[IssuedCall]] = [[] for _ in range(4)]
    for worker in order:
        ranks[0] += [recv(tag=ANY_TAG), send(worker, site=11)]
        ranks[worker] += [send(0, site=30), recv(0, site=31)]
    trace = record(ranks)
    made = resolve_wildcards(trace)
    assert_resolved(trace, made)
    assert sources(made, 0) == order


def test_messages_are_taken_in_turns() -> None:
    """A root that hears from everybody in each step: the same order every time, so one short vector."""
    ranks = [[recv() for _ in range(3)] * 50, *([send(0)] * 50 for _ in range(3))]
    made = resolve_wildcards(record(ranks))
    assert sources(made, 0) == [1, 2, 3] * 50


def test_a_persistent_receive_keeps_its_sender() -> None:
    start, wait = call("Start", 40, request=0), call("Wait", 41, request=0)
    ranks = [
        [
            recv(op="Recv_init"),
            *[start, wait] * 3,
            call("Request_free", 42, request=0),
            recv(site=21),
            recv(site=21),
        ],
        [send(0)] * 2,
        [send(0)] * 3,
    ]
    made = resolve_wildcards(record(ranks))
    assert sources(made, 0) == [2, 1, 1]


def test_a_probe_saw_what_is_received_next() -> None:
    ranks = [[recv(op="Probe"), recv(2, site=21), recv(op="Iprobe"), recv(site=22)], [send(0)], [send(0)]]
    made = resolve_wildcards(record(ranks))
    assert sources(made, 0) == [2, 2, 1, 1]


def test_a_matched_probe_receives() -> None:
    mrecv = call("Mrecv", 25, message=0)
    ranks = [[recv(op="Mprobe"), mrecv, recv(op="Improbe"), mrecv], [send(0)], [send(0)]]
    assert sources(resolve_wildcards(record(ranks)), 0) == [1, 2]


def test_both_halves_of_a_sendrecv() -> None:
    shift = [
        [call("Sendrecv", 10, dest=(r + 1) % 5, sendtag=1, source=ANY_SOURCE, recvtag=ANY_TAG, comm="world")]
        * 6
        for r in range(5)
    ]
    made = resolve_wildcards(record(shift))
    assert [sources(made, r) for r in range(5)] == [[(r - 1) % 5] * 6 for r in range(5)]


def test_numbers_are_those_of_the_communicator() -> None:
    groups = {"sub": [[3, 1, 0, 2]]}
    ranks = [[recv(comm="sub")] * 3, *([send(2, comm="sub")] for _ in range(3))]
    made = resolve_wildcards(record(ranks, groups))
    assert sorted(sources(made, 0)) == [0, 1, 3]


def test_what_takes_no_message_stays() -> None:
    """A receive from nobody stays; a cancelled one gets no message, though one sender only could send it."""
    ranks = [
        [
            recv(PROC_NULL),
            recv(),
            recv(op="Irecv", site=22),
            call("Cancel", 23, request=0),
            call("Wait", 24, request=0),
        ],
        [send(0)],
    ]
    made = resolve_wildcards(record(ranks))
    assert sources(made, 0) == [PROC_NULL, 1, PROC_NULL]


def test_messages_of_one_sender_do_not_overtake() -> None:
    """The receive posted first gets the first message, though the second is waited for first."""
    ranks = [
        [
            recv(op="Irecv"),
            recv(op="Irecv", site=21),
            call("Wait", 22, request=0),
            call("Wait", 23, request=0),
        ],
        [send(0, tag=0)],
        [send(0, tag=0)],
    ]
    assert_resolved(record(ranks), resolve_wildcards(record(ranks)))


def test_senders_that_were_not_kept_are_an_error() -> None:
    b = Builder(2)
    unknown: Any = To(Encoding.ABSOLUTE, Summary(None, 0))
    trace = b.of(
        b.event("Send", dest=unknown, tag=0, comm=Comm()),
        b.event("Recv", source=ANY_SOURCE, tag=0, comm=Comm()),
    )
    with pytest.raises(UsageError, match="dest of MPI_Send was recorded as a histogram"):
        resolve_wildcards(trace)


def all_to_one(n: int, turns: int) -> Trace:
    """Each step every rank hears from its two neighbours, from whichever first, then all meet."""
    step = [
        [call("Irecv", 10, **ANYONE), call("Irecv", 11, **ANYONE),
         send((r + 1) % n, 1, 12), send((r - 1) % n, 2, 13),
         call("Waitall", 14, requests=(1, 0)), call("Allreduce", 15, count=1, comm="world")]
        for r in range(n)
    ]  # fmt: skip
    return record([calls * turns for calls in step])


@pytest.mark.parametrize("turns", [50, 150])
def test_steps_do_not_grow_with_iterations(turns: int) -> None:
    """Up to 64 ranks: one iteration is executed, and found to leave everything as it was."""
    n = 64 if turns > 100 else 8
    trace = all_to_one(n, turns)
    plan = ExecutionPlan(trace)
    execution = plan.execute(CAREFUL, synchronous=False, recorded=frozenset(plan.unnamed))
    assert execution.report is None
    assert execution.engine.steps == 6 * n
    made = resolve_wildcards(trace)
    assert not has_wildcards(made)
    heard = sources(made, 3)
    assert heard == heard[:2] * turns
    assert made.nnodes == trace.nnodes


def test_steps_are_calls_where_no_iteration_is_like_another() -> None:
    order = [1 + i * i % 3 for i in range(200)]
    ranks: list[list[IssuedCall]] = [[] for _ in range(4)]
    for worker in order:
        ranks[0] += [recv(), send(worker, site=11)]
        ranks[worker] += [send(0, site=30), recv(0, site=31)]
    plan = ExecutionPlan(record(ranks))
    assert plan.execute(CAREFUL, synchronous=False).engine.steps == 800


@pytest.mark.parametrize(
    ("vec", "n", "turns", "again"),
    [
        (Vec(7), 3, 5, True),
        (Vec(((0, 0, 1, 2),)), 4, 100, True),
        (Vec(((0, 0, 1, 2),)), 3, 100, False),
        (Vec((2, (0, 0, 1, 2))), 2, 100, True),
        (Vec((3, (0, 0, 1, 2))), 2, 100, False),
        (Vec(((0, 1, 5),)), 1, 100, False),
        (Vec((4, 5, 4, 5)), 2, 2, True),
        (Vec((4, 5, 4, 6)), 2, 2, False),
        (Vec((4, 5)), 2, 2, False),
        (Vec(()), 0, 2, True),
    ],
)
def test_whether_iterations_are_alike(vec: Vec, n: int, turns: int, again: bool) -> None:
    assert _comes_again(vec, n, turns) == again


def _restarted(order: list[int]) -> list[list[IssuedCall]]:
    """Rank 0 starts one receive from any source again and again; only the rank that it asks sends then."""
    ranks: list[list[IssuedCall]] = [[recv(tag=ANY_TAG, op="Recv_init")], [], [], []]
    for sender in order:
        ranks[0] += [call("Start", 40, request=0), send(sender, site=41), call("Wait", 42, request=0)]
        ranks[sender] += [recv(0, site=30), send(0, tag=sender, site=31)]
    ranks[0].append(call("Request_free", 43, request=0))
    return ranks


def test_each_start_of_a_persistent_receive_has_a_sender_of_its_own() -> None:
    order = [1, 2, 3, 3, 1]
    made = resolve_wildcards(record(_restarted(order)))
    starts = [each for each in made.walk(0) if each.op == "Start"]
    assert [each["sources"] for each in starts] == [(sender,) for sender in order]
    assert [each["tags"] for each in starts] == [(sender,) for sender in order]


def test_starts_stay_as_they_are_where_all_have_one_sender() -> None:
    made = resolve_wildcards(record(_restarted([2, 2, 2])))
    assert sources(made, 0) == [2]
    assert not any("sources" in each for each in made.walk(0))


def test_the_answer_to_a_receive_that_is_completed_later_says_whom_it_heard() -> None:
    """Two receives are open at once; the rank answers the one that it completed."""
    order = [2, 1, 2, 2, 1, 1, 2, 1]
    ranks: list[list[IssuedCall]] = [[recv(op="Irecv"), recv(op="Irecv")], [], []]
    for sender in order:
        ranks[0] += [call("Wait", 40, request=1), recv(op="Irecv"), send(sender, site=41)]
        ranks[sender] += [send(0, site=30), recv(0, site=31)]
    ranks[0] += [call("Cancel", 42, request=age) for age in (0, 1)] + [call("Waitall", 43, requests=(0, 1))]
    made = resolve_wildcards(record(ranks))
    assert sources(made, 0) == [*order, PROC_NULL, PROC_NULL]


def test_threads_are_named_where_their_calls_do_not_fit_together() -> None:
    trace = record([[recv(), recv(), send(1), send(2)], [recv(0), send(0)], [recv(0), send(0)]])
    trace.meta["threads"] = "2"
    with pytest.raises(MatchingError) as caught:
        resolve_wildcards(trace)
    assert "2 threads of a rank called MPI" in str(caught.value)
    assert "deadlock" not in str(caught.value)
    assert "\n" not in str(caught.value)
