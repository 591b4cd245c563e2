"""The dissertation's own examples (chapters 2 and 5), as the core compresses them."""

from __future__ import annotations

from pathlib import Path

from scalatrace.report.notation import notation
from scalatrace.trace.model.nodes import Event, Sequence
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.ranklist import RankList
from support.spmd import Rank, record, walked


def only_loop(trace: Trace) -> Sequence:
    """The trace's one node, which is a loop."""
    [node] = trace.nodes
    assert isinstance(node, Sequence)
    return node


def sites(trace: Trace, loop: Sequence) -> list[str]:
    """The innermost frames of a loop's events."""
    assert all(isinstance(node, Event) for node in loop.nodes)
    return [trace.frames[trace.signatures[node.signature][0]] for node in loop.nodes]  # type: ignore[union-attr]


def test_figure_2_1_is_one_prsd_of_three_events(tmp_path: Path) -> None:
    def program(rank: Rank) -> None:
        for _ in range(1000):
            for step in (1, -1, 4, -4):
                rank.call("Irecv", "irecv", (rank.rank + step) % 16)
                rank.call("Isend", "isend", (rank.rank + step) % 16)
            rank.wait("waitall", list(range(7, -1, -1)))

    trace, told = record(program, 16, tmp_path)
    outer = only_loop(trace)
    inner, waitall = outer.nodes
    assert isinstance(inner, Sequence)
    assert isinstance(waitall, Event)
    assert (str(outer.repeat), str(inner.repeat), str(waitall.repeat)) == ("1000", "4", "1")
    assert sites(trace, inner) == ["irecv", "isend"]
    assert [walked(trace, r) for r in range(16)] == told


def test_figure_5_1(tmp_path: Path) -> None:
    def program(rank: Rank) -> None:
        for i in range(2):
            rank.call("Barrier", "E1")
            if i == 0:
                rank.call("Isend", "E2")
            if i == 1:
                rank.call("Irecv", "E3")
            rank.call("Barrier", "E4")

    trace, _ = record(program, 1, tmp_path)
    assert notation(trace).splitlines()[0] == "E1(4,2) E2(1,1 0) E3(1,0 1) E4"


def test_figure_5_2_leaves_no_trailing_iterations(tmp_path: Path) -> None:
    for trips in (
        [1, 2, 3, 4, 5],
        [5, 4, 3, 2, 1],
        [2, 1, 1, 3, 1],
        [1, 1, 2, 1, 2],
        [3, 3, 3, 1, 7],
        [1, 5, 1, 1, 1],
    ):

        def program(rank: Rank, trips: list[int] = trips) -> None:
            for n in trips:
                rank.call("Bcast", "other")
                for _ in range(n):
                    rank.call("Isend", "isend")
                    rank.call("Irecv", "irecv")
                    rank.wait("waitall", [1, 0])

        trace, told = record(program, 1, tmp_path)
        outer = only_loop(trace)
        other, inner = outer.nodes
        assert isinstance(other, Event)
        assert isinstance(inner, Sequence)
        assert sites(trace, inner) == ["isend", "irecv", "waitall"]
        assert walked(trace, 0) == told[0]


def test_figure_5_4_merges_to_the_five_events_of_5_5(tmp_path: Path) -> None:
    def program(rank: Rank) -> None:
        other = rank.rank ^ 1
        if rank.rank % 2 == 0:
            for _ in range(5):
                rank.call("Isend", "2", other)
                rank.call("Irecv", "3", other)
            rank.call("Isend", "5", other)
            rank.call("Irecv", "6", other)
            rank.wait("waitall", list(range(11, -1, -1)))
        else:
            for _ in range(6):
                rank.call("Isend", "2", other)
                rank.call("Irecv", "3", other)
                rank.wait("waitall", [1, 0])

    for nprocs in (2, 8):
        trace, told = record(program, nprocs, tmp_path)
        loop = only_loop(trace)
        assert str(loop.repeat) == "6"
        assert sites(trace, loop) == ["2", "3", "5", "6", "waitall"]
        odd = RankList(range(1, nprocs, 2))
        even = RankList(range(0, nprocs, 2))
        assert [trace.participants(node) for node in loop.nodes] == [
            trace.ranks,
            trace.ranks,
            even,
            even,
            trace.ranks,
        ]
        assert odd.first == 1
        assert [walked(trace, r) for r in range(nprocs)] == told


def test_ranklist_of_figure_2_2(tmp_path: Path) -> None:
    shaded = (6, 7, 8, 11, 12, 13, 16, 17, 18)

    def program(rank: Rank) -> None:
        rank.call("Barrier", "all")
        if rank.rank in shaded:
            rank.call("Barrier", "shaded")

    trace, _ = record(program, 25, tmp_path)
    assert str(trace.participants(trace.nodes[1])) == "<2 6 3 5 3 1>"


def test_wavefront_has_nine_groups_in_one_loop(tmp_path: Path) -> None:
    def program(rank: Rank, x: int = 8) -> None:
        row, column = divmod(rank.rank, x)
        for _ in range(20):
            if column > 0:
                rank.call("Recv", "west", rank.rank - 1)
            if row > 0:
                rank.call("Recv", "north", rank.rank - x)
            if column < x - 1:
                rank.call("Send", "east", rank.rank + 1)
            if row < x - 1:
                rank.call("Send", "south", rank.rank + x)

    trace, told = record(program, 64, tmp_path)
    loop = only_loop(trace)
    assert sites(trace, loop) == ["west", "north", "east", "south"]
    assert [walked(trace, r) for r in range(64)] == told


def test_halves_that_need_different_encodings(tmp_path: Path) -> None:
    """One half of the ranks has a peer that is relative, the other one that is absolute."""

    def program(rank: Rank) -> None:
        rank.call("Send", "send", rank.rank + 1 if rank.rank < 16 else 0)

    trace, told = record(program, 32, tmp_path)
    assert [walked(trace, r) for r in range(32)] == told
