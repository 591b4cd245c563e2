"""Rows for a report."""

from __future__ import annotations

import pytest

from scalatrace.extrap.timing.curves.points import Points
from scalatrace.extrap.timing.curves.registry import TIMING_MODELS, timing_model
from scalatrace.extrap.timing.plain_report import timing_row

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
