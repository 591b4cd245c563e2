"""The senders that are planned for receives from any source."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from scalatrace import Trace
from scalatrace.replay.calls import p2p
from scalatrace.replay.common.options import ComputeMode, ReplayOptions
from scalatrace.replay.engine.interleaving import IncomingMessage, RankReceive, interleaving
from scalatrace.replay.engine.senders import senders_of
from scalatrace.replay.run import run
from scalatrace.replay.transport.args import Count, Out
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG, Vec
from support.builder import BYTE, Builder, Comm
from support.memory_transport import MemoryTransport

Call = tuple[str, dict[str, Any]]


def wild(number: int, nbytes: int, tag: int = 0, exact: bool = True, likely: int = -1) -> RankReceive:
    return RankReceive(number, ANY_SOURCE, tag, nbytes, exact, likely)


def messages(**sent: Sequence[int]) -> dict[int, list[IncomingMessage]]:
    """Lengths by sender, r1=(...), all with tag 0."""
    return {int(name[1:]): [IncomingMessage(0, n) for n in lengths] for name, lengths in sent.items()}


def test_lengths_decide() -> None:
    receives = [wild(i, n) for i, n in enumerate((3, 7, 5, 3))]
    assert interleaving(receives, messages(r1=(7, 3), r2=(3, 5))) == [2, 1, 2, 1]


def test_a_wrong_choice_is_taken_back() -> None:
    """Both begin with 3: after the first one of rank 1, nobody would have 5."""
    receives = [wild(i, n) for i, n in enumerate((3, 5, 3, 4))]
    assert interleaving(receives, messages(r1=(3, 4), r2=(3, 5))) == [2, 2, 1, 1]


def test_the_likely_sender_comes_first() -> None:
    receives = [wild(0, 3, likely=2), wild(1, 3, likely=1)]
    assert interleaving(receives, messages(r1=(3,), r2=(3,))) == [2, 1]


def test_a_message_that_is_sent_later_is_not_chosen() -> None:
    sent = {1: [IncomingMessage(0, 3, earliest=1)], 2: [IncomingMessage(0, 3)]}
    assert interleaving([wild(0, 3, likely=1), wild(1, 3)], sent) == [2, 1]


def test_any_tag_takes_the_first_message() -> None:
    sent = {1: [IncomingMessage(8, 3), IncomingMessage(9, 4)], 2: [IncomingMessage(9, 4)]}
    assert interleaving([wild(0, 4, ANY_TAG), wild(1, 3, ANY_TAG), wild(2, 4, 9)], sent) == [2, 1, 1]


def test_a_named_source_takes_its_own() -> None:
    receives = [wild(0, 3), RankReceive(1, 1, 0, 3, exact=False), wild(2, 5)]
    assert interleaving(receives, messages(r1=(3, 5), r2=(3,))) == [2, 1, 1]


def test_a_buffer_may_be_longer_than_the_message() -> None:
    assert interleaving([wild(0, 9, exact=False)], messages(r1=(3,))) == [1]
    assert interleaving([wild(0, 9)], messages(r1=(3,))) is None


def test_a_search_has_a_limit() -> None:
    receives = [wild(i, 1) for i in range(20)]
    assert interleaving(receives, messages(r1=(1,) * 20), max_looks=10) is None


@pytest.mark.parametrize("seed", range(30))
def test_any_shuffle_has_an_order(seed: int) -> None:
    rng = random.Random(seed)
    sent = {
        r: [IncomingMessage(rng.randrange(2), rng.randrange(3)) for _ in range(rng.randrange(9))]
        for r in range(4)
    }
    order = [sender for sender, some in sent.items() for _ in some]
    rng.shuffle(order)
    left = {sender: iter(some) for sender, some in sent.items()}
    taken = [next(left[sender]) for sender in order]
    receives = [wild(i, m.nbytes, rng.choice((m.tag, ANY_TAG))) for i, m in enumerate(taken)]
    found = interleaving(receives, sent)
    assert found is not None
    rest = {sender: list(some) for sender, some in sent.items()}
    for sender, receive in zip(found, receives, strict=True):
        message = next(m for m in rest[sender] if receive.tag in (m.tag, ANY_TAG))
        rest[sender].remove(message)
        assert message.nbytes == receive.nbytes


# -- traces ------------------------------------------------------------------------------------------------


def trace_of(ranks: Sequence[Sequence[Call]], builder: Builder | None = None) -> Trace:
    """The calls of each rank."""
    b = builder or Builder(len(ranks))

    def only(rank: int, op: str, params: Mapping[str, Any]) -> Event:
        return b.event(op, repeat=Groups([(RankList([rank]), Vec(1))]), **params)

    return b.of(*(only(rank, op, params) for rank, calls in enumerate(ranks) for op, params in calls))


def send(dest: int, n: int, tag: int = 0) -> Call:
    return "Send", {"count": n, "datatype": BYTE, "dest": dest, "tag": tag, "comm": Comm()}


def recv(source: int, n: int, op: str = "Recv", tag: int = 0) -> Call:
    return op, {"count": n, "datatype": BYTE, "source": source, "tag": tag, "comm": Comm()}


def matched(n: int, source: int = ANY_SOURCE, tag: int = 0) -> list[Call]:
    return [
        ("Mprobe", {"source": source, "tag": tag, "comm": Comm()}),
        ("Mrecv", {"count": n, "datatype": BYTE, "message": 0}),
    ]


def planned(ranks: Sequence[Sequence[Call]]) -> list[int | None]:
    """The senders for rank 0's receives from any source."""
    senders = senders_of(trace_of(ranks), 0)
    assert 0 in senders
    result = []
    while senders.has_plan(0):
        result.append(senders.next(0))
    return result


