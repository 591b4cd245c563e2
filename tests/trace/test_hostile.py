"""Small traces of very many calls, ranks or levels: closed forms or one clear error."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from scalatrace.cli.dispatch import main
from scalatrace.errors import FormatError, LimitError, TextError
from scalatrace.report.costs.rows import by_node, by_rank
from scalatrace.report.trees.reporter import TreeReporter
from scalatrace.trace.consistency.partners import first_unmatched
from scalatrace.trace.exchange.matrix import pairs
from scalatrace.trace.io.check import MAX_NODE_DEPTH
from scalatrace.trace.io.container import pack_container
from scalatrace.trace.io.reader import loads
from scalatrace.trace.io.text import text
from scalatrace.trace.io.textparse import parse
from scalatrace.trace.io.writer import pack_payload, save
from scalatrace.trace.model.elastic import Columns
from scalatrace.trace.model.nodes import Node
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query import counting
from scalatrace.trace.query.diff import diff
from scalatrace.trace.query.grouped import TOO_MANY, grouped
from scalatrace.trace.query.requests import MAX_WALKED
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec
from support.builder import DOUBLE, Builder, Comm, To
from support.drawing import json_of
from support.traces import endless, expand

BIG = 1 << 62


def ring(b: Builder, repeat: Any = 1, count: Any = 8, tag: Any = 1) -> Node:
    """Everybody sends to the next rank."""
    to = To(Encoding.MODULO, Vec(1))
    return b.event(
        "Isend", repeat, at=("a.c:1:f",), count=count, datatype=DOUBLE, dest=to, tag=tag, comm=Comm()
    )


small = st.integers(0, 3)


@given(
    st.lists(endless(small) | st.builds(Vec, st.just(((0, 1, 5),))), min_size=1, max_size=3),
    st.integers(0, 70),
)
def test_grouped_values_are_those_of_the_vectors(vecs: list[Vec], n: int) -> None:
    expected = Counter(zip(*(expand(vec.terms, n) for vec in vecs), strict=True))
    found: Counter[Any] = Counter()
    for values, times in grouped(vecs, n):
        found[values] += times
    assert found == expected


def test_grouped_vectors_that_end_say_so() -> None:
    assert list(grouped([Vec((1, 2)), Vec(((0, 0, 5, 6),))], 3))[-1] == (None, 0)


@pytest.mark.parametrize(
    ("count", "distinct"),
    [
        (Vec(((0, 0, 1, 2, 3),)), 3),
        (Vec(((0, 0, (1 << 40, 0, 5), 6),)), 2),
        (Vec((7, (1 << 50, 0, (3, 0, (2, 0, 1, 4), 9)), (0, 0, 2))), 14),
    ],
)
def test_huge_periods_are_read_once(count: Vec, distinct: int) -> None:
    groups = list(grouped([count, Vec(((0, 0, 8, 9),))], BIG))
    assert sum(n for _, n in groups) == BIG
    assert distinct <= len(groups) <= 10 * distinct


def test_counts_of_a_loop_of_2_to_the_62() -> None:
    b = Builder(4)
    trace = b.of(b.loop(BIG, ring(b, count=Vec(((0, 0, 1, 2, 3, 4),)), tag=Vec(((0, 1, 0),)))))
    sent = 8 * BIG * 10 // 4
    assert [row.sent for row in by_rank(trace)] == [sent] * 4
    assert [(row.calls, row.sent) for row in by_node(trace, "op")] == [(4 * BIG, 4 * sent)]
    assert pairs(trace) == {(rank, (rank + 1) % 4): sent for rank in range(4)}
    assert set(pairs(trace, "messages").values()) == {BIG}
    with pytest.raises(LimitError, match="more than 64 bits hold"):
        trace.matrix()


def test_a_count_that_grows_is_summed() -> None:
    b = Builder(2)
    trace = b.of(b.loop(BIG, ring(b, count=Vec(((BIG, 1, 0),)))))
    assert by_node(trace, "op")[0].sent == 2 * 8 * BIG * (BIG - 1) // 2


def test_very_many_different_calls_are_refused_at_once() -> None:
    assert [n for _, n in grouped([Vec(((0, 1, 0),))], BIG)] == [TOO_MANY]
    b = Builder(2)
    trace = b.of(b.loop(BIG, ring(b, count=Vec(((BIG, 1, 0),)))))
    with pytest.raises(LimitError, match=r"Isend at a.c:1:f: rank 0 makes 4611686018427387904 calls"):
        pairs(trace)


def test_persistent_requests_started_very_often(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = MAX_WALKED // 64
    monkeypatch.setattr("scalatrace.trace.query.requests.MAX_WALKED", limit)
    b = Builder(2)
    to = To(Encoding.MODULO, Vec(1))
    made = b.event("Send_init", count=8, datatype=DOUBLE, dest=to, tag=1, comm=Comm())
    trace = b.of(made, b.loop(BIG, b.event("Start", request=0), b.event("Wait", request=0)))
    assert {row.key[0]: row.sent for row in by_node(trace, "op")}["Start"] == 2 * 8 * 8 * BIG
    changing = b.event("Start", request=Vec(((BIG, 0, 1),)))
    trace = b.of(made, b.loop(BIG, changing, b.event("Wait", request=0)))
    with pytest.raises(LimitError, match=f"finding the requests it starts is limited to {limit} calls"):
        by_node(trace, "op")


def test_many_ranks_are_counted_together_or_refused() -> None:
    b = Builder(1 << 24)
    trace = b.of(b.loop(1000, ring(b)))
    assert by_node(trace, "op")[0].sent == (1 << 24) * 1000 * 64
    for refused in (pairs, by_rank, Trace.matrix):
        with pytest.raises(LimitError, match=r"16,?777,?216"):
            refused(trace)


def test_many_ranks_with_trip_counts_of_their_own_are_refused() -> None:
    b = Builder(1 << 24)
    trips = Columns(RankList.all(1 << 24), Vec(((1 << 24, 1, 0),)))
    trace = b.of(ring(b, trips))
    for refused in (pairs, by_rank, lambda trace: by_node(trace, "op")):
        with pytest.raises(LimitError, match=r"trip count|limit 4,194,304"):
            refused(trace)


def nested(levels: int) -> Trace:
    """An event in so many loops."""
    b = Builder(2)
    node = ring(b)
    for _ in range(levels):
        node = b.loop(2, node)
    return b.of(node)


COMMANDS = (
    "info", "stats", "stats --by site", "stats --by rank", "show", "show --text", "show --notation",
    "show --rank 1 --limit 3", "matrix --csv", "matrix --json", "info --json",
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_with_the_deepest_trace(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(nested(MAX_NODE_DEPTH), tmp_path / "a.st")
    assert main([*command.split(), str(tmp_path / "a.st")]) == 0
    assert capsys.readouterr().err == ""


def test_deeper_traces_are_refused_in_every_form() -> None:
    assert parse(text(nested(MAX_NODE_DEPTH))) == nested(MAX_NODE_DEPTH)
    with pytest.raises(FormatError, match="nested too deeply"):
        loads(pack_container(pack_payload(nested(MAX_NODE_DEPTH + 1))))
    with pytest.raises(TextError, match="nested too deeply"):
        parse(text(nested(MAX_NODE_DEPTH + 1)))


def test_info_of_many_ranks_lists_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    b = Builder(1 << 20)
    save(b.of(ring(b)), tmp_path / "a.st")
    facts = json_of(capsys, "info", tmp_path / "a.st")
    assert (facts["ranks"], facts["ranklist"]) == (None, f"<1 0 {1 << 20} 1>")


def test_missing_logs_of_many_ranks_are_few_problems(tmp_path: Path) -> None:
    from scalatrace.trace.query.verify import verify

    b = Builder(1 << 20)
    problems = verify(b.of(ring(b)), tmp_path).problems
    assert len(problems) == 1001
    assert f"{(1 << 20) - 1001} ranks after it" in problems[-1].reason


def test_participants_are_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    marked = 0
    mark = counting._mark

    def counted(nodes: Any, *rest: Any) -> None:
        nonlocal marked
        marked += len(nodes)
        mark(nodes, *rest)

    monkeypatch.setattr(counting, "_mark", counted)
    b = Builder(2)
    trace = b.of(*(b.loop(2, ring(b), ring(b)) for _ in range(50)))
    TreeReporter(trace).render(Console(file=io.StringIO()))
    assert marked == trace.nnodes
    for node in trace.nodes:
        assert trace.participants(node) == RankList.all(2)
    assert marked == 2 * trace.nnodes


def test_participants_of_nodes_that_came_later() -> None:
    b = Builder(2)
    trace = b.of(ring(b))
    assert len(trace.participants(trace.nodes[0])) == 2
    trace.nodes.append(ring(b))
    assert len(trace.participants(trace.nodes[1])) == 2


def test_recursion_and_memory_end_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for error in (RecursionError(), MemoryError("no more")):

        def fails(path: str, error: BaseException = error) -> None:
            raise error

        monkeypatch.setattr("scalatrace.load", fails)
        assert main(["stats", "a.st"]) == 1
        assert capsys.readouterr().err.count("\n") == 1


def test_nodes_are_visited_a_fixed_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the number of nodes whose bytes differ between ranks."""
    visits = 0
    after = counting.runs_after

    def counted(*args: Any) -> Any:
        nonlocal visits
        visits += 1
        return after(*args)

    monkeypatch.setattr(counting, "runs_after", counted)
    b = Builder(4)
    sizes = Columns(RankList.all(4), Vec((5, 6, 8, 9)))
    trace = b.of(*(ring(b, count=sizes) for _ in range(50)))
    assert by_node(trace, "op")[0].sent == 50 * 8 * 28
    assert visits <= 2 * trace.nnodes
    visits = 0
    assert sum(pairs(trace).values()) == 50 * 8 * 28
    assert visits <= 2 * trace.nnodes


