"""Collective calls from several lines become one node (Algorithm 2), and nothing else changes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given

from scalatrace.codegen.generate import generate
from scalatrace.codegen.matching import MatchingError, MatchingProblem, align_collectives, needs_alignment
from scalatrace.codegen.matching.alignment import align_collectives as align_module
from scalatrace.codegen.matching.alignment import compress_calls as compress_module
from scalatrace.codegen.matching.alignment.order import CollectiveOrder
from scalatrace.trace.io.check import check
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import executions
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import UNDEFINED, Vec
from support.builder import Builder, Comm
from support.calls import IssuedCall, call, record, walked
from support.random_programs import Program, programs


def barrier(site: int, comm: str = "world") -> IssuedCall:
    return call("Barrier", site, comm=comm)


def test_what_never_runs_is_aligned() -> None:
    """A recorder keeps nodes that run 0 times, without parameters."""
    b = Builder(2)
    nothing = {"count": 0, "datatype": Vec(UNDEFINED), "root": 0, "comm": Vec(UNDEFINED)}
    trace = b.of(b.event("Barrier", comm=Comm()), b.loop(0, b.event("Bcast", **nothing)))
    op = trace.ops[-1]
    trace.ops[-1] = replace(op, params=tuple((n, Kind.COMM if n == "comm" else k) for n, k in op.params))
    assert not needs_alignment(trace)
    assert "SYNCHRONIZE" in generate(trace, "conceptual").text


def test_nodes_that_the_compressor_leaves_and_never_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loops that it finds for these calls have a node that runs 0 times whenever it is met."""
    sites = [5, 1, 2, 1, 1, 2, 1, 0, 5, 2, 5, 5, 4, 1, 2, 5, 4, 1, 2, 5]
    names = [(f"s {site}",) for site in dict.fromkeys(sites)]

    def loops(symbols: list[int], frames: object) -> Trace:
        return compress_module._compress_symbols(symbols, names)

    monkeypatch.setattr(compress_module, "_skeleton", loops)
    ranks = [
        [call("Bcast", 10 * (1 + k) + r, count=k, root=0, comm="world") for k in sites] for r in range(2)
    ]
    trace = record(ranks)
    assert_aligned(trace, align_collectives(trace), "Bcast")


def assert_aligned(before: Trace, after: Trace, combined: str = "Barrier") -> None:
    """The same calls in the same order on each rank but for the sites of what was combined; times stay."""
    assert not needs_alignment(after)
    assert align_collectives(after) is after
    check(after)
    for rank in before.ranks:
        for old, new in zip(walked(before, rank), walked(after, rank), strict=True):
            assert (old[0], old[2]) == (new[0], new[2])
            assert old[1] == new[1] or old[0] == combined
    assert samples(before) == samples(after)
    assert seconds(after) == pytest.approx(seconds(before), rel=1e-4)


def samples(trace: Trace) -> Counter[int]:
    """How many samples each operation has."""
    result: Counter[int] = Counter()
    for leaf in trace.leaves():
        for stats in leaf.stats:
            result[leaf.op] += sum(histogram.count for histogram in stats.histograms if histogram)
    return result


def seconds(trace: Trace) -> float:
    return sum(h.total for leaf in trace.leaves() for stats in leaf.stats for h in stats.histograms if h)


def sites(trace: Trace) -> list[str]:
    """Operation, line and participants of each node."""
    return [
        f"{trace.ops[leaf.op].name} {trace.stack(leaf.signature)[0].split(':')[1]} {trace.participants(leaf)}"
        for leaf in trace.leaves()
    ]


def test_figure_4_4() -> None:
    turns = 10
    ranks = [
        [call("Isend", 10, dest=1, tag=0, comm="world"), barrier(11), call("Wait", 30, request=0)] * turns,
        [barrier(20), call("Irecv", 21, source=0, tag=0, comm="world"), call("Wait", 30, request=0)] * turns,
    ]
    trace = record(ranks)
    made = align_collectives(trace)
    assert_aligned(trace, made)
    assert sites(made) == ["Isend 10 <0 0>", "Barrier 11 <1 0 2 1>", "Irecv 21 <0 1>", "Wait 30 <1 0 2 1>"]
    assert made.nnodes == 5


def test_nothing_to_combine_is_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def walked(trace: Trace) -> CollectiveOrder:
        raise AssertionError("the calls were walked")

    monkeypatch.setattr(align_module, "CollectiveOrder", walked)
    trace = record([[barrier(1), barrier(2, "halves")] * 5] * 4, {"halves": [[0, 2], [1, 3]]})
    assert align_collectives(trace) is trace


