"""Where loops begin: call paths tell where an iteration ends, whatever part of it a rank takes part in."""

from __future__ import annotations

from collections.abc import Sequence as AnySequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.report.notation import notation
from scalatrace.trace.model.elastic import at
from scalatrace.trace.model.nodes import Sequence
from support.spmd import Program, Rank, record, walked


def line(number: int, *callers: str) -> tuple[str, ...]:
    """A call path: a line of step(), and the frames around it, inner ones first."""
    return (f"app.py:{number}:step", *callers)


def first_line(program: Program, nprocs: int, folder: Path) -> str:
    """The whole trace in the dissertation's notation, after it was found to be exact."""
    trace, told = record(program, nprocs, folder)
    assert [walked(trace, r) for r in range(nprocs)] == told
    return notation(trace).splitlines()[0]


def test_a_rank_that_enters_a_loop_later_has_the_same_loop(tmp_path: Path) -> None:
    def program(rank: Rank) -> None:
        for i in range(10):
            if i > 0 or rank.rank == 0:
                rank.call("Recv", line(10))
            rank.call("Send", line(20))
            rank.call("Barrier", line(30))

    assert first_line(program, 2, tmp_path) == "E1(3,10)(1,1)[0](1,[0 ..*(1)])[1] E2 E3"


def test_a_pipeline_s_first_and_last_stage_are_iterations(tmp_path: Path) -> None:
    def program(rank: Rank) -> None:
        for _ in range(10):
            rank.call("Barrier", line(1))
            for stage in range(4):
                if stage > 0:
                    rank.call("Irecv", line(10))
                    rank.call("Wait", line(11))
                if stage < 3:
                    rank.call("Isend", line(12))

    assert first_line(program, 1, tmp_path) == (
        "E1(4,10) E2(3,4)(1,[..*(0 3*(1))]) E3(1,[..*(0 3*(1))]) E4(1,[..*(3*(1) 0)])"
    )


def test_functions_called_from_one_line_have_an_order_too(tmp_path: Path) -> None:
    def program(rank: Rank) -> None:
        for i in range(10):
            if i > 0 or rank.rank == 0:
                rank.call("Recv", ("app.py:10:receive", "app.py:5:main"))
            rank.call("Send", ("app.py:20:send", "app.py:5:main"))
            rank.call("Bcast", ("app.py:15:share", "app.py:5:main"))

    trace, told = record(program, 2, tmp_path)
    assert [walked(trace, r) for r in range(2)] == told
    assert trace.nnodes == 4


def test_the_outer_frame_decides_where_an_iteration_ends(tmp_path: Path) -> None:
    """Ranks whose sweeps differ in length, none of which is in step with the loop around them."""

    def program(rank: Rank) -> None:
        for _ in range(10):
            for half in range(2):
                for _ in range(2 + (rank.rank + half) % 3):
                    rank.call("Recv", line(10, "app.py:40:solve"))
                    rank.call("Send", line(11, "app.py:40:solve"))
            rank.call("Allreduce", line(5, "app.py:50:solve"))

    trace, told = record(program, 6, tmp_path)
    assert [walked(trace, r) for r in range(6)] == told
    [outer] = trace.nodes
    assert trace.nnodes <= 5
    assert str(outer.repeat) == "10"


def wavefront(width: int) -> Program:
    """Sweeps from the four corners of a square: a rank calls nothing for the sides it has no neighbour on."""

    def program(rank: Rank) -> None:
        i, j = divmod(rank.rank, width)
        for _ in range(5):
            for di, dj in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                sides = ((i - di, "Recv"), (j - dj, "Recv"), (i + di, "Send"), (j + dj, "Send"))
                for _ in range(4):
                    for number, (place, call) in enumerate(sides, 10):
                        if 0 <= place < width:
                            rank.call(call, line(number))
            rank.call("Allreduce", line(20))

    return program


@pytest.mark.parametrize("width", [2, 3, 4])
def test_sweeps_that_make_different_calls_are_iterations_of_one_loop(width: int, tmp_path: Path) -> None:
    trace, told = record(wavefront(width), width * width, tmp_path)
    assert [walked(trace, r) for r in range(width * width)] == told
    [step] = trace.nodes
    assert isinstance(step, Sequence)
    sweep, _ = step.nodes
    assert isinstance(sweep, Sequence)
    assert trace.nnodes == 7
    if width > 2:  # a rank at a border and one inside: as many as the program's
        assert str(at(sweep.repeat, 1)) == str(at(sweep.repeat, width + 1)) == "16"


def panels(width: int) -> Program:
    """Each rank factors every `width`-th panel, updates but the last ones, and solves in turn."""

    def program(rank: Rank) -> None:
        solve = "app.py:30:solve"
        for _ in range(4):
            for panel in range(2 * width):
                if panel % width == rank.rank:
                    for column in range(4):
                        rank.call("Allreduce", ("app.py:1:factor", "app.py:10:panel", solve))
                        if (rank.rank + column) % 3:
                            rank.call("Sendrecv", ("app.py:2:factor", "app.py:10:panel", solve))
                        rank.call("Bcast", ("app.py:3:factor", "app.py:10:panel", solve))
                rank.call("Bcast", ("app.py:11:panel", solve))
                if panel <= width + rank.rank:
                    rank.call("Bcast", ("app.py:20:update", "app.py:31:solve"))
            for place in range(2 * width):
                if place % width == rank.rank // 2:
                    rank.call("Reduce", ("app.py:40:back", "app.py:32:solve"))
                if place % width == rank.rank:
                    rank.call("Bcast", ("app.py:41:back", "app.py:32:solve"))

    return program


@pytest.mark.parametrize("width", [3, 4, 8])
def test_iterations_that_lack_beginning_or_end_are_in_the_loop(width: int, tmp_path: Path) -> None:
    trace, told = record(panels(width), width, tmp_path)
    assert [walked(trace, r) for r in range(width)] == told
    [step] = trace.nodes
    assert isinstance(step, Sequence)
    assert str(step.repeat) == "4"
    assert trace.nnodes == 11


frames = st.sampled_from(["a.py:1:f", "a.py:5:f", "a.py:9:f", "b.py:3:g", "b.py:2:g"])
paths = st.lists(frames, min_size=1, max_size=3)


@given(body=st.lists(paths, min_size=1, max_size=8, unique_by=tuple))
def test_no_order_of_lines_hides_a_loop(body: AnySequence[list[str]]) -> None:
    """Lines that go up and down in an iteration as they like: the trace does not grow with the trip count.

    Its nodes are the loop, partial iterations around it, and inner loops where a call occurs twice.
    """

    def nodes_after(turns: int) -> int:
        def program(rank: Rank) -> None:
            for _ in range(turns):
                for path in body:
                    rank.call("Send", tuple(path))

        with TemporaryDirectory() as folder:
            trace, told = record(program, 1, Path(folder))
            assert walked(trace, 0) == told[0]
            return trace.nnodes

    assert nodes_after(40) == nodes_after(10) <= 3 * len(body)
