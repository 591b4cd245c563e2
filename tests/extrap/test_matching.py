"""Calls of a symbolic trace fit together; planted faults are found at a size that no trace has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from scalatrace.cli import main
from scalatrace.codegen.matching.deadlock import check_deadlock
from scalatrace.extrap.errors import ExtrapolationError
from scalatrace.extrap.extrapolate import extrapolate, model_of, of_model
from scalatrace.extrap.grid.target import grids_like
from scalatrace.extrap.instantiate.instantiate import instantiate
from scalatrace.extrap.matching import check_matching, check_sizes
from scalatrace.extrap.suggest import suggest_recordings
from scalatrace.formula import TRUE, Const
from scalatrace.trace.consistency.agreement import first_conflict
from scalatrace.trace.io.writer import save
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.symbolic import Rule, SymbolicTrace
from scalatrace.trace.symbolic.grid import Grid
from support.calls import IssuedCall, call, record
from support.drawing import json_of
from support.faults import FAULTS, changed, exchange
from support.grids import Body, Rank, butterfly, collectors, halo, trace_of

SQUARES = [(3, 3), (4, 4), (5, 5)]
TYPE = "MPI_DOUBLE"


@pytest.fixture(scope="module")
def model() -> SymbolicTrace:
    return model_of([trace_of(exchange, dims) for dims in SQUARES], SQUARES)[1]


def _seen(model: SymbolicTrace) -> list[Grid]:
    return [Grid(dims) for dims, _ in model.seen]


@pytest.mark.parametrize(("line", "name"), FAULTS)
def test_planted_faults(model: SymbolicTrace, line: int, name: str) -> None:
    """At a border one call more, another tag, size, peer or root; executing the calls confirms most."""
    wrong = replace(model, nodes=changed(model.nodes, line, name))
    (found,) = check_sizes(wrong, {}, [Grid((6, 6))])
    assert found.conflict or "peer" in found.undetermined
    if found.conflict and not name.endswith(("count", "root")):  # no data is moved
        trace = instantiate(wrong, Grid((3, 3)), {}, lambda op, rows: ())
        assert check_deadlock(trace, synchronous=False) is not None


def test_fault_of_all_ranks_alike_is_no_conflict(model: SymbolicTrace) -> None:
    """One sum more on all ranks fits together."""
    other = replace(model, nodes=changed(model.nodes, 15, "repeat", TRUE))
    assert [one.conflict for one in check_sizes(other, {}, [Grid((6, 6))])] == [""]


@pytest.mark.parametrize(
    "body",
    [exchange, halo(True), *(pytest.param(b, marks=pytest.mark.slow) for b in (halo(False), collectors))],
)
def test_right_models_have_no_conflict(body: Body) -> None:
    made = model_of([trace_of(body, dims) for dims in SQUARES], SQUARES)[1]
    grids = grids_like(_seen(made), 100)
    assert [grid.nprocs for grid in grids] == [9, 16, 25, 36, 49, 64, 81, 100]
    assert [one.conflict + one.undetermined for one in check_sizes(made, {}, grids)] == [""] * len(grids)


def test_sizes_are_like_those_of_the_traces() -> None:
    line = [(4,), (8,), (16,)]
    made = model_of([trace_of(butterfly, dims) for dims in line], line)[1]
    assert [grid.nprocs for grid in grids_like(_seen(made), 100)] == [4, 8, 16, 32, 64]
    even = [(4,), (6,), (10,)]
    made = model_of([trace_of(halo(True), dims) for dims in even], even)[1]
    assert [grid.nprocs for grid in grids_like(_seen(made), 15)] == [4, 6, 8, 10, 12, 14]


def test_result_says_what_was_checked() -> None:
    made = extrapolate([trace_of(exchange, dims) for dims in SQUARES], 36, dims_of=SQUARES)
    assert made.matching == "all messages and collective calls match on 36 ranks (6x6)"


def test_large_result_is_checked_at_smaller_sizes(model: SymbolicTrace) -> None:
    made = of_model(model, 1 << 20)
    found = check_matching(model, made.trace, made.grid, {})
    assert found.startswith("all messages and collective calls match on ")
    assert "1,048,576" not in found
    wrong = replace(model, nodes=changed(model.nodes, 11, "tag"))
    with pytest.raises(ExtrapolationError, match=r"do not fit together on [\d,]+ ranks .* message"):
        check_matching(wrong, made.trace, made.grid, {})


def test_traces_that_do_not_fit_themselves_are_no_measure() -> None:
    """A program may end with messages that nobody receives."""

    def body(rank: Rank) -> list[IssuedCall]:
        return [call("Isend", 9, count=1, dest=(rank.number + 1) % rank.dims[0], tag=0, comm="world")]

    line = [(4,), (6,), (8,)]
    made = extrapolate([trace_of(body, dims) for dims in line], 12, dims_of=line)
    assert made.matching.startswith("not compared: in the trace of 4 ranks rank ")


@pytest.mark.parametrize("nprocs", [None, 36])
def test_sizes_are_suggested_where_calls_do_not_fit_together(
    model: SymbolicTrace, monkeypatch: pytest.MonkeyPatch, nprocs: int | None
) -> None:
    traces = [trace_of(exchange, dims) for dims in SQUARES]
    assert suggest_recordings(traces, SQUARES, nprocs)[0] == ""
    wrong = replace(model, nodes=changed(model.nodes, 13, "tag"))
    monkeypatch.setattr("scalatrace.extrap.suggest.fit_prepared", lambda *_: wrong)
    reason, grids = suggest_recordings(traces, SQUARES, nprocs)
    assert "do not fit together" in reason
    assert grids


def test_command_on_formulas(
    model: SymbolicTrace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(model, tmp_path / "right.stx")
    assert main(["check", str(tmp_path / "right.stx"), "--ranks", "50"]) == 0
    assert "match on 5 sizes from 9 to 49 ranks" in capsys.readouterr().out
    save(replace(model, nodes=changed(model.nodes, 13, "tag")), tmp_path / "wrong.stx")
    sizes = json_of(capsys, "check", tmp_path / "wrong.stx", "--ranks", "16", status=1)["sizes"]
    assert [(size["ranks"], size["grid"]) for size in sizes] == [(9, "3x3"), (16, "4x4")]
    assert "waits for 1 message with tag 0" in sizes[0]["conflict"]
    assert main(["instantiate", str(tmp_path / "wrong.stx"), "-P", "36", "-o", str(tmp_path / "a.st")]) == 1
    assert not (tmp_path / "a.st").exists()
    assert "fit the traces do not fit together on 36 ranks" in capsys.readouterr().err
    options = ["-P", "36", "--no-check", "-o", str(tmp_path / "a.st")]
    assert main(["instantiate", str(tmp_path / "wrong.stx"), *options]) == 0


def test_command_on_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import scalatrace

    alone = call("Send", 1, count=1, dest=1, tag=0, comm="world")
    scalatrace.save(record([[alone], []]), tmp_path / "alone.st")
    assert main(["check", str(tmp_path / "alone.st")]) == 1
    assert "rank 0 sends 1 message with tag 0 to rank 1" in capsys.readouterr().out
    scalatrace.save(trace_of(exchange, (3, 3)), tmp_path / "right.st")
    assert main(["check", str(tmp_path / "right.st")]) == 0
    assert first_conflict(scalatrace.load(tmp_path / "right.st")) is None


def test_peers_of_rival_encodings() -> None:
    """The distance fits the traces as well as the rank that it leads to."""
    model = model_of([trace_of(exchange, dims) for dims in SQUARES], SQUARES)[1]

    def with_rival(rule: Rule) -> Rule:
        if rule.op is None:
            return replace(rule, children=tuple(map(with_rival, rule.children)))
        params = []
        for param in rule.params:
            if param.name == "dest" and param.encoding is not Encoding.ABSOLUTE:
                zero = replace(param.field.parts[0], formulas=(Const(0),), shape=None)
                field = replace(param.field, parts=(zero,))
                param = replace(param, rivals=((Encoding.ABSOLUTE, field),))
            params.append(param)
        return replace(rule, params=tuple(params))

    wrong = replace(model, nodes=tuple(map(with_rival, model.nodes)))
    with pytest.raises(
        ExtrapolationError, match=r"dest of Send at app\.py:13:main: two formulas fit the traces"
    ):
        of_model(wrong, 36)