def test_some_communicators_of_a_family_may_be_absent() -> None:
    ranks = [[barrier(2, "halves")] if r % 2 else [] for r in range(4)]
    assert not needs_alignment(record(ranks, {"halves": [[0, 2], [1, 3]]}))


@given(programs(wild=False))
def test_random_programs(program: Program) -> None:
    trace = record(*program)
    assert_aligned(trace, align_collectives(trace))


def test_a_loop_on_one_rank_and_two_on_another() -> None:
    """The loops' lengths differ, so no merging of loops as such can align them."""
    send, recv = (
        call("Isend", 12, dest=1, tag=0, comm="world"),
        call("Irecv", 22, source=0, tag=0, comm="world"),
    )
    ranks = [[barrier(10), send] * 50 + [barrier(11)] * 50, [barrier(20)] * 100 + [recv]]
    trace = record(ranks)
    made = align_collectives(trace)
    assert_aligned(trace, made)
    assert made.nnodes <= 6


def test_rows_in_which_the_root_calls_from_elsewhere() -> None:
    """All rows at once are one node, in a loop."""
    n, rows = 8, [[0, 1, 2, 3], [4, 5, 6, 7]]
    ranks = [
        [call("Bcast", 10 if r % 4 == 0 else 20, count=r // 4, root=0, comm="row"), barrier(30)] * 6
        for r in range(n)
    ]
    trace = record(ranks, {"row": rows})
    made = align_collectives(trace)
    assert_aligned(trace, made, "Bcast")
    assert sites(made) == ["Bcast 10 <1 0 8 1>", "Barrier 30 <1 0 8 1>"]


def test_the_same_line_in_different_iterations() -> None:
    """Who comes in every second iteration only meets the others where they are."""
    trace = Builder(2)
    leaf = [
        trace.event(
            "Barrier", Groups([(RankList([r]), Vec(((0, 0, r, 1 - r),)))]), at=(f"a.py:{r}:f",), comm=Comm()
        )
        for r in range(2)
    ]
    made = trace.of(trace.loop(6, *leaf))
    assert needs_alignment(made)
    assert_aligned(made, align_collectives(made))
    assert [n for _, classes in executions(align_collectives(made)) for _, n in classes] == [3]


def test_steps_are_calls() -> None:
    ranks = [[barrier(10 + (r > 0))] * 30 for r in range(6)]
    order = CollectiveOrder(record(ranks))
    assert sum(1 for _ in order.entries()) == 30
    assert order.steps == 180


def test_times_go_where_the_calls_go() -> None:
    """Some 1000 before rank 0's barriers, some 1100 before rank 1's; then one histogram per predecessor."""
    trace = record([[barrier(10)] * 20, [barrier(11)] * 20])
    made = align_collectives(trace)
    assert_aligned(trace, made)
    (leaf,) = made.leaves()
    after_itself = next(h for s in leaf.stats if s.pred for h in s.histograms if h)
    assert after_itself.count == 38
    assert (after_itself.min, after_itself.max) == pytest.approx((1000, 1106), rel=0.01)
    assert after_itself.std == pytest.approx(50, rel=0.05)


def test_different_collectives_do_not_fit() -> None:
    trace = record([[barrier(10)], [call("Bcast", 20, count=1, root=0, comm="world")]])
    with pytest.raises(
        MatchingError, match=r"rank 0 calls MPI_Barrier at app\.py:10:main where rank 1 calls MPI_Bcast"
    ) as e:
        align_collectives(trace)
    assert e.value.report.problem is MatchingProblem.MISMATCH


def test_crossed_communicators_wait_for_each_other() -> None:
    ranks = [[barrier(10, "one"), barrier(11, "two")], [barrier(20, "two"), barrier(21, "one")]]
    with pytest.raises(MatchingError) as e:
        align_collectives(record(ranks, {"one": [[0, 1]], "two": [[0, 1]]}))
    assert [(w.rank, w.site, w.awaits) for w in e.value.report.cycle] == [
        (0, "app.py:10:main", (1,)),
        (1, "app.py:20:main", (0,)),
    ]


def test_a_member_that_never_comes() -> None:
    with pytest.raises(
        MatchingError, match=r"potential deadlock of rank 0\n.*\n.*waits for rank 1\nrank 1 ended"
    ):
        align_collectives(record([[barrier(10)], []]))
