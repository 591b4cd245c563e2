"""What reporters draw, from traces by hand and random ones; nothing from a trace may steer the terminal."""

from __future__ import annotations

from collections import Counter
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings

from scalatrace.errors import UsageError
from scalatrace.escapes import clean
from scalatrace.operations import received_bytes, sent_bytes
from scalatrace.report.costs.efficiency import Efficiency
from scalatrace.report.costs.rows import by_node, by_rank
from scalatrace.report.costs.spread import spreads
from scalatrace.report.info import InfoReporter, shares
from scalatrace.report.lines import LinesReporter
from scalatrace.report.matrix import MatrixPart, MatrixReporter, parts_of
from scalatrace.report.notation import NotationReporter, notation
from scalatrace.report.replay import ReplayReporter
from scalatrace.report.stats import StatsReporter
from scalatrace.report.style import (
    coarse,
    coarse_duration,
    coarse_percent,
    duration,
    estimate,
    nbytes,
    ranks,
)
from scalatrace.report.trees.legend import LEGEND
from scalatrace.report.trees.reporter import TreeReporter
from scalatrace.report.trees.selection import NodeSelection
from scalatrace.report.values import param, peer_text, vec
from scalatrace.trace.exchange.matrix import PairTable
from scalatrace.trace.io.writer import pack_payload
from scalatrace.trace.model.elastic import Columns, Groups
from scalatrace.trace.model.nodes import Peer
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import Datatype, Kind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import ANY_SOURCE, Vec
from support.builder import DOUBLE, Builder, Comm, stencil
from support.drawing import drawn
from support.reported import million_stencil
from support.traces import traces


def figure_5_1() -> Trace:
    b = Builder(1)
    first = b.event("Barrier", at=("a.py:1:f",), comm=Comm())
    send = b.event("Isend", Vec((1, 0)), at=("a.py:2:f",), dest=0, comm=Comm())
    receive = b.event("Irecv", Vec((0, 1)), at=("a.py:3:f",), source=0, comm=Comm())
    last = b.event("Barrier", at=("a.py:4:f",), comm=Comm())
    return b.of(b.loop(2, first, send, receive, last))


def test_notation_of_figure_5_1() -> None:
    assert notation(figure_5_1()) == "E1(4,2) E2(1,1 0) E3(1,0 1) E4"


def test_notation_says_which_ranks_loop_how_often() -> None:
    b = Builder(4)
    trips = Groups([(RankList([0]), Vec(5)), (RankList([1, 2, 3]), Vec(6))])
    alone = Groups([(RankList([0]), Vec(1))])
    inner = b.loop(3, b.event("Send", at=("a:1:f",), dest=0), b.event("Recv", at=("a:2:f",), source=0))
    each = Columns(RankList([0, 1, 2, 3]), Vec(((4, 1, 7),)))
    trace = b.of(
        b.loop(trips, inner, b.event("Wait", alone, at=("a:3:f",))), b.event("Barrier", each, at=("a:4:f",))
    )
    expected = "E1(3,5)[0](3,6)[1-3](2,3) E2 E3(1,1)[0] E4(1,each 7 8 9 10)[0-3]"
    assert notation(trace) == expected


def test_notation_has_a_legend() -> None:
    shown = drawn(NotationReporter(figure_5_1()))
    assert [line.split()[:2] for line in shown.splitlines()[4:8]] == [
        ["E1", "Barrier"], ["E2", "Isend"], ["E3", "Irecv"], ["E4", "Barrier"],
    ]  # fmt: skip


def test_tree_of_the_stencil() -> None:
    lines = drawn(TreeReporter(stencil())).splitlines()
    assert lines[0] == "by hand  4 ranks, 124 events, 5 nodes"
    assert lines[1] == "├── 10 × loop of 3"
    assert lines[3].split() == [
        "│", "├──", "Isend", "count=100", "(800", "B)", "datatype=MPI_DOUBLE", "dest=self+1",
        "mod", "size", "tag=7", "comm=world", "halo.py:11:exchange",
    ]  # fmt: skip
    assert "ranks" not in "".join(lines[1:])
    assert "halo.py:11:exchange < app.py:5:main" in drawn(TreeReporter(stencil(), stacks=True))


