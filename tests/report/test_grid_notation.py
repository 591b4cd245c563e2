"""The notation of the grid is exact: what is printed gives the recorded peer, set of ranks and size."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from math import prod
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.report.page.gather import gather
from scalatrace.report.page.tree import leaves
from scalatrace.report.trees.conditions import RankConditions
from scalatrace.report.trees.grid_notation import GridNotation
from scalatrace.report.trees.reporter import TreeReporter
from scalatrace.report.trees.sizes import MessageSize, message_sizes
from scalatrace.report.values import params
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import PROC_NULL
from support.calls import IssuedCall, call, record
from support.drawing import drawn
from support.grids import Rank, trace_of

BUDGET = 1 << 20
WORDS = {"north": (-1, 0), "south": (1, 0), "west": (0, -1), "east": (0, 1)}

grids = st.builds(
    Grid,
    st.lists(st.integers(1, 4), min_size=2, max_size=3).map(tuple).filter(lambda dims: prod(dims) > 1),
    st.booleans(),
)


def holds(condition: str, grid: Grid, rank: int) -> bool:
    """Whether a printed condition or list of ranks includes a rank: conditions are Python."""
    if re.search("[xyz]", condition):
        return bool(eval(condition, dict(grid.place(rank))))
    stride = re.fullmatch(r"(\d+)-(\d+):(\d+)", condition)
    if stride:
        first, last, step = map(int, stride.groups())
        return rank in range(first, last + 1, step)
    if "<" in condition:
        return rank in RankList.parse(condition)
    runs = [run.partition("-") for run in condition.split(", ")]
    return any(int(first) <= rank <= int(last or first) for first, _, last in runs)


def peer_of(name: str, grid: Grid, rank: int) -> int:
    """The rank that a printed name stands for."""
    if name == "PROC_NULL":
        return PROC_NULL
    place = dict(grid.place(rank))
    if name.startswith("("):
        there = eval(name, place)
        return grid.rank([x % side for x, side in zip(there, grid.dims, strict=True)])
    if name.split("-")[0] in WORDS:
        there = [place["x"], place["y"]]
        for word in name.split("-"):
            step = WORDS[word][::-1] if grid.column_major else WORDS[word]
            there = [x + way for x, way in zip(there, step, strict=True)]
        return grid.rank([x % side for x, side in zip(there, grid.dims, strict=True)])
    expression = name.replace("self", str(rank)).replace("xor", "^")
    if expression.endswith(" mod size"):
        return int(eval(expression.removesuffix(" mod size"))) % grid.nprocs
    return int(eval(expression))


def group_of(text: str, grid: Grid, rank: int) -> str:
    """What a printed value says for a rank."""
    if not text.startswith("{"):
        return text
    matching = [
        value
        for condition, value in (group.split(": ", 1) for group in text[1:-1].split("; "))
        if holds(condition, grid, rank)
    ]
    assert len(matching) == 1, (text, rank)
    return matching[0]


def names_in(text: str) -> list[str]:
    """The names of successive peers in a printed value."""
    inner = text.removeprefix("[").removesuffix("]").removesuffix(" …") if text.startswith("[") else text
    return re.findall(r"\([^)]*\)|self xor \d+|self(?:[+-]\d+)?(?: mod size)?|[\w-]+", inner)


@st.composite
def peers_of_ranks(draw: Any) -> tuple[Grid, list[list[int | None]]]:
    """A grid, and the peers of successive calls of each rank: None where it makes no call."""
    grid = draw(grids)

    def stepped(steps: tuple[int, ...], is_periodic: bool) -> Callable[[int], int]:
        def peer(rank: int) -> int:
            there = [grid.place(rank)[name] + way for name, way in zip(grid.coords, steps, strict=True)]
            inside = all(0 <= x < side for x, side in zip(there, grid.dims, strict=True))
            if not inside and not is_periodic:
                return PROC_NULL
            return grid.rank([x % side for x, side in zip(there, grid.dims, strict=True)])

        return peer

    ways = st.tuples(*[st.integers(-2, 2)] * len(grid.dims))
    rules = st.one_of(
        st.builds(stepped, ways, st.booleans()),
        st.integers(0, 7).map(
            lambda bits: lambda rank: rank ^ bits if rank ^ bits < grid.nprocs else PROC_NULL
        ),
        st.integers(0, grid.nprocs - 1).map(lambda there: lambda rank: there),
        st.integers(1, grid.nprocs).map(lambda way: lambda rank: (rank + way) % grid.nprocs),
        st.permutations(range(grid.nprocs)).map(lambda order: lambda rank: order[rank]),
    )
    chosen = draw(st.lists(rules, min_size=1, max_size=3))
    left_out = draw(st.sampled_from([lambda rank: False, lambda rank: grid.place(rank)["x"] == 0]))
    return grid, [[] if left_out(rank) else [rule(rank) for rule in chosen] for rank in range(grid.nprocs)]


@given(peers_of_ranks())
def test_printed_peers_are_the_recorded_ones(case: tuple[Grid, list[list[int]]]) -> None:
    grid, peers = case
    calls = [
        [call("Send", 1, count=1, datatype="MPI_INT", dest=peer, comm="world") for peer in row]
        for row in peers
    ]
    trace = record([[*row, call("Barrier", 2, comm="world")] for row in calls])
    notation = GridNotation(trace, grid if sum(side > 1 for side in grid.dims) > 1 else None)
    nnamed = dict.fromkeys(range(grid.nprocs), 0)
    for leaf in trace.leaves():
        if trace.ops[leaf.op].name != "Send":
            continue
        taking_part = trace.participants(leaf)
        text = dict(params(trace, leaf, taking_part, notation))["dest"]
        if "*(" in text or "each" in text:  # no names, but compressed numbers
            for rank in taking_part:
                nnamed[rank] += len(list(calls_of(trace, leaf, rank)))
            continue
        for rank in taking_part:
            names = names_in(group_of(text, grid, rank))
            recorded = calls_of(trace, leaf, rank)
            if len(names) == 1:
                names *= len(recorded)
            shown = [peer_of(name, grid, rank) for name in names]
            assert shown[: len(recorded)] == recorded[: len(shown)], text
            nnamed[rank] += len(recorded)
    assert nnamed == {rank: len(row) for rank, row in enumerate(peers)}


def calls_of(trace: Trace, leaf: Event, rank: int) -> list[int]:
    """The destinations of a rank's calls at an event node."""
    return [made.raw("dest") for made in trace.walk(rank) if made.place.node is leaf]


