"""Rows for a report."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalatrace.extrap import model_of
from scalatrace.extrap.timing.registry import TIMING_MODELS, timing_model
from scalatrace.extrap.timing.report import fitted_means, timing_row
from scalatrace.formula import Const, parse_condition
from scalatrace.stats.forms import Points
from scalatrace.trace.symbolic.field import EVERYWHERE, Part
from scalatrace.trace.symbolic.format_formula import format_where
from support.spmd import Rank, record

RANKS = [8, 16, 32, 64]


def test_row() -> None:
    values = [1e5 / p for p in RANKS]
    points = Points.of(RANKS, values, [0.001 * t for t in values])
    (curve,) = timing_model().fit([points])
    row = timing_row("app.c:12 main", "Send", "compute_ns", curve, 128, unit=10)
    assert (row.model, row.formula) == ("normal-form", "1e+06 * p^(-1)")
    assert row.prediction == pytest.approx(1e6 / 128)
    assert row.low < row.prediction < row.high
    assert row.high - row.low < 0.02 * row.prediction
    assert row.fit < 1e-6
    assert row.sure


def test_unsure_when_forms_are_alike() -> None:
    values = [1e6 + 100 * p for p in RANKS]
    (curve,) = timing_model().fit([Points.of(RANKS, values, [3e3] * 4)])
    assert not timing_row("", "", "", curve, 4096).sure


@pytest.mark.parametrize("name", TIMING_MODELS)
def test_every_model_fits(name: str) -> None:
    model = timing_model(name)
    assert model.description
    fields = [Points.of(RANKS, [2.0, 2.0, 2.0, 2.0]), Points.of(RANKS, [0.0, 1.0, 2.0, 3.0])]
    curves = model.fit(fields)
    assert len(curves) == 2
    assert len({curve.form for curve in curves}) == 1
    assert all(curve.predict(1e6) >= 0 for curve in curves)


def test_means_say_which_ranks_call_after_what(tmp_path: Path) -> None:
    def program(rank: Rank) -> None:
        for _ in range(3):
            rank.call("Allreduce", "app.py:3:step")
            if rank.rank == 0:
                rank.call("Send", "app.py:5:lead", rank.nprocs - 1)
            if rank.rank == rank.nprocs - 1:
                rank.call("Recv", "app.py:7:last", 0)

    traces = [record(program, nprocs, tmp_path)[0] for nprocs in (4, 6, 8, 10)]
    means = fitted_means(model_of(traces)[1])
    ends = "x<=0 or x>=X-1"
    assert {(one.op, one.ranks) for one in means} == {
        ("Allreduce", (ends,)),  # the others have an Allreduce of their own
        ("Allreduce", ("0<x<X-1",)),
        ("Send", (ends, "x<X-1")),
        ("Recv", (ends, "x>=X-1")),
    }
    after = {one.after and one.after[0] for one in means if one.op == "Allreduce"}
    assert after == {None, "Allreduce", "Send", "Recv"}


def test_conditions_of_ranks() -> None:
    first, second = parse_condition("x == 0"), parse_condition("y == 0")
    some, none, zero = (Const(4),), None, (Const(0),)
    for parts, text in (
        ([(EVERYWHERE, some)], ""),
        ([(first, zero), (EVERYWHERE, some)], "x>0"),
        ([(first, some), (EVERYWHERE, none)], "x==0"),
        ([(first, some), (EVERYWHERE, some)], ""),
        ([(first, none), (second, some), (EVERYWHERE, some)], "x>0"),
    ):
        assert format_where([Part(condition, None, formulas) for condition, formulas in parts]) == text