def test_tree_says_who_takes_part_where_that_is_not_all() -> None:
    b = Builder(6)
    some = Groups([(RankList([0, 2, 4]), Vec(7))])
    shown = drawn(TreeReporter(b.of(b.loop(some, b.event("Barrier", comm=Comm())))))
    assert "7 × loop  ranks 0-4:2" in shown
    assert shown.count("ranks 0") == 1


def test_tree_of_chosen_nodes() -> None:
    b = Builder(2)
    long, short = Histogram(1, 9000, 9000, 9000, 0), Histogram(1, 10, 10, 10, 0)
    inner = b.loop(
        3,
        b.event("Barrier", at=("a.c:1:f",), compute=short),
        b.event("Bcast", at=("a.c:2:g", "a.c:9:main"), compute=long),
        b.event("Reduce", at=("a.c:3:h",), compute=short),
    )
    trace = b.of(b.loop(5, inner), b.event("Barrier", at=("a.c:4:f",), compute=short))

    def lines(selection: NodeSelection) -> list[str]:
        return [
            line.strip("│├─└ ") for line in drawn(TreeReporter(trace, selection=selection)).splitlines()[1:]
        ]

    assert lines(NodeSelection(depth=1)) == ["5 × loop", "… 4 nodes not shown", "Barrier  a.c:4:f"]
    assert (
        lines(NodeSelection(at="a.c:2"))
        == lines(NodeSelection(at="main"))
        == lines(NodeSelection(at="Bcast"))
    )
    assert lines(NodeSelection(at="a.c:2")) == ["5 × loop", "3 × loop of 3", "Bcast  a.c:2:g"]
    assert lines(NodeSelection(top=1)) == [
        "5 × loop  9.02 µs (99.9 %)",
        "3 × loop of 3  9.02 µs (99.9 %)",
        "Bcast  9 µs (99.7 %)  a.c:2:g",
        "… 2 nodes not shown, 0.2 %",
        "… 1 node not shown, 0.1 %",
    ]
    with pytest.raises(UsageError, match=r"contains 'b\.c'"):
        TreeReporter(trace, selection=NodeSelection(at="b.c"))


def test_costs_are_calls_where_times_were_not_recorded() -> None:
    b = Builder(2)
    trace = b.of(b.loop(5, b.event("Barrier")), b.event("Barrier"))
    trace.stats = []
    lines = drawn(TreeReporter(trace, selection=NodeSelection(top=1))).splitlines()
    assert lines[1].endswith("5 × loop  10 calls (83.3 %)")


def test_names_are_never_written_as_numbers() -> None:
    b = Builder(1)
    for n in range(12):
        b.trace.types.append(Datatype(f"type{n}", 1, 1))
    first = len(b.trace.types) - 12
    endless = Vec((first + 3, (0, 0, first, first + 1, (9, 0, first))))
    strided = Vec(((0, 0, (12, 1, first)),))
    shown = [param(b.trace, Kind.TYPE, value) for value in (endless, strided)]
    assert shown[0] == "[type3 ..*(type0 type1 9*(type0))]"
    assert shown[1] == "[type0 type1 type2 type3 type4 type5 type6 type7 …]"
    peers = Peer(Encoding.RELATIVE, Vec((1, 2, (0, 0, 9, (9, 1, 3)))))
    assert param(b.trace, Kind.PEER, peers) == "[self+1 self+2 ..*(self+9 9*(self+3 by 1))]"


def test_tree_has_a_legend_where_it_is_wanted() -> None:
    assert LEGEND not in drawn(TreeReporter(stencil()))
    assert LEGEND in drawn(TreeReporter(stencil(), legend=True))