def test_a_plan_follows_the_answers() -> None:
    """Rank 2's second result needs the task that rank 0 sends after the first."""
    ranks = [
        [*matched(5), send(2, 1), *matched(7), send(2, 1), *matched(5)],
        [send(0, 5)],
        [send(0, 5), *matched(1, source=0), send(0, 7), *matched(1, source=0)],
    ]
    assert planned(ranks) == [2, 2, 1]


def test_a_plan_follows_collective_calls() -> None:
    barrier = ("Barrier", {"comm": Comm()})
    ranks = [
        [*matched(5), *matched(6), barrier, *matched(5), *matched(7)],
        [barrier, send(0, 5), send(0, 7)],
        [send(0, 5), send(0, 6), barrier],
    ]
    assert planned(ranks) == [2, 2, 1, 1]


def test_a_plan_follows_a_root() -> None:
    bcast = ("Bcast", {"count": 1, "datatype": BYTE, "root": 0, "comm": Comm()})
    ranks = [
        [*matched(5), *matched(6), bcast, *matched(5), *matched(7)],
        [bcast, send(0, 5), send(0, 7)],
        [send(0, 5), send(0, 6), bcast],
    ]
    assert planned(ranks) == [2, 2, 1, 1]


def test_collective_calls_of_others_do_not_matter() -> None:
    """Ranks 1 and 2 have a communicator of their own, rank 0 has one of the same family."""
    b = Builder(3)
    half = b.family("split", (1, 2), (0, 1, 2))
    bcast = ("Bcast", {"count": 1, "datatype": BYTE, "root": 0, "comm": half})
    ranks = [[bcast, *matched(5), bcast, *matched(7)], [bcast, send(0, 7)], [bcast, bcast, send(0, 5)]]
    senders = senders_of(trace_of(ranks, b), 0)
    assert (senders.next(0), senders.next(0), senders.next(0)) == (2, 1, None)


def test_messages_of_one_length_need_no_plan() -> None:
    ranks = [[*matched(5), *matched(5)], [send(0, 5)], [send(0, 5)]]
    assert 0 not in senders_of(trace_of(ranks), 0)
    ranks = [[recv(ANY_SOURCE, 9), recv(ANY_SOURCE, 9)], [send(0, 5)], [send(0, 9)]]
    assert 0 not in senders_of(trace_of(ranks), 0)


def test_a_small_buffer_needs_one() -> None:
    ranks = [[recv(ANY_SOURCE, 4), recv(1, 9), recv(ANY_SOURCE, 4), recv(2, 8)],
             [send(0, 4), send(0, 9)], [send(0, 4), send(0, 8)]]  # fmt: skip
    assert planned(ranks) == [1, 2]


