"""Communication patterns, each on several numbers of ranks; and the grids in which they lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isqrt, prod
from typing import Any

import numpy as np
import pytest

from scalatrace.report.page.call_sizes import CallSize
from scalatrace.report.page.gather import gather
from scalatrace.report.page.grid import find_grid, rank_grid
from scalatrace.report.page.overview import partners
from scalatrace.report.page.overview.partners import message_partners
from scalatrace.report.page.patterns import LoopPattern, Receives, loop_pattern, recognise
from scalatrace.report.page.tree import leaves
from scalatrace.trace.exchange.messages import Messages, messages_of
from scalatrace.trace.exchange.rank_sets import Budget
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.nodes import Sequence, node_numbers
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import ANY_SOURCE, Vec
from support.builder import DOUBLE, Builder, Comm, To
from support.reported import million_stencil, ring

Pairs = Iterator[tuple[int, int]]


def rings(nprocs: int) -> Pairs:
    yield from ((rank, (rank + 1) % nprocs) for rank in range(nprocs))


def chain(nprocs: int) -> Pairs:
    yield from ((rank, rank + 1) for rank in range(nprocs - 1))


def both(pairs: Callable[[int], Pairs]) -> Callable[[int], Pairs]:
    return lambda nprocs: (pair for a, b in pairs(nprocs) for pair in ((a, b), (b, a)))


def plane(nprocs: int) -> Pairs:
    """To the right and below in a square."""
    side = isqrt(nprocs)
    yield from ((r, r + 1) for r in range(nprocs) if r % side < side - 1)
    yield from ((r, r + side) for r in range(nprocs - side))


def swapped(nprocs: int) -> Pairs:
    side = isqrt(nprocs)
    yield from ((r, r % side * side + r // side) for r in range(nprocs))


def butterfly(nprocs: int) -> Pairs:
    yield from (
        (r, r ^ bit) for r in range(nprocs) for bit in (1 << i for i in range(nprocs.bit_length() - 1))
    )


def binary_tree(nprocs: int) -> Pairs:
    yield from ((rank, (rank - 1) // 2) for rank in range(1, nprocs))


def binomial_tree(nprocs: int) -> Pairs:
    yield from ((rank & (rank - 1), rank) for rank in range(1, nprocs))


def star(nprocs: int) -> Pairs:
    yield from ((0, rank) for rank in range(1, nprocs))


def every(nprocs: int) -> Pairs:
    yield from ((a, b) for a in range(nprocs) for b in range(nprocs) if a != b)


def random(nprocs: int) -> Pairs:
    numbers = np.random.default_rng(5).integers(nprocs, size=(6 * nprocs, 2))
    yield from ((int(a), int(b)) for a, b in numbers if a != b)


CASES = [
    (rings, "ring", 1), (both(rings), "ring", 1), (both(chain), "halo", 1), (both(plane), "halo", 2),
    (swapped, "transpose", 2), (butterfly, "tree", 0), (binary_tree, "tree", 0), (binomial_tree, "tree", 0),
    (star, "star", 0), (both(star), "star", 0), (random, "irregular", 0),
]  # fmt: skip


def recognised(
    pairs: Callable[[int], Pairs], nprocs: int, receives: Receives = Receives.ANYWHERE
) -> tuple[str, str, int]:
    senders, receivers = (np.array(column) for column in zip(*pairs(nprocs), strict=True))
    square = pairs in (plane, swapped) or getattr(pairs, "__name__", "") == "<lambda>"
    side = isqrt(nprocs)
    widths = {abs(a - b) for a, b in pairs(nprocs)}
    dims = (side, side) if square and side in widths else (nprocs,)
    return recognise(senders, receivers, Grid(dims), receives)


@pytest.mark.parametrize("nprocs", [16, 64, 1024])
@pytest.mark.parametrize(("pairs", "kind", "dims"), CASES)
def test_patterns(pairs: Callable[[int], Pairs], kind: str, dims: int, nprocs: int) -> None:
    found = recognised(pairs, nprocs)
    assert (found[0], found[2]) == (kind, dims), found


def test_all_pairs_are_a_transpose() -> None:
    assert recognised(every, 16)[0] == "transpose"


@pytest.mark.parametrize("nprocs", [16, 256])
def test_a_wavefront_receives_before_it_sends(nprocs: int) -> None:
    assert recognised(plane, nprocs, Receives.SOME_FIRST)[0] == "wavefront"
    kind, detail, _ = recognised(plane, nprocs)
    assert (kind, "one direction" in detail) == ("halo", True)


def test_sweeps_in_all_directions_receive_before_they_send_and_not_after() -> None:
    assert recognised(both(plane), 16, Receives.ALL_FIRST)[0] == "wavefront"
    assert recognised(both(plane), 16, Receives.SOME_FIRST)[0] == "halo"


def test_two_ranks_have_one_neighbour() -> None:
    two = recognise(np.array([0, 1]), np.array([1, 0]), Grid((2,)), Receives.ANYWHERE)
    assert two == ("halo", "1-D, 1 neighbour", 1)
    assert recognised(both(chain), 16) == ("halo", "1-D, 2 neighbours", 1)


def test_wavefront_of_a_trace() -> None:
    b = Builder(9)
    right = RankList(r for r in range(9) if r % 3 < 2)
    down = RankList(range(6))
    given = {"count": 1, "datatype": DOUBLE, "tag": 0, "comm": Comm()}
    loop = b.loop(
        4,
        b.event("Recv", Groups([(RankList(range(1, 9)), Vec(1))]), source=ANY_SOURCE, **given),
        b.event("Send", Groups([(right, Vec(1))]), dest=_relative(1), **given),
        b.event("Send", Groups([(down, Vec(1))]), dest=_relative(3), **given),
    )
    pattern = pattern_of(b.of(loop))
    assert pattern is not None
    assert (pattern.kind, pattern.dims, pattern.messages, pattern.nbytes) == ("wavefront", 2, 48, 384)


@pytest.mark.parametrize("completed", [True, False])
def test_messages_of_the_iteration_before_make_no_wavefront(completed: bool) -> None:
    b = Builder(6)
    left, right = Groups([(RankList(range(1, 6)), Vec(1))]), Groups([(RankList(range(5)), Vec(1))])
    given = {"count": 1, "datatype": DOUBLE, "tag": 0, "comm": Comm()}
    calls = [
        b.event("Recv", left, source=_relative(-1), **given),
        b.event("Recv", right, source=_relative(1), **given),
        b.event("Isend", left, dest=_relative(-1), **given),
        b.event("Isend", right, dest=_relative(1), **given),
    ]
    wait = b.event("Waitall", requests=(0,))
    calls.insert(4 if completed else 2, wait)
    pattern = pattern_of(b.of(b.loop(4, *calls)))
    assert pattern is not None
    assert pattern.kind == ("wavefront" if completed else "halo")


@pytest.mark.parametrize(("count", "kind"), [(1, "ring"), (1000, "irregular")])
def test_a_communicator_with_few_bytes_does_not_count(count: int, kind: str) -> None:
    """A library sends the messages of its collectives on a communicator of its own."""
    b = Builder(8)
    own = b.family("dup", [8], range(8))
    around = {"count": 1000, "datatype": DOUBLE, "tag": 0, "comm": Comm()}
    up = Groups([(RankList([3, 5, 6]), Vec(1))])
    calls = [
        b.event("Send", dest=To(Encoding.MODULO, Vec(1)), **around),
        b.event("Recv", source=To(Encoding.MODULO, Vec(-1)), **around),
        b.event("Send", up, count=count, datatype=DOUBLE, dest=0, tag=0, comm=own),
    ]
    pattern = pattern_of(b.of(b.loop(4, *calls)))
    assert pattern is not None
    assert (pattern.kind, pattern.messages) == (kind, 4 * 11)
    assert ("; without 12 messages on other communicators" in pattern.detail) == (kind == "ring")


def test_many_communicators_with_equal_bytes_count() -> None:
    b = Builder(25)
    around = {"count": 1000, "datatype": DOUBLE, "tag": 0}
    comms = [b.family("dup", [25], range(25)) for _ in range(24)]
    calls = [b.event("Send", dest=To(Encoding.MODULO, Vec(1)), comm=comm, **around) for comm in comms]
    pattern = pattern_of(b.of(b.loop(4, *calls)))
    assert pattern is not None
    assert (pattern.kind, pattern.detail) == ("ring", "distance 1, one way")


def test_completions_stay_where_small_persistent_sends_are_ignored() -> None:
    b = Builder(6)
    left, right = Groups([(RankList(range(1, 6)), Vec(1))]), Groups([(RankList(range(5)), Vec(1))])
    given = {"datatype": DOUBLE, "tag": 0, "comm": Comm()}
    made = b.event("Send_init", right, count=1, dest=_relative(1), **given)
    calls = [
        b.event("Start", right, request=0),
        b.event("Recv", left, count=1000, source=_relative(-1), **given),
        b.event("Recv", right, count=1000, source=_relative(1), **given),
        b.event("Isend", left, count=1000, dest=_relative(-1), **given),
        b.event("Isend", right, count=1000, dest=_relative(1), **given),
        b.event("Waitall", requests=(0,)),
    ]
    trace = b.of(made, b.loop(4, *calls))
    messages = messages_of(trace, Budget())
    assert any(flow.event.op == calls[0].op for flow in messages)
    pattern = pattern_of(trace)
    assert pattern is not None
    assert pattern.kind == "wavefront"


def _relative(step: int) -> To:
    return To(Encoding.RELATIVE, Vec(step))


def pattern_of(trace: Trace) -> LoopPattern | None:
    messages = messages_of(trace, Budget())
    sent: dict[int, list[Messages]] = {}
    for one in messages:
        sent.setdefault(id(one.event), []).append(one)
    (loop,) = (node for node in trace.nodes if isinstance(node, Sequence))
    return loop_pattern(trace, loop.nodes, sent, find_grid(trace, messages)[0])


@pytest.mark.parametrize("nprocs", [4, 64, 1 << 20])
def test_rings_of_any_size(nprocs: int) -> None:
    pattern = pattern_of(ring(nprocs))
    assert pattern is not None
    assert pattern.kind == "ring"


def test_half_of_the_bytes_are_in_messages_of_a_size() -> None:
    b, around = Builder(4), To(Encoding.MODULO, Vec(1))
    calls = [
        b.event("Isend", count=count, datatype=DOUBLE, dest=around, tag=1, comm=Comm(), request=i)
        for i, count in enumerate((1, 10, 100, 200))
    ]
    pattern = pattern_of(b.of(b.loop(4, *calls)))
    assert pattern is not None
    assert pattern.typical_nbytes == 1600


def test_halo_of_a_million_ranks() -> None:
    pattern = pattern_of(million_stencil())
    assert pattern is not None
    assert (pattern.kind, pattern.dims, pattern.collectives) == ("halo", 2, ("Barrier",))


@pytest.mark.parametrize(
    ("op", "kind"), [("Alltoall", "transpose"), ("Ialltoallv", "transpose"), ("Bcast", "tree")]
)
def test_collectives_alone(op: str, kind: str) -> None:
    b = Builder(4)
    pattern = pattern_of(b.of(b.loop(2, b.event(op, comm=Comm()))))
    assert pattern is not None
    assert (pattern.kind, pattern.messages, pattern.collectives) == (kind, 0, (op,))


def test_collectives_that_send_more_bytes_than_messages_have_the_pattern() -> None:
    """Results go to rank 0 as messages, but an all-to-all moves nearly all bytes."""
    b = Builder(4)
    workers, master = Groups([(RankList([1, 2, 3]), Vec(1))]), Groups([(RankList([0]), Vec(3))])
    result: dict[str, Any] = {"count": 2, "datatype": DOUBLE, "tag": 1, "comm": Comm()}
    calls = (
        b.event("Alltoall", sendcount=100, sendtype=DOUBLE, recvcount=100, recvtype=DOUBLE, comm=Comm()),
        b.event("Send", workers, dest=0, **result),
        b.event("Recv", master, source=ANY_SOURCE, **result),
    )
    (loop,) = gather(b.of(b.loop(5, *calls)), "transposes").tree.root.children
    assert loop.pattern is not None
    assert (loop.pattern.kind, loop.pattern.nbytes) == ("transpose", 3 * 5 * 16)
    assert loop.pattern.collective_nbytes == 4 * 5 * 4 * 800
    direct = gather(b.of(*calls[1:]), "star").tree.root.pattern
    assert direct is not None
    assert direct.kind == "star"


def test_sizes_of_calls_are_those_of_a_message_or_of_a_rank() -> None:
    b = Builder(4)
    data: dict[str, Any] = {"datatype": DOUBLE, "comm": Comm()}
    send: dict[str, Any] = {"sendtype": DOUBLE, "recvtype": DOUBLE, "comm": Comm()}
    right, left = To(Encoding.MODULO, Vec(1)), To(Encoding.MODULO, Vec(-1))
    calls = (
        b.event("Send", count=3, dest=right, tag=1, **data),
        b.event("Recv", count=4, source=left, tag=1, **data),
        b.event("Bcast", count=5, root=0, **data),
        b.event("Gather", sendcount=6, recvcount=6, root=0, **send),
        b.event("Scatter", sendcount=7, recvcount=7, root=0, **send),
        b.event("Alltoall", sendcount=8, recvcount=8, **send),
        b.event("Barrier", comm=Comm()),
    )
    sizes = [leaf.size for leaf in leaves(gather(b.of(b.loop(10, *calls)), "sizes").tree.root)]
    assert sizes == [
        CallSize(24, "message", False, False), CallSize(32, "message", False, True),
        CallSize(40, "rank", False, False), CallSize(48, "rank", False, False),
        CallSize(56, "rank", False, False), CallSize(4 * 64, "rank", False, False), None,
    ]  # fmt: skip


def test_sizes_that_differ_are_means() -> None:
    b = Builder(4)
    event = b.event("Bcast", Vec(2), count=vec_of((1, 36)), datatype=DOUBLE, root=0, comm=Comm())
    (leaf,) = leaves(gather(b.of(event), "two").tree.root)
    assert leaf.size == CallSize((1 + 36) / 2 * 8, "rank", True, False)


def test_a_master_and_its_workers_have_no_grid() -> None:
    b = Builder(6)
    result: dict[str, Any] = {"count": 2, "datatype": DOUBLE, "tag": 1, "comm": Comm()}
    workers, master = Groups([(RankList(range(1, 6)), Vec(1))]), Groups([(RankList([0]), Vec(5))])
    trace = b.of(
        b.event("Send", workers, dest=0, **result), b.event("Recv", master, source=ANY_SOURCE, **result)
    )
    assert find_grid(trace, messages_of(trace, Budget()))[0].dims == (6,)


def test_loops_that_move_nothing_have_no_pattern() -> None:
    b = Builder(4)
    assert pattern_of(b.of(b.loop(2, b.event("Wait", request=0)))) is None


def test_a_loop_of_loops_has_the_pattern_of_their_calls() -> None:
    given = {"count": 1, "datatype": DOUBLE, "tag": 0, "comm": Comm()}
    b = Builder(4)
    exchange = b.event("Send", dest=To(Encoding.MODULO, Vec(1)), **given)
    receive = b.event("Recv", source=To(Encoding.MODULO, Vec(-1)), **given)
    wait = b.event("Wait", request=0)
    pattern = pattern_of(
        b.of(b.loop(5, wait, b.loop(3, exchange, receive), b.loop(2, b.event("Barrier", comm=Comm()))))
    )
    assert pattern is not None
    assert (pattern.kind, pattern.messages, pattern.collectives, pattern.nested) == (
        "ring",
        60,
        ("Barrier",),
        True,
    )
    b = Builder(4)
    exchange = b.event("Send", dest=To(Encoding.MODULO, Vec(1)), **given)
    receive = b.event("Recv", source=To(Encoding.MODULO, Vec(-1)), **given)
    direct = pattern_of(b.of(b.loop(5, exchange, receive, b.loop(2, b.event("Barrier", comm=Comm())))))
    assert direct is not None
    assert (direct.messages, direct.collectives, direct.nested) == (20, (), False)


@pytest.mark.parametrize(("dims", "axes"), [((8, 8), [3, 3]), ((1024, 1024), [3, 3])])
def test_grid_and_groups_of_a_stencil(dims: tuple[int, int], axes: list[int]) -> None:
    trace = million_stencil(dims[0])
    grid, source = find_grid(trace, messages_of(trace, Budget()))
    assert (grid.dims, source) == (dims, "found by the distances of messages")
    drawn = rank_grid(trace, grid, source)
    assert [len(axis.cells) for axis in drawn.axes] == axes
    assert drawn.exact
    assert len(drawn.groups) == len(set(drawn.cells)) == 9
    assert sum(group.count for group in drawn.groups) == prod(dims)
    assert drawn.groups[0].count == (dims[0] - 2) * (dims[1] - 2)


def test_ranks_that_are_missing() -> None:
    b = Builder(6)
    trace = b.of(b.event("Barrier", comm=Comm()))
    trace.ranks = RankList([0, 1, 4, 5])
    drawn = rank_grid(trace, *find_grid(trace, []))
    assert drawn.cells == (0, -1, 0)
    assert drawn.axes[0].cells == ((0, 1), (2, 3), (4, 5))


def test_many_groups_share_the_last_colour() -> None:
    b = Builder(100)
    groups = Groups([(RankList([rank]), Vec(rank + 1)) for rank in range(100)])
    trace = b.of(b.event("Barrier", groups, comm=Comm()))
    drawn = rank_grid(trace, *find_grid(trace, []))
    assert len(drawn.groups) == 32
    assert drawn.groups[-1].ranks == "all other ranks"
    assert sum(group.count for group in drawn.groups) == 100
    assert len(drawn.cells) <= 48
    assert not drawn.exact


def test_the_directions_of_a_pattern_are_those_of_its_messages() -> None:
    """A halo in one direction, and sweeps from opposite corners, have other drawings."""
    trace = million_stencil(4)
    pattern = next(node.pattern for node in gather(trace, "halo").tree.root.children if node.pattern)
    assert pattern is not None
    assert (pattern.vectors, pattern.sides) == (((-1, 0), (0, -1), (0, 1), (1, 0)), (4, 4))
    ways = {-1: ((-1,),), 1: ((1,),)}
    for step, vectors in ways.items():
        b = Builder(4)
        ranks = RankList([0, 1, 2] if step > 0 else [1, 2, 3])
        send = b.event("Send", Groups([(ranks, Vec(1))]), count=1, datatype=DOUBLE, tag=1,
                       dest=To(Encoding.RELATIVE, Vec(step)), comm=Comm())  # fmt: skip
        (loop,) = gather(b.of(b.loop(3, send)), "chain").tree.root.children
        assert loop.pattern is not None
        assert loop.pattern.vectors == vectors


def test_each_call_has_its_partners() -> None:
    """Who sends to whom in each call of a loop: distances, one rank, or any rank."""
    b = Builder(4)
    given: dict[str, Any] = {"count": 2, "datatype": DOUBLE, "comm": Comm()}
    workers, master = Groups([(RankList([1, 2, 3]), Vec(1))]), Groups([(RankList([0]), Vec(3))])
    calls = (
        b.event("Irecv", at=("a.py:30:halo",), source=To(Encoding.MODULO, Vec(-1)), tag=1, **given),
        b.event("Send", at=("a.py:31:halo",), dest=To(Encoding.MODULO, Vec(1)), tag=1, **given),
        b.event("Wait", at=("a.py:32:halo",), request=0),
        b.event("Send", workers, at=("a.py:33:tell",), dest=0, tag=2, **given),
        b.event("Recv", master, at=("a.py:34:hear",), source=ANY_SOURCE, tag=2, **given),
        b.event("Barrier", at=("a.py:35:halo",), comm=Comm()),
    )  # fmt: skip
    root = gather(b.of(b.loop(5, *calls)), "calls").tree.root
    assert [leaf.partners for leaf in leaves(root)] == [
        "from own rank -1 modulo 4", "to own rank +1 modulo 4",
        "", "to rank 0", "from any rank (wildcard)", "",
    ]  # fmt: skip


def test_partners_that_were_not_all_examined_are_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rank 0 sends to each other rank in turn."""
    b = Builder(8)
    others = Groups([(RankList([0]), vec_of(tuple(range(1, 8))))])
    send = b.event("Send", Groups([(RankList([0]), Vec(7))]), count=1, datatype=DOUBLE, tag=1,
                   dest=To(Encoding.ABSOLUTE, others), comm=Comm())  # fmt: skip
    trace = b.of(send)
    numbers = node_numbers(trace.nodes)
    assert message_partners(trace, {1}, numbers) == {1: "to ranks 1 to 7"}
    monkeypatch.setattr(partners, "MAX_MESSAGE_CALLS", 3)
    assert message_partners(trace, {1}, numbers) == {1: "to at least ranks 1, 2, 3"}
