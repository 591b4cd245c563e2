"""Trees of several sizes, aligned: loops that run once or not at all, and loops that are folded otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalatrace import Trace, extrap
from scalatrace.extrap.alignment.canonical_folding import Foldings
from scalatrace.extrap.alignment.rank_tree import RankNode, rank_tree
from scalatrace.extrap.errors import ExtrapolationError
from scalatrace.extrap.extrapolate import check_largest
from scalatrace.trace.model import elastic
from scalatrace.trace.model.nodes import Peer
from scalatrace.trace.query.diff import diff
from support.calls import IssuedCall, call, record
from support.grids import Body, Rank, trace_of

SQUARES = [(2, 2), (3, 3), (4, 4), (5, 5)]


def cells(rank: Rank) -> list[IssuedCall]:
    """A sweep over the cells of a rank: one exchange fewer than there are cells, and one fewer of another."""
    side = rank.dims[0]
    stage = [
        call("Send", 10, count=3, dest=rank.number, tag=1, comm="world"),
        call("Barrier", 11, comm="world"),
    ]
    inner = [
        call("Bcast", 12, count=side, root=0, comm="world"),
        call("Allreduce", 13, count=1, comm="world"),
    ]
    return (stage * (side - 1) + inner * (side - 2)) * 3


def test_loops_of_one_trip_and_of_none() -> None:
    made = extrap.extrapolate([trace_of(cells, dims) for dims in SQUARES], 49, (7, 7), dims_of=SQUARES)
    assert diff(made.trace, trace_of(cells, (7, 7)), ["times"]) == []


PROGRAMS = st.recursive(
    st.integers(1, 4),
    lambda inner: st.tuples(st.integers(0, 3), st.lists(inner, min_size=1, max_size=4)),
    max_leaves=8,
)
"""A call site, or a loop: its trip count and its body."""


def calls_of(program: Any) -> Iterator[int]:
    """The call sites in the order of execution."""
    if isinstance(program, int):
        yield program
    else:
        trips, body = program
        for _ in range(trips):
            for one in body:
                yield from calls_of(one)


def expanded(trace: Trace, rank: int, tree: Sequence[RankNode]) -> list[tuple[str, ...]]:
    """The calls of a tree in the order of execution, with their parameters as stored."""
    streams: dict[int, Iterator[Any]] = {}
    result: list[tuple[str, ...]] = []

    def values(node: RankNode) -> Iterator[tuple[str, ...]]:
        assert node.event is not None
        assert node.key is not None
        params = [p.value if isinstance(p, Peer) else p for p in node.event.params]
        vecs = [elastic.at(value, rank) for value in params]
        rows = zip(*(vec.first(node.runs) for vec in vecs if vec is not None), strict=True)
        yield from ((node.key[0], *node.key[1], *map(str, row)) for row in rows)

    def run(nodes: Sequence[RankNode], repeats: dict[int, Iterator[int]]) -> None:
        for node in nodes:
            times = next(repeats.setdefault(id(node), iter(node.repeat)))
            if node.key is None:
                for _ in range(times):
                    run(node.children, repeats)
            else:
                result.extend(islice(streams.setdefault(id(node), values(node)), times))

    run(tree, {})
    return result


@settings(max_examples=60)
@given(PROGRAMS, st.data())
def test_folding_anew_keeps_every_call(program: Any, data: st.DataObject) -> None:
    """Whatever the recorder made of it, and whatever the parameters."""
    sites = list(islice(calls_of((2, [program])), 80))
    if not sites:
        return
    counts = data.draw(st.lists(st.integers(0, 2), min_size=len(sites), max_size=len(sites)))
    calls = [
        call("Bcast", site, count=n, root=0, comm="world") for site, n in zip(sites, counts, strict=True)
    ]
    trace = record([calls])
    recorded = rank_tree(trace, 0)
    foldings = Foldings({0: recorded}, lambda _: (trace, 0))
    assert foldings.canonical is not None
    for folded in (foldings.canonical, foldings.with_partial_trips or foldings.canonical):
        assert expanded(trace, 0, folded[0]) == expanded(trace, 0, recorded)


def test_start_of_a_body_after_its_loop_is_the_last_trip() -> None:
    calls = [call("Bcast", site, count=1, root=0, comm="world") for site in (1, 2, 3, 1, 2, 3, 1, 2, 4)]
    trace = record([calls])
    foldings = Foldings({0: rank_tree(trace, 0)}, lambda _: (trace, 0))
    assert foldings.with_partial_trips is not None
    loop, last = foldings.with_partial_trips[0]
    assert [tuple(node.repeat.first(loop.runs)) for node in loop.children] == [
        (1, 1, 1),
        (1, 1, 1),
        (1, 1, 0),
    ]
    assert last.runs == 1


@settings(max_examples=40)
@given(PROGRAMS, st.integers(1, 3))
def test_equal_sequences_fold_equally(program: Any, trips: int) -> None:
    """The values of parameters, which decide what the recorder folds, do not matter."""
    sites = list(islice(calls_of((trips, [program])), 80))
    trees = {}
    traces = {}
    for point, change in enumerate((lambda k: 1, lambda k: k % 2, lambda k: k * k)):
        calls = [call("Bcast", site, count=change(k), root=0, comm="world") for k, site in enumerate(sites)]
        traces[point] = record([calls])
        trees[point] = rank_tree(traces[point], 0)
    folded = Foldings(trees, lambda point: (traces[point], 0)).canonical
    assert folded is not None
    shapes = {tuple((node.kind, node.repeat) for node in tree) for tree in folded.values()}
    assert len(shapes) == 1


def neighbours(steps: Sequence[tuple[int, ...]], loops: int = 3) -> Body:
    """Sends from one call site to those of these neighbours that there are, and receives from another."""

    def body(rank: Rank) -> list[IssuedCall]:
        peers = [peer for step in steps if (peer := rank.neighbour(step, False)) is not None]
        calls = []
        for peer in peers:
            calls.append(call("Irecv", 20, count=4, source=peer, tag=1, comm="world"))
            calls.append(call("Isend", 21, count=4, dest=peer, tag=1, comm="world"))
        return [*calls, call("Barrier", 22, comm="world")] * loops

    return body


@pytest.mark.parametrize(
    "steps",
    [
        [(1, 0), (-1, 0), (0, 1), (0, -1)],
        [(0, -1), (0, 1), (-1, 0), (1, 0)],
        [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b],
    ],
)
def test_lists_of_neighbours_in_one_call_site(steps: list[tuple[int, int]]) -> None:
    small = [(2, 2), (2, 3), (3, 3), (3, 4)]
    body = neighbours(steps)
    made = extrap.extrapolate([trace_of(body, dims) for dims in small], 42, (6, 7), dims_of=small)
    assert diff(made.trace, trace_of(body, (6, 7)), ["times"]) == []


def test_neighbours_with_a_call_site_each() -> None:
    """26 neighbours in three dimensions: a condition on the borders that matter, not a class for each."""
    steps = [(a, b, c) for a in (-1, 0, 1) for b in (-1, 0, 1) for c in (-1, 0, 1) if a or b or c]

    def body(rank: Rank) -> list[IssuedCall]:
        peers = enumerate(rank.neighbour(step, False) for step in steps)
        return [
            call("Isend", 30 + k, count=4, dest=peer, tag=1, comm="world")
            for k, peer in peers
            if peer is not None
        ]

    small = [(2, 2, 2), (3, 3, 3), (4, 4, 4)]
    made = extrap.extrapolate([trace_of(body, dims) for dims in small], 125)
    assert made.grid.dims == (5, 5, 5)
    assert diff(made.trace, trace_of(body, (5, 5, 5)), ["times"]) == []


def tree(rank: Rank) -> list[IssuedCall]:
    """A reduction along a binomial tree, after messages to the neighbours in the grid."""
    nprocs, number, bit = rank.dims[0] * rank.dims[1], rank.number, 1
    calls = neighbours([(0, 1), (0, -1), (1, 0), (-1, 0)], 1)(rank)
    while bit < nprocs and not number & bit:
        if number | bit < nprocs:
            calls.append(call("Recv", 41, count=1, source=number | bit, tag=2, comm="world"))
        bit <<= 1
    if number:
        calls.append(call("Send", 40, count=1, dest=number & (number - 1), tag=2, comm="world"))
    return calls


def test_grid_beside_a_binomial_tree() -> None:
    small = [(3, 3), (4, 4), (5, 5), (6, 6)]
    made = extrap.extrapolate([trace_of(tree, dims) for dims in small], 64)
    assert "apart from trees of messages" in made.evidence
    assert diff(made.trace, trace_of(tree, (8, 8)), ["times"]) == []


def counted(counts: dict[int, int]) -> Body:
    return lambda rank: [call("Allreduce", 5, count=counts[rank.dims[0]], comm="world")]


def test_largest_trace_is_predicted_from_the_others() -> None:
    sizes = [(4,), (5,), (6,), (8,)]
    traces = [trace_of(counted({4: 40, 5: 50, 6: 60, 8: 80}), dims) for dims in sizes]
    assert check_largest(traces, sizes) == "the smaller traces predict 8 ranks (8): all 8 events are equal"
    assert check_largest(traces[:3], sizes[:3]) == ""
    made = extrap.extrapolate(traces, 64, (64,), dims_of=sizes)
    assert made.check.startswith("the smaller traces predict 8 ranks")
    assert extrap.extrapolate(traces, 64, (64,), dims_of=sizes, check=False).check == ""


def test_wrong_prediction_of_the_largest_trace() -> None:
    sizes = [(4,), (5,), (6,), (8,)]
    traces = [trace_of(counted({4: 40, 5: 50, 6: 60, 8: 81}), dims) for dims in sizes]
    with pytest.raises(ExtrapolationError, match=r"8 of 8 ranks of the largest one wrongly: rank 0, event 1"):
        check_largest(traces, sizes)


def test_trace_that_is_too_small_is_named() -> None:
    sizes = [(2,), (4,), (5,), (6,)]
    traces = [trace_of(counted({2: 777, 4: 40, 5: 50, 6: 60}), dims) for dims in sizes]
    with pytest.raises(ExtrapolationError, match="next: leave out the trace of 2 ranks, which is too small"):
        extrap.extrapolate(traces, 64, (64,), dims_of=sizes)


def test_a_trace_is_not_called_too_small_where_leaving_it_out_does_not_help() -> None:
    sizes = [(2,), (4,), (5,), (6,)]

    def body(rank: Rank) -> list[IssuedCall]:
        first = {2: 777, 4: 40, 5: 50, 6: 60}[rank.dims[0]]
        second = {2: 3, 4: 3, 5: 19, 6: 8}[rank.dims[0]]
        return [call("Allreduce", 5 + n, count=one, comm="world") for n, one in enumerate((first, second))]

    with pytest.raises(ExtrapolationError) as refused:
        extrap.extrapolate([trace_of(body, dims) for dims in sizes], 64, (64,), dims_of=sizes)
    assert "next: " in str(refused.value)
    assert "leave out" not in str(refused.value)


def test_ranks_with_another_order_of_equal_values() -> None:
    """Equal calls with equal values in another order: each rank keeps its own order."""
    order = ((1, 2, 1, 2), (1, 1, 2, 2))
    calls = [[call("Bcast", 5, count=n, root=0, comm="world") for n in row] for row in order]
    trace = record(calls)
    trees = {rank: rank_tree(trace, rank) for rank in range(2)}
    folded = Foldings(trees, lambda rank: (trace, rank))
    for found in (
        folded.canonical,
        folded.by_marks,
        folded.by_stages(False, False),
        folded.by_stages(False, True),
    ):
        for rank, tree in (found or {}).items():
            assert expanded(trace, rank, tree) == expanded(trace, rank, trees[rank])
