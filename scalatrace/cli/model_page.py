"""What a page shows of the model of an extrapolated trace: formulas, fitted times, and what grows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.extrap.grid.model import Model
    from scalatrace.extrap.timing.report import FittedMean
    from scalatrace.extrap.timing.site_times import SiteTimes
    from scalatrace.report.page.extrapolated import Fit, SiteAtSizes
    from scalatrace.report.page.gather import Options

__all__ = ["with_model", "write_model_page"]

MAX_FITS, CURVE_POINTS = 12, 24
"""Fitted times that are drawn, those with most time; points of each curve."""

MAX_MODEL_LINES = 2000


def write_model_page(
    trace: Trace, path: str, model: Model, output: str, warnings: Sequence[str] | None
) -> int:
    """Write the page of an extrapolated trace that was saved as `path`; return its size in bytes.

    Args:
        warnings: why not to rely on the result; None: those that follow from the model.
    """
    from scalatrace.files import write_file
    from scalatrace.report.page.gather import Options, gather
    from scalatrace.report.page.page import page

    options = with_model(Options(), model, trace.nprocs)
    if warnings is not None:
        options = replace(options, warnings=tuple(warnings))
    aggregates = gather(trace, path, os.path.getsize(path), options)
    return write_file(output, page([aggregates]).encode("utf-8", "replace"))


def with_model(options: Options, model: Model, nprocs: int) -> Options:
    """Return options that show a model too, with its fitted times up to a number of ranks."""
    from scalatrace.extrap.formatting import lines
    from scalatrace.extrap.provenance import model_warnings
    from scalatrace.extrap.timing.report import fitted_means
    from scalatrace.extrap.timing.site_times import site_times

    return replace(
        options,
        model=tuple(islice(lines(model), MAX_MODEL_LINES)),
        fits=tuple(_fit(one, nprocs) for one in fitted_means(model, limit=MAX_FITS)),
        warnings=tuple(model_warnings(model, nprocs)),
        inputs=tuple(_at_sizes(one) for one in site_times(model)),
    )


def _at_sizes(one: SiteTimes) -> SiteAtSizes:
    from scalatrace.report.costs.rows import site_of
    from scalatrace.report.page.extrapolated import AtSize, SiteAtSizes

    comm, compute = one.totals.get("comm_ns", {}), one.totals.get("compute_ns", {})
    sizes = tuple(
        AtSize(n, comm.get(n, 0.0) / n, compute.get(n, 0.0) / n, one.samples.get(n, 0) / n)
        for n in sorted({*comm, *compute})
    )
    return SiteAtSizes(one.op, site_of(one.stack), sizes)


def _fit(one: FittedMean, nprocs: int) -> Fit:
    from scalatrace.extrap.timing.curves.curve import LEVEL
    from scalatrace.report.page.extrapolated import MAX_TEXT, Fit
    from scalatrace.trace.model.callsite import short_frame

    least = min(one.samples)
    most = max(nprocs, *one.samples)
    scales = sorted({round(least * (most / least) ** (i / CURVE_POINTS)) for i in range(CURVE_POINTS + 1)})
    curve = []
    for scale in scales:
        low, high = one.curve.interval(scale)
        mean = one.curve.predict(scale)
        high = high if high < float("inf") else mean
        curve.append((scale, mean * one.unit, low * one.unit, high * one.unit))
    points = tuple((ranks, found.mean * one.unit) for ranks, found in one.samples.items())
    op, stack = one.after or ("the start", ())
    return Fit(
        one.op,
        one.site,
        one.stat,
        one.curve.formula,
        one.curve.deviation,
        LEVEL,
        points,
        tuple(curve),
        after=f"{op}  {short_frame(stack[0]) if stack else ''}".strip(),
        ranks=", ".join(one.ranks)[:MAX_TEXT],
    )