def test_equal_calls_in_different_loops_are_not_compared_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scalatrace.trace.query.diff.CALLS_TRIED", 100)
    one, other, apart = Builder(2), Builder(2), Builder(2)
    left = one.of(one.loop(BIG, ring(one)))
    right = other.of(other.loop(BIG // 2, ring(other), ring(other)))
    with pytest.raises(LimitError, match="rank 0: the first 99 calls are equal"):
        diff(left, right)
    assert diff(left, apart.of(apart.loop(BIG, ring(apart, tag=Vec((1, 2))))))[0].event == 2


def test_partners_of_a_loop_of_2_to_the_62() -> None:
    b = Builder(2)
    given = {"count": Vec(((0, 0, 1, 2),)), "datatype": DOUBLE, "tag": 1, "comm": Comm()}
    receive = b.event("Recv", source=To(Encoding.MODULO, Vec(-1)), **given)
    trace = b.of(b.loop(BIG, ring(b, count=Vec(((0, 0, 1, 2),))), receive))
    assert first_unmatched(trace) is None
    b = Builder(2)
    receive = b.event("Recv", source=To(Encoding.MODULO, Vec(-1)), **given)
    trace = b.of(b.loop(BIG, ring(b, count=Vec(((0, 0, 1, 2),)))), b.loop(BIG - 1, receive))
    assert first_unmatched(trace) is not None