def test_messages_with_a_tag_of_one_sender_need_no_plan() -> None:
    """They come in the order in which they are sent, as along a wavefront with a tag for each neighbour."""
    lengths = (5, 9, 5)
    receives = [recv(ANY_SOURCE, n, tag=tag) for n in lengths for tag in (1, 2)]
    ranks = [receives, *([send(0, n, tag) for n in lengths] for tag in (1, 2))]
    assert 0 not in senders_of(trace_of(ranks), 0)
    assert 0 in senders_of(trace_of([*ranks, [send(0, 9, tag=2)]]), 0)
    anything = recv(ANY_SOURCE, 9, "Irecv", tag=ANY_TAG)
    assert 0 in senders_of(trace_of([[anything, *receives], *ranks[1:]]), 0)
    assert not senders_of(trace_of([[*matched(5), *matched(9)], [send(0, 5), send(0, 9)]]), 0)


def test_a_receive_of_any_tag_couples_the_tags() -> None:
    """Rank 1's first message may be taken by the second receive, if rank 2's comes earlier."""
    ranks = [
        [recv(ANY_SOURCE, 5, tag=2), recv(1, 9, tag=ANY_TAG), recv(ANY_SOURCE, 5, tag=2)],
        [send(0, 5, tag=2), send(0, 9, tag=1)],
        [send(0, 5, tag=2)],
    ]
    assert planned(ranks) == [1, 2]


def test_messages_of_several_threads_are_not_in_the_order_of_the_trace() -> None:
    ranks = [[recv(ANY_SOURCE, 5), recv(ANY_SOURCE, 9)], [send(0, 9), send(0, 5)]]
    trace = trace_of(ranks)
    assert not senders_of(trace, 0)
    assert senders_of(replace(trace, meta={**trace.meta, "threads": "2"}), 0)


def test_named_receives_take_the_longer_messages() -> None:
    """The messages of a sender fit if one of the receives has room for them."""
    tagged = [recv(ANY_SOURCE, 9, tag=2)] * 2
    ranks = [[recv(ANY_SOURCE, 5, tag=1), recv(1, 9, tag=1), *tagged],
             [send(0, 5, tag=1), send(0, 9, tag=1), send(0, 9, tag=2)], [send(0, 9, tag=2)]]  # fmt: skip
    assert not senders_of(trace_of(ranks), 0)


def test_nonblocking_receives_from_any_source_are_not_planned() -> None:
    ranks = [[recv(ANY_SOURCE, 9, "Irecv"), *matched(5), *matched(6)], [send(0, 5), send(0, 6)], [send(0, 7)]]
    assert planned(ranks) == []
    ranks[0][0] = recv(ANY_SOURCE, 9, "Irecv", tag=1)
    ranks[1:] = [send(0, 5)], [send(0, 6), send(0, 7, tag=1)]
    assert planned(ranks) == [1, 2]


# -- calls -------------------------------------------------------------------------------------------------


class Never(MemoryTransport):
    """Messages of one rank only: a probe for another finds nothing."""

    def _succeed(self, op: str, args: Sequence[Any]) -> None:
        super()._succeed(op, args)
        if op == "Iprobe":
            next(arg for arg in args if isinstance(arg, Out)).values = [0]


def sources(transport: MemoryTransport, ranks: Sequence[Sequence[Call]], op: str) -> list[int]:
    run(trace_of(ranks), transport, ReplayOptions(ComputeMode.NONE))
    place = {"Mprobe": 0, "Recv": 3}[op]
    return [args[place] for name, args in transport.calls if name == op]


TWO = [[*matched(5), *matched(7)], [send(0, 7)], [send(0, 5)]]


def test_receives_are_given_the_planned_sender() -> None:
    assert sources(
        MemoryTransport(0, 3, arrivals=[(1, 7), (2, 5), (2, 5), (1, 7), (1, 7)]), TWO, "Mprobe"
    ) == [2, 1]


def test_what_is_there_is_taken_when_the_planned_does_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(p2p, "MAX_WAIT_S", 0.01)
    transport = Never(0, 3, arrivals=[(1, 7), (1, 7), (2, 5), (2, 5)])
    assert sources(transport, TWO, "Mprobe") == [1, 2]
    counts = [args[1] for op, args in transport.calls if op == "Mrecv"]
    assert counts == [Count(7), Count(7)]


def test_a_receive_without_a_plan_has_room_for_what_came() -> None:
    ranks = [[recv(ANY_SOURCE, 4), recv(1, 4)], [send(0, 9), send(0, 9)]]
    transport = MemoryTransport(0, 2, arrivals=[(1, 9), (1, 9)])
    assert sources(transport, ranks, "Recv") == [1, 1]
    assert [args[1] for op, args in transport.calls if op == "Recv"] == [Count(9), Count(9)]
