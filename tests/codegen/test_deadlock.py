"""Who waits for whom: deadlocks are found and named with their cycle, where there are some."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace import save
from scalatrace.cli import main
from scalatrace.codegen.matching import MatchingProblem, check_deadlock
from scalatrace.codegen.matching.diagnosis.diagnose import shortest_cycle
from scalatrace.codegen.matching.diagnosis.report import MatchingReport
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import ANY_SOURCE, Vec
from support.builder import DOUBLE, Builder, Comm
from support.calls import IssuedCall, call, record
from support.naive import Naive
from support.random_programs import Program, programs


def send(dest: int, site: int = 10, op: str = "Send") -> IssuedCall:
    return call(op, site, dest=dest, tag=0, comm="world")


def recv(source: int = ANY_SOURCE, site: int = 20, op: str = "Recv") -> IssuedCall:
    return call(op, site, source=source, tag=0, comm="world")


def barrier(site: int = 30, comm: str = "world") -> IssuedCall:
    return call("Barrier", site, comm=comm)


FINALIZE = call("Finalize", 99)


def found(*ranks: list[IssuedCall], synchronous: bool = True, **groups: list[list[int]]) -> MatchingReport:
    report = check_deadlock(record(ranks, groups), synchronous)
    assert report is not None
    return report


def test_figure_4_6() -> None:
    report = found([send(1), FINALIZE], [recv(), recv(0, 21), FINALIZE], [send(1), FINALIZE])
    assert report.problem is MatchingProblem.DEADLOCK
    assert [(w.rank, w.op, w.site, w.awaits) for w in report.cycle] == [
        (0, "Finalize", "app.py:99:main", (1,)),
        (1, "Recv", "app.py:21:main", (0,)),
    ]
    assert [w.rank for w in report.blocked] == [0, 1, 2]
    assert [(c.rank, c.source) for c in report.choices] == [(1, 0)]
    assert (
        str(report)
        == """\
potential deadlock of ranks 0 and 1
the cycle:
  rank 0, in MPI_Finalize at app.py:99:main, waits for rank 1 -> rank 1
  rank 1, in MPI_Recv at app.py:21:main, waits for a message with tag 0 from rank 0 -> rank 0
also waiting:
  rank 2, in MPI_Finalize at app.py:99:main, waits for rank 1
after these choices of a sender:
  rank 1 at app.py:20:main received from rank 0
