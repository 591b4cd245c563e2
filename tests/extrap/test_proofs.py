"""Proofs that calls fit together on all sizes; faults are never proved, and most have a counterexample."""

from __future__ import annotations

import math
from dataclasses import replace
from math import prod
from pathlib import Path

import pytest

from scalatrace.cli import main
from scalatrace.extrap.extrapolate import model_of
from scalatrace.extrap.instantiate.instantiate import instantiate
from scalatrace.extrap.matching import check_sizes
from scalatrace.extrap.proofs.prove import Proofs, prove_model
from scalatrace.formula import parse_condition
from scalatrace.formula.prove import available
from scalatrace.trace.consistency.agreement import first_conflict
from scalatrace.trace.io.writer import save
from scalatrace.trace.model.symbolic import SymbolicTrace
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG, PROC_NULL
from support.calls import IssuedCall, call
from support.drawing import json_of
from support.faults import FAULTS, changed, exchange
from support.grids import Body, Rank, butterfly, halo, steps, trace_of

pytestmark = pytest.mark.skipif(not available(), reason="z3 is not installed (extra [prove])")

SQUARES = [(3, 3), (4, 4), (5, 5)]
PLANES = [(3, 3), (3, 4), (4, 4), (4, 5)]
TYPE = "MPI_DOUBLE"
SECONDS = math.inf


def proofs(body: Body, grids: list[tuple[int, ...]]) -> Proofs:
    return prove_model(model_of([trace_of(body, dims) for dims in grids], grids)[1], SECONDS)


def test_torus_and_border() -> None:
    found = proofs(exchange, SQUARES)
    assert found.complete
    assert found.line() == "proved for all sizes with X = Y >= 3"


def test_sides_are_independent_where_the_traces_have_other_ones() -> None:
    found = proofs(halo(wrap=False), PLANES)
    assert found.complete, found.open
    assert found.sizes == "X >= 3, Y >= 3"


def test_powers_of_two() -> None:
    found = proofs(butterfly, [(2,), (4,), (8,), (16,)])
    assert found.complete, found.open
    assert found.sizes == "X >= 2, powers of two"


def pairwise(rank: Rank) -> list[IssuedCall]:
    """Two exchanges with one tag: first of one element, then of the sides' sum."""
    east, west = rank.neighbour((0, 1), False), rank.neighbour((0, -1), False)
    made = []
    for line, count in ((10, 1), (20, sum(rank.dims))):
        east_or_none, west_or_none = (PROC_NULL if peer is None else peer for peer in (east, west))
        given = {"count": count, "datatype": TYPE, "tag": 7, "comm": "world"}
        made += [
            call("Irecv", line, **given, source=west_or_none),
            call("Send", line + 1, **given, dest=east_or_none),
            call("Waitall", line + 2, requests=(0,)),
        ]
    return made * 3


def test_messages_with_one_tag_are_compared_in_order() -> None:
    """The second receive has room for the second message only."""
    found = proofs(pairwise, PLANES)
    assert found.complete, found.open


def pipeline(rank: Rank) -> list[IssuedCall]:
    """As many messages as columns, numbered by their tags."""
    (_, y), (_, columns) = rank.place, rank.dims
    row = {"count": 2, "datatype": TYPE, "comm": "world"}
    made = []
    for step in range(columns):
        if y > 0:
            made.append(call("Recv", 10, **row, source=rank.number - 1, tag=step))
        if y < columns - 1:
            made.append(call("Send", 11, **row, dest=rank.number + 1, tag=step))
    return made


def rows_of_neighbours(rank: Rank) -> list[IssuedCall]:
    """One call site for all neighbours; the tag is the direction."""
    made = []
    for line, op, name in ((10, "Irecv", "source"), (11, "Isend", "dest")):
        for direction, step in enumerate(steps(2)):
            if (peer := rank.neighbour(step, False)) is not None:
                tag = direction if op == "Isend" else 3 - direction
                row = {"count": 4, "datatype": TYPE, "tag": tag, "comm": "world"}
                made.append(call(op, line, **row, **{name: peer}))
    return [*made, call("Waitall", 12, requests=tuple(range(len(made) - 1, -1, -1)))] * 3


def test_rows_of_neighbours() -> None:
    found = proofs(rows_of_neighbours, PLANES)
    assert found.complete, found.open


def ring(rank: Rank) -> list[IssuedCall]:
    """Messages with two tags; the receives take any."""
    row = {"count": 4, "datatype": TYPE, "comm": "world"}
    east, west = rank.neighbour((1,), True), rank.neighbour((-1,), True)
    made = [call("Send", 10 + tag, **row, dest=east, tag=tag) for tag in (1, 2)]
    return [*made, *[call("Recv", 20, **row, source=west, tag=ANY_TAG)] * 2]


