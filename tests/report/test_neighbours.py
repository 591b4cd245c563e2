"""Peers and sets of ranks in the notation of the grid; others keep their numbers."""

from __future__ import annotations

from itertools import pairwise

import pytest
from rich.console import Console
from rich.text import Text

from scalatrace.formula import format_text
from scalatrace.formula.parse import parse_number
from scalatrace.report.style import print_wrapped
from scalatrace.report.trees.grid_notation import GridNotation
from scalatrace.report.trees.reporter import TreeReporter
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.symbolic.entries import conditional_entries
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import PROC_NULL
from support.calls import IssuedCall, call
from support.drawing import drawn
from support.grids import Rank, trace_of

AROUND = ((-1, 0), (1, 0), (0, -1), (0, 1))


def sends(*steps: tuple[int, ...], dims: tuple[int, ...]) -> Trace:
    """A trace of ranks on a periodic grid that send to the ranks at some steps, each from a call site."""

    def body(rank: Rank) -> list[IssuedCall]:
        return [
            call("Send", site, count=8, datatype="MPI_DOUBLE", dest=rank.neighbour(step, True), comm="world")
            for site, step in enumerate(steps, 1)
        ]

    return trace_of(body, dims)


def dests(trace: Trace, by_grid: bool = True) -> list[str]:
    """The destinations in the tree, in the order of call sites."""
    lines = drawn(TreeReporter(trace, full=True, by_grid=by_grid), 1000).splitlines()[1:]
    return [line.partition("dest=")[2].partition("  comm=")[0] for line in lines]


def test_neighbours_on_a_periodic_plane() -> None:
    trace = sends(*AROUND, dims=(4, 6))
    assert dests(trace) == ["north", "south", "west", "east"]
    assert "24 ranks (4 x 6)" in drawn(TreeReporter(trace))
    assert "self" in dests(trace, by_grid=False)[0]


def test_diagonals_and_far_ranks() -> None:
    trace = sends(*AROUND, (-1, 1), (1, -1), (2, 0), dims=(6, 6))
    assert dests(trace)[4:6] == ["north-east", "south-west"]
    assert dests(trace)[6] == "(x+2, y)"


def test_three_dimensions_have_places() -> None:
    steps = [(-1, 0, 0), (0, 1, 0), (0, 0, -1)]
    assert dests(sends(*steps, dims=(4, 3, 5))) == ["(x-1, y, z)", "(x, y+1, z)", "(x, y, z-1)"]


def test_the_border_is_a_class_of_its_own() -> None:
    def body(rank: Rank) -> list[IssuedCall]:
        peers = [p for step in AROUND if (p := rank.neighbour(step, False)) is not None]
        return [call("Send", 1, count=8, datatype="MPI_INT", dest=peer, comm="world") for peer in peers]

    (shown,) = dests(trace_of(body, (4, 4)))
    assert "0: [south east]" in shown
    assert "5-6, 9-10: [north south west east]" in shown


@pytest.mark.parametrize("dims", [(2, 2), (16,)])
def test_few_ranks_and_a_row_are_no_grid(dims: tuple[int, ...]) -> None:
    """Each of four ranks is a neighbour of each other on 2 x 2 ranks, whatever the program does."""
    steps = [(0, 1), (1, 0), (1, 1)] if len(dims) == 2 else [(1,), (-1,)]
    assert GridNotation.of(sends(*steps, dims=dims)).grid is None


def test_sizes_in_bytes() -> None:
    assert "count=8 (64 B)  datatype=MPI_DOUBLE" in drawn(TreeReporter(sends((0, 1), dims=(4, 4))), 1000)

    def growing(rank: Rank) -> list[IssuedCall]:
        return [call("Bcast", 1, count=n, datatype="MPI_DOUBLE", root=0, comm="world") for n in (1, 9, 4)]

    assert "count=[1 9 4] (8 B to 72 B)" in drawn(TreeReporter(trace_of(growing, (4,))), 1000)