def test_tree_cuts_long_values_unless_all_is_wanted() -> None:
    b = Builder(1)
    trace = b.of(b.event("Startall", requests=tuple(range(0, 10**15, 10**14 + 7)), label="x" * 100))
    assert "x" * 70 not in drawn(TreeReporter(trace), 400)
    assert "x" * 100 in drawn(TreeReporter(trace, full=True), 400)


@settings(max_examples=25)
@given(traces())
def test_every_reporter_shows_every_trace(trace: Trace) -> None:
    for reporter in (TreeReporter(trace), NotationReporter(trace), InfoReporter(trace, 1)):
        assert drawn(reporter)
    for by in ("op", "site", "rank"):
        assert drawn(StatsReporter(trace, by))
    lines = drawn(LinesReporter(trace.walk(0))).splitlines()
    assert len(lines) == trace.nevents(0)
    assert len(list(LinesReporter(trace.walk(0)).json_lines())) == trace.nevents(0)


@settings(max_examples=25)
@given(traces())
def test_stats_count_what_the_walk_meets(trace: Trace) -> None:
    calls = [call for rank in trace.ranks for call in trace.walk(rank)]
    sent, received = (sum(f(c.op, c) for c in calls) for f in (sent_bytes, received_bytes))
    for rows in (by_node(trace, "op"), by_node(trace, "site"), by_rank(trace)):
        assert sum(row.calls for row in rows) == len(calls)
        assert sum(row.sent for row in rows) == sent
        assert sum(row.received for row in rows) == received


@settings(max_examples=25)
@given(traces())
def test_spreads_name_the_ranks_with_least_and_most(trace: Trace) -> None:
    calls = {rank: list(trace.walk(rank)) for rank in trace.ranks}
    sent = {rank: sum(sent_bytes(c.op, c) for c in of_rank) for rank, of_rank in calls.items()}
    by_name = {spread.name: spread for spread in spreads(trace, None)}
    assert set(by_name) == {"calls"} | ({"bytes sent"} if any(sent.values()) else set())
    values = {"calls": {rank: len(of_rank) for rank, of_rank in calls.items()}, "bytes sent": sent}
    for name, spread in by_name.items():
        least, most = min(values[name].values()), max(values[name].values())
        assert (spread.least, spread.most) == (least, most)
        assert list(spread.least_ranks) == [rank for rank, n in values[name].items() if n == least]
        assert list(spread.most_ranks) == [rank for rank, n in values[name].items() if n == most]
        assert spread.mean == pytest.approx(sum(values[name].values()) / len(calls))
        assert spread.row()["min_ranks"] == "all" or least < most


def test_ranks_within_5_percent_are_named_together() -> None:
    b = Builder(4)
    times = Efficiency((0, 1, 2, 3), np.array([100.0, 97.0, 50.0, 60.0]), np.array([10.0, 10.0, 10.2, 10.0]))
    compute, inside = spreads(b.of(), times)[:2]
    assert (compute.row()["max_ranks"], compute.row()["min_ranks"]) == ("0-1", "2")
    assert inside.row()["max_ranks"] == "all"
    near_both = Efficiency((0, 1, 2), np.array([24.0, 25.0, 26.0]), np.array([10.0, 10.0, 10.0]))
    compute = spreads(Builder(3).of(), near_both)[0]  # rank 1 is within 5 % of both ends, which differ by 8 %
    assert (compute.row()["min_ranks"], compute.row()["max_ranks"]) == ("0-1", "1-2")


@given(traces())
def test_shares_are_most_of_the_payload_and_no_more(trace: Trace) -> None:
    found = sum(shares(trace).values())
    assert found <= len(pack_payload(trace))