def test_any_tag() -> None:
    found = proofs(ring, [(3,), (4,), (5,), (6,)])
    assert found.complete, found.open


def test_any_tag_with_a_missing_receive() -> None:
    model = model_of([trace_of(ring, dims) for dims in [(3,), (4,), (5,)]], [(3,), (4,), (5,)])[1]
    wrong = replace(model, nodes=changed(model.nodes, 20, "repeat", parse_condition("x==X-1")))
    found = prove_model(wrong, SECONDS)
    assert found.counterexample is not None


def test_tags_by_iteration() -> None:
    found = proofs(pipeline, PLANES)
    assert found.complete, found.open


ROW = {"datatype": TYPE, "comm": "world"}
LINES: list[tuple[int, ...]] = [(3,), (4,), (5,), (6,), (7,)]


def around(rank: Rank) -> tuple[int | None, int | None]:
    """The next and the previous rank of a ring."""
    return rank.neighbour((1,), True), rank.neighbour((-1,), True)


def other_roots(rank: Rank) -> list[IssuedCall]:
    return [call("Bcast", 20 if rank.number else 10, count=2, **ROW, root=int(rank.number > 0))]


def other_counts(rank: Rank) -> list[IssuedCall]:
    return [call("Bcast", 20 if rank.number else 10, count=2 if rank.number else 5, **ROW, root=0)]


def other_gathers(rank: Rank) -> list[IssuedCall]:
    given = {"sendtype": TYPE, "recvcount": 2, "recvtype": TYPE, "root": 0, "comm": "world"}
    return [call("Gather", 10, sendcount=3 if rank.number == 1 else 2, **given)]


def any_tag_now_and_then(rank: Rank) -> list[IssuedCall]:
    """Every other receive takes the only tag that is sent, or waits for another one."""
    east, west = around(rank)
    return [
        one
        for k in range(rank.dims[0] + 2)
        for one in (
            call("Send", 10, count=1, **ROW, dest=east, tag=7),
            call("Recv", 11, count=1, **ROW, source=west, tag=5 if k % 2 else ANY_TAG),
        )
    ]


def crossing(rank: Rank) -> list[IssuedCall]:
    """The long message is sent before the loop and received after it."""
    east, west = around(rank)
    made = [call("Isend", 10, count=100, **ROW, dest=east, tag=0)]
    for _ in range(5):
        made.append(call("Isend", 11, count=1, **ROW, dest=east, tag=0))
        made.append(call("Irecv", 12, count=1, **ROW, source=west, tag=0))
        made.append(call("Barrier", 15, comm="world"))
    return [*made, call("Irecv", 13, count=100, **ROW, source=west, tag=0)]


def any_tag_in_a_loop(rank: Rank) -> list[IssuedCall]:
    """The receives in the loop may take the message that the last one waits for."""
    east, west = around(rank)
    made = [call("Isend", 10, count=1, **ROW, dest=east, tag=5)]
    for _ in range(5):
        made.append(call("Isend", 11, count=1, **ROW, dest=east, tag=1))
        made.append(call("Recv", 12, count=1, **ROW, source=west, tag=ANY_TAG))
        made.append(call("Barrier", 15, comm="world"))
    return [*made, call("Recv", 13, count=1, **ROW, source=west, tag=5)]