never received:
  1 message with tag 0 from rank 2 to rank 1, sent at app.py:10:main"""
    )


def test_a_rank_that_has_ended_cannot_send() -> None:
    report = found([send(1)], [recv(), recv(0, 21)], [send(1)])
    assert report.cycle == ()
    assert report.detail == "rank 0 ended before that"
    assert report.headline == "potential deadlock of rank 1"


def test_sends_that_need_buffers() -> None:
    ranks = [send(1), recv(1)], [send(0), recv(0)]
    report = found(*ranks)
    assert report.problem is MatchingProblem.UNSAFE
    assert [w.rank for w in report.cycle] == [0, 1]
    assert "deadlock of ranks 0 and 1 unless MPI buffers" in str(report)
    assert check_deadlock(record(ranks), synchronous=False) is None


def test_synchronous_sends_wait_always() -> None:
    ranks = [send(1, op="Ssend"), recv(1)], [send(0, op="Ssend"), recv(0)]
    assert found(*ranks, synchronous=False).problem is MatchingProblem.DEADLOCK


def test_buffered_sends_never_wait() -> None:
    assert check_deadlock(record([[send(1, op="Bsend"), recv(1)], [send(0, op="Bsend"), recv(0)]])) is None


def test_a_ring_of_receives() -> None:
    n = 5
    report = found(*([recv((r - 1) % n), send((r + 1) % n)] for r in range(n)))
    assert [w.rank for w in report.cycle] == [0, 4, 3, 2, 1]


def test_waiting_for_requests() -> None:
    wait = call("Waitall", 40, requests=(1, 0))
    ranks = [[recv(1, op="Irecv"), recv(2, 21, op="Irecv"), wait, send(1)], [recv(0), send(0)], [send(0)]]
    report = found(*ranks)
    assert [(w.rank, w.awaits) for w in report.cycle] == [(0, (1,)), (1, (0,))]
    assert "in MPI_Waitall at app.py:40:main, waits for a message with tag 0 from rank 1" in str(report)


def test_collectives_in_different_orders() -> None:
    one, two = barrier(30, "one"), barrier(31, "two")
    report = found([one, two], [two, one], one=[[0, 1]], two=[[1, 0]])
    assert [w.rank for w in report.cycle] == [0, 1]


def test_collectives_that_do_not_fit() -> None:
    report = found([barrier()], [call("Bcast", 31, count=1, root=0, comm="world")])
    assert report.problem is MatchingProblem.MISMATCH
    assert "rank 0 calls MPI_Barrier at app.py:30:main where rank 1 calls MPI_Bcast at app.py:31:main" in str(
        report
    )


def test_a_root_need_not_wait_where_data_go_out() -> None:
    def bcast(site: int) -> IssuedCall:
        return call("Bcast", site, count=1, datatype="MPI_DOUBLE", root=0, comm="world")

    ranks = [bcast(30), send(1)], [recv(0), bcast(30)]
    assert found(*ranks).problem is MatchingProblem.UNSAFE
    assert check_deadlock(record(ranks), synchronous=False) is None


def test_a_receive_from_any_source_waits_for_one_of_them() -> None:
    report = found([recv()], [recv(0)], [recv(0)])
    assert report.blocked[0].what == "a message with tag 0 from any rank"
    assert report.blocked[0].awaits == (1, 2)


def test_messages_left_over() -> None:
    report = found([send(1), send(1, 11), send(1, 11)], [recv(0)], synchronous=False)
    assert report.problem is MatchingProblem.UNMATCHED
    assert [str(part) for part in report.unmatched] == [
        "2 messages with tag 0 from rank 0 to rank 1, sent at app.py:11:main"
    ]


def test_a_long_list_is_cut() -> None:
    text = str(found(*([recv((r - 1) % 40)] for r in range(40))))
    assert "and 28 more" in text.splitlines()[0]


@given(programs(wild=False))
def test_random_programs_as_the_naive_execution_says(program: Program) -> None:
    trace = record(*program)
    report = check_deadlock(trace)
    assert (report is not None) == bool(Naive(trace, synchronous=True).stuck)
    if report is not None:
        assert report.problem is MatchingProblem.UNSAFE
        assert [w.rank for w in report.blocked] == Naive(trace, synchronous=True).stuck


@given(st.lists(st.sets(st.integers(0, 5)), min_size=1, max_size=6))
def test_the_shortest_cycle(graph: list[set[int]]) -> None:
    awaits = {rank: sorted(peers) for rank, peers in enumerate(graph)}

    def is_cycle(ranks: tuple[int, ...]) -> bool:
        return all(b in awaits[a] for a, b in zip(ranks, (*ranks[1:], ranks[0]), strict=True))

    lengths = [n for n in range(1, len(graph) + 1) if any(map(is_cycle, permutations(range(len(graph)), n)))]
    found = shortest_cycle(awaits)
    assert len(found) == (lengths[0] if lengths else 0)
    assert not found or is_cycle(tuple(found))


def test_the_command_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Figure 4.6: the benchmark is made, with a warning that names ranks, call sites and the cycle."""
    b, one = Builder(3), Groups([(RankList([1]), Vec(1))])
    data = {"count": 1, "datatype": DOUBLE, "tag": 0, "comm": Comm()}
    senders = Groups([(RankList([0, 2]), Vec(1))])
    trace = b.of(
        b.event("Send", senders, at=("app.py:10:main",), **data, dest=1),
        b.event("Recv", one, at=("app.py:20:main",), **data, source=ANY_SOURCE),
        b.event("Recv", one, at=("app.py:21:main",), **data, source=0),
        b.event("Finalize", at=("app.py:99:main",)),
    )
    save(trace, tmp_path / "a.st")
    assert main(["generate", str(tmp_path / "a.st"), "--to", "c", "-o", str(tmp_path / "a.c")]) == 0
    said = capsys.readouterr().err
    assert said.startswith("warning: potential deadlock of ranks 0 and 1\nthe cycle:\n")
    assert "rank 1, in MPI_Recv at app.py:21:main" in said
    assert (tmp_path / "a.c").exists()


POLLING = [("Test", {"request": 0}), ("Testall", {"requests": (0,)})]


@pytest.mark.parametrize(("op", "given"), POLLING)
def test_polls_for_sends_block_nobody(op: str, given: dict[str, object]) -> None:
    def rank(peer: int) -> list[IssuedCall]:
        return [send(peer, op="Isend"), call(op, 40, **given), recv(peer)]

    assert check_deadlock(record([rank(1), rank(0)])) is None
    wait = call("Wait", 40, request=0)
    waiting = [[send(peer, op="Isend"), wait, recv(peer)] for peer in (1, 0)]
    assert found(*waiting).problem is MatchingProblem.UNSAFE


def test_polls_for_messages_block_nobody() -> None:
    probes = [call(op, 40, source=0, tag=0, comm="world") for op in ("Iprobe", "Probe")]
    first = [send(1), recv(1, 21)]
    for probe in probes:
        assert check_deadlock(record([first, [probe, recv(0), send(0, 11)]])) is None
    later = [recv(1, 21), send(1)]  # the message cannot be there
    polls, waits = ([probe, send(0, 11), recv(0)] for probe in probes)
    assert check_deadlock(record([later, polls])) is None
    assert found(later, waits).problem is MatchingProblem.DEADLOCK


def test_what_a_poll_leaves_is_matched_later() -> None:
    other = [recv(1), send(1)]
    ranks = [other, [recv(0, op="Irecv"), call("Test", 40, request=0), send(0)]]
    assert check_deadlock(record(ranks)) is None
    stuck = [[recv(1)], [recv(0, op="Irecv"), call("Test", 40, request=0)]]
    assert found(*stuck).blocked[0].rank == 0