def test_nothing_from_a_trace_steers_the_terminal() -> None:
    evil = "\x1b]0;owned\x07\x1b[2J[bold]x[/bold]\r\n\u202e"
    b = Builder(1)
    b.trace.meta = {evil: evil, "program": evil}
    b.trace.counts = {evil: 3}
    trace = b.of(b.event(evil, at=(f"{evil}:3:{evil}",), name=evil, **{evil: 1}))
    reporters = [
        TreeReporter(trace),
        NotationReporter(trace),
        InfoReporter(trace),
        LinesReporter(trace.walk(0)),
    ]
    reporters += [StatsReporter(trace, "site")]
    for reporter in reporters:
        shown = drawn(reporter, 1000)
        assert "[bold]x[/bold]" in shown
        assert not {"\x1b", "\x07", "\r", "\u202e"} & set(shown)


def matrix_of(pairs: dict[tuple[int, int], int], nprocs: int, block: int, what: str) -> MatrixReporter:
    """A reporter of messages between these pairs."""
    columns = np.array([(*pair, n) for pair, n in sorted(pairs.items()) if n]).T
    blocks = Counter[tuple[int, int]]()
    for (i, j), n in pairs.items():
        blocks[i // block, j // block] += n
    return MatrixReporter(
        [MatrixPart("point to point", "", PairTable(*columns), blocks)], nprocs, block, what
    )


def test_matrix_of_few_and_of_many_ranks() -> None:
    few = drawn(matrix_of({(i, i): 1000 * i for i in range(4)}, 4, 1, "bytes"))
    assert "3k" in few
    assert "3 pairs, 6 kB in all, 1 kB to 3 kB a pair" in few
    many = matrix_of({(200, 100): 3, (5, 7): 3}, 300, 5, "messages")
    shown = drawn(many, 80)
    assert max(map(len, shown.splitlines())) <= 80
    assert "2 pairs, 6 in all, 3 to 3 a pair" in shown
    assert [tuple(row.values()) for row in many.rows()] == [(5, 7, 3), (200, 100, 3)]
    assert many.plain()["matrix"][5][7] == 3


def test_collectives_are_told_apart_from_messages() -> None:
    b = Builder(4)
    trace = b.of(
        b.event("Alltoall", sendcount=1, sendtype=DOUBLE, recvcount=1, recvtype=DOUBLE, comm=Comm()),
        b.event("Send", count=2, datatype=DOUBLE, dest=1, tag=0, comm=Comm()),
    )
    parts, notes = parts_of(trace, "bytes", "all", 1)
    found = MatrixReporter(parts, 4, 1, "bytes", notes)
    shown = drawn(found)
    assert "4 pairs, 64 B in all, 16 B to 16 B a pair" in shown[: shown.index("collectives")]
    assert "16 pairs, 128 B in all, 8 B to 8 B a pair" in shown[shown.index("collectives") :]
    rows = list(found.rows())
    assert rows[1] == {"sender": 0, "receiver": 1, "bytes": 16, "collective_bytes": 8}
    assert rows[2] == {"sender": 0, "receiver": 2, "bytes": 0, "collective_bytes": 8}
    assert found.plain()["collective_matrix"][3] == [8] * 4


def test_the_matrix_of_a_million_ranks() -> None:
    trace = million_stencil()
    parts, notes = parts_of(trace, "bytes", "all", 8192)
    shown = drawn(MatrixReporter(parts, trace.nprocs, 8192, "bytes", notes))
    assert "4,190,208 pairs" in shown
    assert parts[0].pairs is not None
    assert parts[0].pairs.total == sum(parts[0].blocks.values())


def test_replay_reporter_tells_what_differs() -> None:
    facts = {
        "nprocs": 2, "wall_s": 2.0, "recorded_s": 1.0, "computed_s": 0.5, "late_s": 0.25, "left": 1,
        "engine_s": 0.5, "engine": "python",
        "calls": {"Send": 4}, "mpi_s": {"Send": 0.1}, "sent": {"Send": 4000}, "unequal": [],
    }  # fmt: skip
    shown = drawn(ReplayReporter(facts))
    assert "the replay took 200.0 % of it" in shown
    assert "2 calls, between two of them 250 ms of the python engine" in shown
    assert "500 ms of computation waited out; calls began 250 ms late, all together" in shown
    assert "verified" in shown
    row = {
        "op": "Send",
        "communicator": 3,
        "ranks": "0",
        "calls_recorded": 5,
        "calls_replayed": 4,
        "bytes_recorded": 5000,
        "bytes_replayed": 4000,
    }
    shown = drawn(ReplayReporter({**facts, "unequal": [row]}))
    assert "verified" not in shown
    assert shown.splitlines()[-2].split() == ["Send", "3", "0", "5", "4", "5,000", "4,000"]


@pytest.mark.parametrize(
    ("n", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (1_234_567, "1.23 MB"), (999_999, "1 MB")]
)
def test_bytes(n: int, text: str) -> None:
    assert nbytes(n) == text


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (12, "12 ns"),
        (1500, "1.5 µs"),
        (2.5e9, "2.5 s"),
        (36_000e9, "36,000 s"),
        (1_234_567e9, "1.235e+06 s"),
    ],
)
def test_durations(ns: float, text: str) -> None:
    assert duration(ns) == text


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"), (3, "3 ns"), (751, "750 ns"), (156.6e6, "157 ms"), (52.34e6, "52 ms"),
        (1.042e9, "1.04 s"), (999.6e6, "1 s"), (-209.1e6, "-210 ms"), (inf, "inf s"),
    ],
)  # fmt: skip
def test_coarse_durations_have_the_digits_of_their_resolution(ns: float, text: str) -> None:
    assert coarse_duration(ns) == text
    if 0 < ns < inf:
        assert {coarse_duration(ns * by) == text for by in (0.94, 1.06)} == {False}  # 6 % more is another one