@given(grids, st.data())
def test_conditions_hold_on_exactly_their_ranks(grid: Grid, data: st.DataObject) -> None:
    everyone = st.sets(st.integers(0, grid.nprocs - 1), min_size=1)
    boxes = st.tuples(*(st.sets(st.integers(0, side - 1), min_size=1) for side in grid.dims)).map(
        lambda box: {
            rank
            for rank in range(grid.nprocs)
            if all(grid.place(rank)[name] in part for name, part in zip(grid.coords, box, strict=True))
        }
    )
    chosen, among = data.draw(boxes | everyone), data.draw(st.just(set(range(grid.nprocs))) | boxes)
    conditions = RankConditions(grid, BUDGET)
    for ranks in (chosen & among, among - chosen):
        text = conditions.condition(RankList(ranks), RankList(among)) if ranks else None
        if text is not None:
            assert {rank for rank in among if holds(text, grid, rank)} == ranks, text


@pytest.mark.parametrize(
    ("dims", "members", "text"),
    [
        ((4, 4), "x>0", "x>0"),
        ((4, 4), "y<Y-1", "y<Y-1"),
        ((4, 4), "x==0 or y==0", "x==0 or y==0"),
        ((4, 5), "0<y<Y-1", "0<y<Y-1"),
        ((4, 6), "y%2==1", "y%2==1"),
        ((1024, 1024), "x>0 and y==3", "x>0 and y==3"),
        ((4, 4), "rank==5", None),
        ((4, 4), "rank>0", None),
        ((4, 4), "x==y", None),
    ],
)
def test_conditions(dims: tuple[int, ...], members: str, text: str | None) -> None:
    grid = Grid(dims)
    places = {**grid.columns, "rank": grid.columns["r"]}
    expression = re.sub(r"0<y<Y-1", "(0<y)&(y<Y-1)", members)
    expression = re.sub(r"(.*) (and|or) (.*)", lambda m: f"({m[1]}){'&|'[m[2] == 'or']}({m[3]})", expression)
    ranks = RankList(eval(expression, dict(places)).nonzero()[0].tolist())
    assert RankConditions(grid, BUDGET * 4).condition(ranks) == text


def test_conditions_leave_out_what_all_ranks_of_a_node_have() -> None:
    grid = Grid((4, 4))
    among = RankList(r for r in range(16) if grid.place(r)["x"] > 0)
    ranks = RankList(r for r in among if grid.place(r)["y"] == 0)
    assert RankConditions(grid, BUDGET).condition(ranks, among) == "y==0"


def halo_with_borders(rank: Rank) -> list[IssuedCall]:
    """Sends to the east with PROC_NULL at the border, of a derived datatype, and to the north."""
    east, north = rank.neighbour((0, 1), False), rank.neighbour((-1, 0), False)
    return [
        call("Send", 1, count=3 if east is not None else 0, datatype="MPI_DOUBLE" if east is not None else
             "MPI_BYTE", dest=PROC_NULL if east is None else east, comm="world"),
        *([] if north is None else [call("Send", 2, count=2, datatype="MPI_INT", dest=north, comm="world")]),
    ]  # fmt: skip


