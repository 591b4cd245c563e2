"""Write the page of an extrapolated trace with its model: formulas, fitted times, times at all sizes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from re import sub

from scalatrace.cli.ideal import with_ideal_run
from scalatrace.errors import ScalatraceError
from scalatrace.extrap.extrapolate import inputs_of, of_model, result_warnings
from scalatrace.extrap.formatting import lines
from scalatrace.extrap.timing.report import FittedMean, fitted_means
from scalatrace.extrap.timing.rules import Times
from scalatrace.extrap.timing.site_times import chosen_inputs, site_times
from scalatrace.extrap.timing.total import total_times
from scalatrace.extrap.timing.trends import Trends
from scalatrace.extrap.workers import available
from scalatrace.files import write_file
from scalatrace.report.costs.rows import JOIN, distinct_sites, site_of
from scalatrace.report.page.extrapolated import MAX_TEXT, Fit, ModelFacts
from scalatrace.report.page.gather import PageOptions, gather
from scalatrace.report.page.page import page
from scalatrace.report.scaling.comparison import Scaling, scaling_of_traces
from scalatrace.report.scaling.extrapolated_growth import AtSize, GrowthModel, SiteAtSizes
from scalatrace.stats.interval_width import LEVEL
from scalatrace.trace.model.callsite import short_frame
from scalatrace.trace.model.symbolic import SymbolicTrace
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.symbolic.origin import EXTRAPOLATED, LOSSY, split_origin

__all__ = ["instances", "with_model", "write_model_page"]

MAX_FITS, MAX_DRAWN_FITS, CURVE_POINTS = 400, 12, 24
"""Fitted times, those with most time; such that are drawn; points of each curve."""

MAX_MODEL_LINES = 2000
"""Lines of the symbolic trace on a page."""


def write_model_page(
    trace: Trace,
    path: str,
    model: SymbolicTrace,
    output: str,
    warnings: Sequence[str] | None,
    run_noise: float,
    inputs: Sequence[Trace] = (),
) -> int:
    """Write the page of an extrapolated trace that was saved as `path`; return its size in bytes.

    Args:
        warnings: of the result; None: those that follow from the model.
        run_noise: how much whole runs differ, as a part of the time.
        inputs: the traces that the model was made of; (): not at hand.
    """
    facts = replace(_facts(model, trace, run_noise, warnings), runs=_runs(inputs))
    options = with_ideal_run(PageOptions(model=facts), trace)
    aggregates = gather(trace, path, os.path.getsize(path), options)
    return write_file(output, page([aggregates]).encode("utf-8", "replace"))


def _runs(inputs: Sequence[Trace]) -> Scaling | None:
    """Compare the inputs as runs; None: there are none, they have no times, or sizes that are equal."""
    if len(inputs) < 2:
        return None
    try:
        return scaling_of_traces([(f"{trace.nprocs} ranks", trace) for trace in inputs])
    except ScalatraceError:
        return None


def with_model(options: PageOptions, model: SymbolicTrace, trace: Trace) -> PageOptions:
    """Return options that show a model too, with its fitted times up to the ranks of a trace."""
    return replace(options, model=_facts(model, trace))


def _facts(
    model: SymbolicTrace, trace: Trace, run_noise: float = 0.0, warnings: Sequence[str] | None = None
) -> ModelFacts:
    """Return what a page shows of a model; `warnings` as in `write_model_page`.

    Only extrapolated traces have warnings and times of the inputs; the latter not if calls were dropped.
    """
    timing = split_origin(trace.meta)[1]
    fits = fitted_means(model, timing, run_noise, MAX_FITS)
    fits.sort(key=lambda fit: -_predicted_ns(fit, trace.nprocs))
    facts = ModelFacts(tuple(islice(lines(model), MAX_MODEL_LINES)), tuple(_drawn(fits, trace.nprocs)))
    if EXTRAPOLATED in trace.meta:
        if warnings is None:
            trends = Trends(model, timing, run_noise)
            times = Times(model, trace.nprocs, trends, available())
            warnings = result_warnings(model, times, total_times(model, times, trace))
        facts = replace(facts, warnings=tuple(warnings))
    if EXTRAPOLATED in trace.meta and LOSSY not in model.meta:
        inputs = inputs_of(trace)
        chosen = chosen_inputs(model, inputs)
        facts = replace(
            facts,
            inputs=tuple(_at_sizes(model, chosen)),
            parameters=_parameters(model, chosen, inputs),
            site_models=_site_models(fits),
        )
    return facts


def instances(model: SymbolicTrace, trace: Trace) -> Iterator[Trace]:
    """Yield the traces of a model on the ranks of smaller inputs, for the parameters of a result.

    Those that cannot be made are left out.
    """
    if EXTRAPOLATED not in trace.meta or LOSSY in model.meta:
        return
    inputs, timing = inputs_of(trace), split_origin(trace.meta)[1]
    for n, number in chosen_inputs(model, inputs).items():
        if n < trace.nprocs:
            try:
                yield of_model(model, n, model.seen[number][0], inputs, timing, accept_unconfirmed=True).trace
            except ScalatraceError:  # other parameters may not be possible on so few ranks
                continue


def _site_models(fits: Sequence[FittedMean]) -> dict[tuple[str, str], GrowthModel]:
    """Return operation and call site -> model of the part that takes most time; `fits`: the longest first."""
    site_models: dict[tuple[str, str], GrowthModel] = {}
    for fitted in fits:
        where = "in the call" if fitted.stat == "comm_ns" else "computation before it"
        part = GrowthModel(
            f"{_formula(fitted)} ns", f"{where}, after {_after(fitted)}", fitted.trend.curve.deviation
        )
        site_models.setdefault((fitted.op, site_of(fitted.stack)), part)
    return site_models


def _predicted_ns(fitted: FittedMean, nprocs: int) -> float:
    """Return the time of a rank on so many ranks, if it makes as many calls as in the largest input."""
    samples = fitted.trend.samples
    largest = max(samples)
    return fitted.trend.mean(nprocs) * fitted.unit * samples[largest].count / largest


def _formula(fitted: FittedMean) -> str:
    """Return the formula of a mean in ns, with four digits at most of each coefficient."""
    curve = fitted.trend.curve if fitted.unit == 1 else fitted.trend.curve.times(fitted.unit)
    return _round_numbers(curve.formula)


def _round_numbers(formula: str) -> str:
    return sub(r"(?<![\w.])(\d+\.\d+(e[+-]?\d+)?|\d{5,})", lambda number: f"{float(number[0]):.4g}", formula)


def _after(fitted: FittedMean) -> str:
    """Return operation and call site of the predecessor."""
    op, stack = fitted.after or ("the start", ())
    return f"{op}  {short_frame(stack[0]) if stack else ''}".strip()


def _drawn(fits: Sequence[FittedMean], nprocs: int) -> Iterator[Fit]:
    """Yield the first fits, with callers in their names where they differ only in these."""
    drawn_fits = fits[:MAX_DRAWN_FITS]
    sites = distinct_sites(
        [
            (f"{fitted.op} {fitted.stat} {_after(fitted)} {fitted.ranks}", fitted.stack)
            for fitted in drawn_fits
        ]
    )
    before = [fitted.after or ("the start", ()) for fitted in drawn_fits]
    kinds = [f"{fitted.op} {fitted.stat} {site}" for fitted, site in zip(drawn_fits, sites, strict=True)]
    places = distinct_sites(
        [(f"{kind} {op}", stack) for kind, (op, stack) in zip(kinds, before, strict=True)]
    )
    for fitted, site, (op, stack), place in zip(drawn_fits, sites, before, places, strict=True):
        text = JOIN.join(map(short_frame, place.split(JOIN))) if stack else ""
        yield replace(_fit(fitted, site, nprocs), after=f"{op}  {text}".strip())


def _at_sizes(model: SymbolicTrace, chosen: dict[int, int]) -> Iterator[SiteAtSizes]:
    for fitted in site_times(model, chosen):
        sizes = (
            AtSize(n, total.comm_ns / n, total.compute_ns / n, total.timed / n)
            for n, total in sorted(fitted.totals.items())
        )
        yield SiteAtSizes(fitted.op, site_of(fitted.stack), tuple(sizes))


def _parameters(model: SymbolicTrace, chosen: dict[int, int], inputs: dict[str, int]) -> dict[int, str]:
    """Ranks of an input (0: the result) -> the parameters that are not the same in all of them."""
    of_all = {0: inputs} | {n: model.seen[number][1] for n, number in chosen.items()}
    names = [name for name in inputs if len({values_there.get(name) for values_there in of_all.values()}) > 1]
    return {
        n: ", ".join(f"{name} = {values_there[name]:,}" for name in names if name in values_there)
        for n, values_there in of_all.items()
    }


def _fit(fitted: FittedMean, site: str, nprocs: int) -> Fit:
    trend = fitted.trend
    least, most = min(trend.samples), max(nprocs, *trend.samples)
    scales = sorted({round(least * (most / least) ** (i / CURVE_POINTS)) for i in range(CURVE_POINTS + 1)})
    curve = []
    for scale in scales:
        low, high = trend.interval(scale)
        mean = trend.curve.predict(trend.ranks(scale))
        high = high if high < float("inf") else mean
        curve.append((scale, mean * fitted.unit, low * fitted.unit, high * fitted.unit))
    points = tuple((ranks, histogram.mean * fitted.unit) for ranks, histogram in trend.samples.items())
    return Fit(
        fitted.op,
        site,
        fitted.stat,
        _formula(fitted),
        trend.curve.deviation,
        LEVEL,
        points,
        tuple(curve),
        ranks=", ".join(fitted.ranks)[:MAX_TEXT],
        limit=trend.limit(nprocs),
    )