def test_intervals_have_digits_that_tell_their_ends_apart() -> None:
    assert estimate(2.41e9, 2.38e9, 2.44e9) == "2.4 s (95 %: 2.38 s .. 2.44 s)"
    assert estimate(2.41e9, 2.2e9, 2.64e9) == "2.4 s (95 %: 2.2 s .. 2.6 s)"
    assert estimate(2.41e9, 1.234e9, 9.87e9) == "1.23 s .. 9.9 s (95 %)"
    assert estimate(2.41e9, 2.41e9, inf) == "2.4 s or more"


def test_coarse_percent() -> None:
    shares = [coarse_percent(part, 1) for part in (0, 0.0321, 0.1274, 0.4943, 1, 2.088)]
    assert shares == ["0.0 %", "3.2 %", "12.7 %", "49 %", "100 %", "210 %"]
    assert coarse_percent(1, 0) == "-"


def test_ranks_are_runs_where_they_are_few() -> None:
    assert ranks(RankList([0, 1, 2, 8])) == "0-2, 8"
    assert ranks(RankList(range(0, 100, 2))) == "0-98:2"
    assert ranks(RankList([0, 2])) == "0, 2"
    blocks = RankList(r for r in range(100) if r % 8 < 3)
    assert ranks(blocks) == str(blocks)


def test_values() -> None:
    assert peer_text(Encoding.RELATIVE, -4) == "self-4"
    assert peer_text(Encoding.XOR, 4) == "self xor 4"
    assert peer_text(Encoding.XOR, 0) == "self"
    assert peer_text(Encoding.MODULO, 7, 8) == "self-1 mod size"
    assert peer_text(Encoding.MODULO, 4, 8) == "self+4 mod size"
    assert peer_text(Encoding.MODULO, ANY_SOURCE) == "ANY_SOURCE"
    assert vec(Vec(((0, 0, 1, 2),)), str) == "[1 2 …]"
    assert vec(Vec((1, 1, 2)), str) == "[1 1 2]"
    assert vec(Vec(((0, 1, 5),)), str) == str(Vec(((0, 1, 5),)))


def test_clean_keeps_what_can_be_read() -> None:
    assert clean("größe_1 ✓") == "größe_1 ✓"
    assert clean("a\tb") == "a\\x09b"


def test_differences_of_equal_numbers_are_0() -> None:
    assert coarse(100 * (1.1 * 3 / 3.3 - 1)) == 0