def test_sides_of_powers_of_two_have_words_and_sizes() -> None:
    trace = trace_of(halo_with_borders, (4, 4))
    lines = drawn(TreeReporter(trace, full=True), 1000)
    assert "dest={y<Y-1: east; y==Y-1: PROC_NULL}" in lines
    assert "count={y<Y-1: 3; y==Y-1: 0} (0 B to 24 B, 288 B on all ranks)" in lines
    assert "datatype={y<Y-1: MPI_DOUBLE; y==Y-1: MPI_BYTE}" in lines
    assert "dest=north" in lines
    assert "where x>0" in lines
    by_number = drawn(TreeReporter(trace, full=True, by_grid=False), 1000)
    assert "ranks 4-15" in by_number


def test_a_side_of_two_and_butterflies() -> None:
    def exchange(bits: int) -> Callable[[Rank], list[IssuedCall]]:
        def body(rank: Rank) -> list[IssuedCall]:
            return [call("Send", 1, count=1, datatype="MPI_INT", dest=rank.number ^ bits, comm="world")]

        return body

    def dest(trace: Trace, dims: tuple[int, ...]) -> str:
        (leaf,) = trace.leaves()
        return dict(params(trace, leaf, trace.ranks, GridNotation(trace, Grid(dims))))["dest"]

    assert dest(trace_of(exchange(1), (4, 2)), (4, 2)) == "(x, 1-y)"
    assert dest(trace_of(exchange(4), (2, 2, 2)), (2, 2, 2)) == "(1-x, y, z)"
    assert dest(trace_of(exchange(3), (16,)), (4, 4)) == "self xor 3"


@given(grids, st.data())
def test_sizes_are_those_of_the_calls(grid: Grid, data: st.DataObject) -> None:
    ncalls = data.draw(st.integers(1, 3))
    kinds = st.sampled_from(["MPI_INT", "MPI_DOUBLE", "MPI_BYTE"])
    one = st.tuples(st.integers(0, 5), kinds)
    rows = data.draw(st.lists(one, min_size=1, max_size=3))
    which = data.draw(
        st.lists(st.integers(0, len(rows) - 1), min_size=ncalls * grid.nprocs, max_size=ncalls * grid.nprocs)
    )
    by_rank = [[rows[which[rank * ncalls + i]] for i in range(ncalls)] for rank in range(grid.nprocs)]
    trace = record(
        [
            [call("Bcast", 1, count=count, datatype=kind, root=0, comm="world") for count, kind in row]
            for row in by_rank
        ]
    )
    for leaf in trace.leaves():
        taking_part = trace.participants(leaf)
        found = message_sizes(trace, leaf, taking_part).get("count")
        if found is None:
            continue
        nbytes = [
            made.raw("count") * trace.datatype(made.raw("datatype")).size
            for rank in taking_part
            for made in trace.walk(rank)
            if made.place.node is leaf
        ]
        assert found.least <= min(nbytes)
        assert found.most >= max(nbytes)
        if found.total is not None:
            per_rank = len(nbytes) // len(taking_part)
            assert found.total * per_rank == sum(nbytes)


def test_texts_of_sizes() -> None:
    assert str(MessageSize(8, 8)) == "8 B"
    assert str(MessageSize(0, 8, 24)) == "0 B to 8 B, 24 B on all ranks"
    assert str(MessageSize(1000, 2000, of_arrays=True)) == "1 kB to 2 kB per call"
    for less, more in pairwise([MessageSize(0, 0), MessageSize(0, 1)]):
        assert str(less) != str(more)


def test_a_single_rank_has_no_neighbours_over_the_border() -> None:
    """Of 3 x 3 ranks all others are neighbours of each one on a periodic grid, also in a tree from rank 0."""
    body = [call("Send", 1, count=1, datatype="MPI_INT", dest=peer, comm="world") for peer in (8, 4, 2, 1)]
    trace = record([body, *[[]] * 8])
    (leaf,) = trace.leaves()
    notation = GridNotation(trace, Grid((3, 3)))
    text = dict(params(trace, leaf, trace.participants(leaf), notation))["dest"]
    assert "north" not in text
    assert "8" in text


def test_partners_on_the_page_are_neighbours() -> None:
    trace = trace_of(halo_with_borders, (4, 4))
    east, north = [leaf.partners for leaf in leaves(gather(trace, "halo").tree.root)]
    assert east == "to east"
    assert north == "to north"
    assert "dest={y<Y-1: east; y==Y-1: PROC_NULL}" in next(leaves(gather(trace, "halo").tree.root)).params