def test_sizes_of_ranks_with_counts_of_their_own() -> None:
    def border(rank: Rank) -> list[IssuedCall]:
        peer = rank.neighbour((0, -1), False)
        if peer is None:
            return [call("Send", 1, count=0, datatype="MPI_BYTE", dest=PROC_NULL, comm="world")]
        return [call("Send", 1, count=48, datatype="MPI_DOUBLE", dest=peer, comm="world")]

    assert "(0 B to 384 B, 4.61 kB on all ranks)" in drawn(TreeReporter(trace_of(border, (4, 4))), 1000)

    def pairs(rank: Rank) -> list[IssuedCall]:
        sizes = ((1, "MPI_DOUBLE"), (21, "MPI_BYTE"))
        return [call("Bcast", 1, count=n, datatype=name, root=0, comm="world") for n, name in sizes * 5]

    assert "(8 B to 168 B)" in drawn(TreeReporter(trace_of(pairs, (4,))), 1000)


@pytest.mark.parametrize("dims", [(4, 4), (8, 8)])
def test_neighbours_on_sides_that_are_powers_of_two(dims: tuple[int, ...]) -> None:
    """There a distance may be written as an exclusive or, which is another number on each rank."""

    def body(rank: Rank) -> list[IssuedCall]:
        peers = [rank.neighbour(step, False) for step in ((0, -1), (1, 0))]
        return [
            call("Send", site, count=8, dest=PROC_NULL if peer is None else peer, comm="world")
            for site, peer in enumerate(peers)
        ]

    assert dests(trace_of(body, dims)) == [
        "{y==0: PROC_NULL; y>0: west}",
        "{x<X-1: south; x==X-1: PROC_NULL}",
    ]


def test_groups_are_all_written_in_one_way() -> None:
    names = GridNotation.of(sends((0, 1), (1, 0), dims=(4, 4)))
    everyone = RankList.all(16)
    assert names.ranks([RankList(range(4)), RankList(range(4, 16))], everyone) == ["x==0", "x>0"]
    assert names.ranks([RankList(range(4)), RankList([4, 9])], everyone) == ["0-3", "4, 9"]
    assert names.ranks([RankList([0]), RankList(range(4, 16))], everyone) == ["0", "x>0"]


def test_lines_wrap_between_words() -> None:
    text = "Send  count=100 (800 B)  datatype=MPI_DOUBLE  dest={0: north; 1: south}  " + "w" * 60
    console = Console(width=50, force_terminal=True, color_system=None)
    with console.capture() as capture:
        print_wrapped(console, Text("├── "), Text("│       "), Text(text))
    lines = capture.get().splitlines()
    assert [line[:4] for line in lines] == ["├── ", *["│   "] * (len(lines) - 1)]
    assert [word for line in lines for word in line.strip("├─│ ").split()] == text.split()
    assert max(map(len, lines[:-1])) <= 50
    assert lines[0].endswith("(800 B)")


@pytest.mark.parametrize(
    "word", ["/scratch/projects/solver/src/halo.py", "count=22*block(n,X,y+1)*block(n,X,x+y+1)-(x==0)"]
)
def test_long_words_wrap_at_separators(word: str) -> None:
    console = Console(width=44, force_terminal=True, color_system=None)
    with console.capture() as capture:
        print_wrapped(console, Text("├── "), Text("    " * 6), Text(f"Isend  {word * 3}"))
    lines = [line.removeprefix("├── ").strip() for line in capture.get().splitlines()]
    assert "".join(lines) == f"Isend{word * 3}"
    for line, following in pairwise(lines[1:]):
        assert line[-1] in "/,;:*)" or following[0] in "-+<"


LIST = "-Y*(x>0)*(i1==0) + 1*(y<Y-1)*(i1==(x>0)) + 7*(i1==(x>0)+(y<Y-1))"


def test_entries_of_a_list() -> None:
    entries = conditional_entries(parse_number(LIST))
    assert entries is not None
    assert [(format_text(entry.value), len(entry.conditions)) for entry in entries] == [
        ("-Y", 1),
        ("1", 1),
        ("7", 0),
    ]


@pytest.mark.parametrize(
    "text", ["Y", "x+y", "2*(x>0)*(i1==1) + 3*(i1==0)", LIST.replace("(i1==(x>0))", "(i1==2)")]
)
def test_other_formulas_are_no_list(text: str) -> None:
    assert conditional_entries(parse_number(text)) is None