def growing(rank: Rank) -> list[IssuedCall]:
    """The receives begin again with short messages when half are sent."""
    east, west = around(rank)
    (side,) = rank.dims
    made = [call("Isend", 11, count=1 + k // side, **ROW, dest=east, tag=0) for k in range(4 * side)]
    for line in (12, 13):
        row = [call("Irecv", line, count=1 + k // side, **ROW, source=west, tag=0) for k in range(2 * side)]
        made += row
    return [*made, call("Barrier", 15, comm="world")]


def same_directions(rank: Rank) -> list[IssuedCall]:
    """The tag is the direction on both sides, so that no message has its receive."""
    peers = around(rank)
    received = [call("Irecv", 10, count=4, **ROW, source=p, tag=d) for d, p in enumerate(peers)]
    sent = [call("Isend", 11, count=4, **ROW, dest=p, tag=d) for d, p in enumerate(peers)]
    return [*received, *sent, call("Waitall", 12, requests=(3, 2, 1, 0))] * 3


def shrinking(rank: Rank) -> list[IssuedCall]:
    """Fewer messages on more ranks, and a negative number of them on many."""
    east, west = around(rank)
    times = 12 - rank.dims[0]
    sent = call("Isend", 10, count=1, **ROW, dest=east, tag=1)
    received = call("Irecv", 11, count=1, **ROW, source=west, tag=1)
    return [sent] * times + [received] * times


def probed(rank: Rank) -> list[IssuedCall]:
    """The buffer of the receive is that of another call, and too short."""
    east, west = around(rank)
    return [
        call("Send", 10, count=1, **ROW, dest=east, tag=1),
        call("Mprobe", 11, source=west, tag=1, comm="world"),
        call("Mrecv", 12, count=0, datatype=TYPE),
    ]


@pytest.mark.parametrize(
    "body",
    [
        other_roots,
        other_counts,
        other_gathers,
        any_tag_now_and_then,
        crossing,
        any_tag_in_a_loop,
        growing,
        same_directions,
        shrinking,
        probed,
    ],
)
def test_calls_that_do_not_fit_are_not_proved(body: Body) -> None:
    assert not proofs(body, LINES).complete


def test_loops_with_one_tag_within_each_other() -> None:
    """All messages of the outer loop are received before the inner one begins."""

    def body(rank: Rank) -> list[IssuedCall]:
        east, west = around(rank)
        sent = [call("Send", 10, count=9, **ROW, dest=east, tag=0)]
        received = [call("Recv", 11, count=9, **ROW, source=west, tag=0)]
        inner = [call("Send", 12, count=1, **ROW, dest=east, tag=0)]
        inner += [call("Recv", 13, count=1, **ROW, source=west, tag=0), call("Barrier", 14, comm="world")]
        return ([*sent, *received, *inner * 4]) * 3

    found = proofs(body, LINES)
    assert found.complete, found.open


def test_calls_are_counted_by_call_not_by_site() -> None:
    found = proofs(same_directions, LINES)
    assert found.line().startswith("proved for 0 of 2 calls")


def test_counterexamples_are_of_the_sizes_that_are_looked_at() -> None:
    """Wrong on sides that are no powers of two: all sides of the traces are."""
    grids = [(1, 2), (2, 2), (2, 4), (4, 4), (4, 8)]

    def body(rank: Rank) -> list[IssuedCall]:
        return [call("Barrier", 5, comm="world"), call("Allreduce", 15, count=1, datatype=TYPE, comm="world")]

    fitted = model_of([trace_of(body, dims) for dims in grids], grids)[1]
    odd = parse_condition("(x%2==0)*(x==X-1)*(X>1)")
    found = prove_model(replace(fitted, nodes=changed(fitted.nodes, 15, "repeat", odd)), SECONDS)
    assert found.counterexample is None


def any_source(rank: Rank) -> list[IssuedCall]:
    """Everybody sends to rank 0, which takes what comes."""
    row = {"count": 1, "datatype": TYPE, "tag": 0, "comm": "world"}
    if rank.number:
        return [call("Send", 10, **row, dest=0)]
    return [call("Recv", 11, **row, source=ANY_SOURCE)] * (prod(rank.dims) - 1)


def test_what_is_not_proved_says_why() -> None:
    found = proofs(any_source, SQUARES)
    assert not found.complete
    assert found.counterexample is None
    assert {one.reason for one in found.open} >= {"it receives from any rank"}


@pytest.fixture(scope="module")
def model() -> SymbolicTrace:
    return model_of([trace_of(exchange, dims) for dims in SQUARES], SQUARES)[1]


@pytest.mark.parametrize(("line", "name"), FAULTS)
def test_planted_faults(model: SymbolicTrace, line: int, name: str) -> None:
    """A small size shows each, and the calls of that size do not fit together."""
    wrong = replace(model, nodes=changed(model.nodes, line, name))
    found = prove_model(wrong, SECONDS)
    assert not found.complete
    if (one := found.counterexample) is None:
        (size,) = check_sizes(wrong, {}, [Grid((3, 3))])
        assert "peer" in size.undetermined  # there is no trace of it
    else:
        assert one.grid is not None
        assert first_conflict(instantiate(wrong, one.grid, dict(one.inputs), lambda op, rows: ()))


def test_check_reports_proofs(
    model: SymbolicTrace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(model, path := tmp_path / "app.stx")
    assert main(["check", str(path), "--ranks", "16", "--prove", "600"]) == 0
    assert "proved for all sizes with X = Y >= 3" in capsys.readouterr().out
    assert "proof" not in json_of(capsys, "check", path, "--prove", "0")


def test_check_fails_with_a_counterexample(
    model: SymbolicTrace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = replace(model, nodes=changed(model.nodes, 11, "tag"))
    save(wrong, path := tmp_path / "app.stx")
    proof = json_of(capsys, "check", path, "--ranks", "4", "--prove", "600", status=1)["proof"]
    (one, *_) = (row for row in proof["open"] if row["grid"])
    assert "tag" in one["reason"]
