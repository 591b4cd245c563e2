"""Options and steps of `extrapolate`; results are plain data for the report."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import scalatrace
from scalatrace.cli.budget import TimeExceeded
from scalatrace.cli.output import natural, print_json, workers
from scalatrace.cli.parsing import further
from scalatrace.cli.progress import stage
from scalatrace.cli.sizes import Dims, TargetSizes, add_plugins, evaluate
from scalatrace.errors import ScalatraceError, UsageError
from scalatrace.files import check_output
from scalatrace.report.columns import FITTED_TIMES, LOSSES, RESULT
from scalatrace.report.tables import CommandTable

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.cli.named import SiteNames
    from scalatrace.extrap.extrapolate import Extrapolation
    from scalatrace.extrap.lossy import LossyExtrapolation
    from scalatrace.extrap.lossy.snippets import Snippets
    from scalatrace.trace.model.symbolic import SymbolicTrace


@dataclass(frozen=True)
class ExtrapolationTarget:
    """The trace to make, from the options of `add_target`.

    Attributes:
        sizes: ranks, grid and parameters.
        timing_model: name of a timing model; None: the best fit.
        run_noise: relative difference in time between runs of the same program.
        timing_report: whether to report the timing models.
        output: trace file to write.
        report: HTML page of the trace to write; None: none.
    """

    sizes: TargetSizes
    timing_model: str | None
    run_noise: float
    timing_report: bool
    output: str
    report: str | None = None

    @classmethod
    def of(cls, args: argparse.Namespace) -> ExtrapolationTarget:
        """Return the target that the options describe. Raises UsageError."""
        if (sizes := TargetSizes.of(args)) is None:
            raise UsageError("the size of the result is missing: give -P N or --dims XxY")
        if not 0 <= args.run_noise < 1:
            raise UsageError(f"--run-noise {args.run_noise:g}: give a fraction from 0 to below 1")
        model, noise, report = args.timing_model, args.run_noise, args.timing_report
        if args.report is not None:
            check_output(args.report, "--report")
            if os.path.realpath(args.report) in map(os.path.realpath, (args.output, *args.traces)):
                raise UsageError(f"--report {args.report}: this is the file of a trace; give another one")
        return cls(sizes, model, noise, report, args.output, args.report)


@dataclass(frozen=True)
class LossyOptions:
    """Options of lossy extrapolation: file of snippets, and the largest fraction of calls to drop."""

    snippets: str | None
    max_dropped: float


@dataclass(frozen=True)
class FitOptions:
    """How formulas are found: exactly, or lossily; whether they are checked; which count; workers."""

    lossy: LossyOptions | None = None
    check: bool = True
    accept_unconfirmed: bool = False
    workers: int = 1


def add_target(parser: argparse.ArgumentParser) -> None:
    """Declare the options for the size, the parameters and the times of the result."""
    parser.add_argument(
        "-P", "--ranks", type=natural, metavar="N", dest="nprocs", help="number of ranks of the result"
    )
    parser.add_argument(
        "--dims", metavar="XxYxZ", help="grid of the result (default: derived from the grids of the traces)"
    )
    parser.add_argument(
        "--param", action="append", default=[], metavar="N=V", help="parameter of the program in the result"
    )
    add_plugins(parser)
    further(parser).add_argument(
        "--timing-model",
        metavar="NAME",
        help="how times depend on the number of ranks: confirmed (normal-form if the largest trace confirms "
        "it, else no change; the default), normal-form (the best of many forms), dissertation, constant, "
        "linear, inverse, inverse+constant",
    )
    parser.add_argument(
        "--report", metavar="FILE", help="make an HTML page of the result, with formulas and fitted times"
    )
    parser.add_argument(
        "--timing-report",
        action="store_true",
        help="print timing model, fit and confidence interval of each call",
    )
    further(parser).add_argument(
        "--run-noise",
        type=float,
        default=0.0,
        metavar="F",
        help="relative difference in time between equal runs (0.05: 5 %%); smaller differences are no trend",
    )


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Declare the option for parallel work."""
    further(parser).add_argument(
        "--workers",
        type=workers,
        metavar="N",
        help="processes that share the work (default: one per core, at most 8), or `mpi`: the ranks of this "
        "program, started by mpiexec; the result is the same",
    )


@contextmanager
def shared(args: argparse.Namespace) -> Iterator[int]:
    """Yield the workers of `add_workers`; with `mpi`, ranks other than the first write and print nothing."""
    from scalatrace.extrap.workers import MpiRanks, available

    if args.workers != "mpi":
        yield args.workers or available()
        return
    ranks = MpiRanks.all()
    with ExitStack() as stack:
        if not ranks.is_first:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            args.output = args.output and os.path.join(folder, os.path.basename(args.output))
            args.report = args.report and os.path.join(folder, os.path.basename(args.report))
            nothing = stack.enter_context(open(os.devnull, "w"))
            stack.enter_context(redirect_stdout(nothing))
            stack.enter_context(redirect_stderr(nothing))
        try:
            yield ranks
        except (Exception, TimeExceeded) as error:
            with redirect_stderr(sys.__stderr__):
                ranks.leave(error)
            if ranks.is_first or not isinstance(error, ScalatraceError):
                raise
            raise SystemExit(2 if isinstance(error, UsageError) else 1) from None


def add_lossy(parser: argparse.ArgumentParser) -> None:
    """Declare the options of lossy extrapolation."""
    parser.add_argument(
        "--lossy",
        action="store_true",
        help="drop calls that no formula describes, and their unmatched partners; list what is dropped",
    )
    further(parser).add_argument(
        "--max-dropped",
        type=float,
        default=0.1,
        metavar="F",
        help="with --lossy: fail when more than this fraction of the calls is dropped (default 0.1)",
    )
    further(parser).add_argument(
        "--snippets", metavar="FILE", help="with --lossy: keep only the sequences of calls in FILE"
    )


def lossy_options(args: argparse.Namespace) -> LossyOptions | None:
    """Return the options of `add_lossy`; None without --lossy. Raises UsageError."""
    if args.snippets is not None and not args.lossy:
        raise UsageError("--snippets selects the calls that --lossy keeps: add --lossy")
    if not 0 <= args.max_dropped <= 1:
        raise UsageError(f"--max-dropped {args.max_dropped:g}: give a fraction of the calls, from 0 to 1")
    return LossyOptions(args.snippets, args.max_dropped) if args.lossy else None


@contextmanager
def refusals(as_json: bool, names: SiteNames) -> Iterator[None]:
    """Print the cause and the next step of a refusal as JSON, too."""
    from scalatrace.extrap.refusal import Refused

    try:
        yield
    except Refused as error:
        if as_json:
            print_json({"refused": names.facts(error.plain())})
        raise


def note_inputs(traces: Sequence[Trace], pairs: Sequence[str]) -> None:
    """Add the parameters of `--inputs` to the headers of the traces. Raises UsageError."""
    from scalatrace.extrap.extrapolate import parse_input
    from scalatrace.record.launch import parse_meta
    from scalatrace.trace.model.trace import PARAMETER

    for name, text in parse_meta("--inputs", pairs).items():
        values = text.split(",")
        if len(values) == 1:
            values *= len(traces)
        if len(values) != len(traces):
            raise UsageError(
                f"--inputs {name}={text}: {len(values)} values for {len(traces)} traces; "
                "give one value, or one for each trace"
            )
        for trace, value in zip(traces, values, strict=True):
            trace.meta[PARAMETER + name] = str(parse_input(name, value))


def extrapolate(
    traces: Sequence[Trace],
    dims_of: Sequence[Dims] | None,
    target: ExtrapolationTarget,
    options: FitOptions,
    names: SiteNames,
) -> dict[str, Any]:
    """Fit, check, instantiate and write a trace; return the facts to report.

    Args:
        names: of call sites, for its page.
    """
    if options.lossy is not None:
        return _extrapolate_lossy(traces, dims_of, target, options.lossy, names)
    from scalatrace.extrap.extrapolate import extrapolate
    from scalatrace.extrap.formatting import count_formulas

    stage("finding formulas, and making and checking the trace")
    result = extrapolate(
        traces,
        target.sizes.nprocs,
        target.sizes.dims,
        target.sizes.params,
        dims_of,
        target.timing_model,
        target.run_noise,
        options.workers,
        options.check,
        options.accept_unconfirmed,
    )
    facts = {"evidence": result.evidence, "check": result.check, "formulas": count_formulas(result.model)}
    return {**facts, **_facts(result, target, names, traces)}


def instantiate(
    model: SymbolicTrace, target: ExtrapolationTarget, options: FitOptions, names: SiteNames
) -> dict[str, Any]:
    """Evaluate formulas for the target, check and write the trace; return the facts to report.

    Args:
        options: whether the calls of the result are compared with each other, and which formulas count.
        names: of call sites, for its page.
    """
    timing = target.timing_model, target.run_noise
    result = evaluate(model, target.sizes, timing, options.workers, options.accept_unconfirmed, options.check)
    return _facts(result, target, names)


def _facts(
    result: Extrapolation, target: ExtrapolationTarget, names: SiteNames, inputs: Sequence[Trace] = ()
) -> dict[str, Any]:
    """Write the trace; return what is known of it."""
    from scalatrace.extrap.instantiate.unvaried import unshown_parameters

    return {
        "matching": result.matching,
        "times": [asdict(time) for time in result.times],
        "warnings": list(result.warnings),
        **_save_trace(result, target, names, inputs),
        "untried": unshown_parameters(result.model, target.sizes.params),
        **_timing_facts(result.model, target),
    }


def extrapolate_symbolic(
    traces: Sequence[Trace],
    dims_of: Sequence[Dims] | None,
    output: str,
    options: FitOptions,
) -> dict[str, Any]:
    """Fit, check and write the formulas; return the facts to report."""
    from scalatrace.extrap.matching import check_consistent, check_model

    model, facts = _fit(traces, dims_of, options)
    if options.lossy is None and options.check and not check_consistent(traces):
        stage("checking that the calls match")
        facts["matching"] = check_model(model)
    losses = facts.pop("losses", None)
    facts |= {"bytes": scalatrace.save(model, output), "output": output}
    return facts if losses is None else {**facts, "losses": losses}


def _fit(
    traces: Sequence[Trace],
    dims_of: Sequence[Dims] | None,
    options: FitOptions,
) -> tuple[SymbolicTrace, dict[str, Any]]:
    """Return the formulas, and facts: how the grid was found, and how many formulas or which losses."""
    from scalatrace.extrap.extrapolate import check_largest, model_of
    from scalatrace.extrap.formatting import count_formulas

    lossy = options.lossy
    if lossy is None:
        stage("finding formulas")
        _, model, evidence = model_of(traces, dims_of, options.workers, options.accept_unconfirmed)
        stage("predicting the largest trace from the others")
        checked = check_largest(traces, dims_of, options.workers, model) if options.check else ""
        return model, {"evidence": evidence, "check": checked, "formulas": count_formulas(model)}
    from scalatrace.extrap import lossy_model_of

    stage("finding formulas, without calls that have none")
    model, evidence, losses = lossy_model_of(traces, dims_of, _snippets(lossy), lossy.max_dropped)
    return model, {"evidence": evidence, "losses": [loss.plain() for loss in losses]}


def _extrapolate_lossy(
    traces: Sequence[Trace],
    dims_of: Sequence[Dims] | None,
    target: ExtrapolationTarget,
    lossy: LossyOptions,
    names: SiteNames,
) -> dict[str, Any]:
    """Extrapolate without the calls that no formula describes, and write the trace."""
    from scalatrace.extrap import extrapolate_lossy

    timing = target.timing_model, target.run_noise
    stage("extrapolating without calls that have no formula")
    result = extrapolate_lossy(
        traces,
        target.sizes.nprocs,
        target.sizes.dims,
        target.sizes.params,
        dims_of,
        *timing,
        _snippets(lossy),
        lossy.max_dropped,
    )
    return {
        "evidence": result.evidence,
        **_save_trace(result, target, names, traces),
        "losses": [loss.plain() for loss in result.losses],
        "alone": result.alone,
        "checked": result.checked,
        **_timing_facts(result.model, target),
    }


def _snippets(lossy: LossyOptions) -> Snippets | None:
    from scalatrace.extrap.lossy.snippets.parse import load

    return None if lossy.snippets is None else load(lossy.snippets)


def _save_trace(
    result: Extrapolation | LossyExtrapolation,
    target: ExtrapolationTarget,
    names: SiteNames,
    inputs: Sequence[Trace] = (),
) -> dict[str, Any]:
    """Write a trace and return its sizes; inputs: those of its model, if they are at hand."""

    stage("writing")
    nbytes = scalatrace.save(result.trace, target.output)
    page = {}
    if target.report is not None:
        from scalatrace.cli.model_page import write_model_page

        stage("making the page")
        warnings = getattr(result, "warnings", None)  # lossy results have none
        trace, model = names.trace(result.trace), names.trace(result.model)
        warnings, noise = names.facts(warnings), target.run_noise
        named_inputs = [names.trace(one) for one in inputs]
        page_bytes = write_model_page(
            trace, target.output, model, target.report, warnings, noise, named_inputs
        )
        page = {"report": target.report, "report_bytes": page_bytes}
    return {
        **page,
        "grid": str(result.grid),
        "ranks": result.trace.nprocs,
        "events": result.trace.counted(),
        "nodes": result.trace.nnodes,
        "bytes": nbytes,
        "output": target.output,
    }


def _timing_facts(model: SymbolicTrace, target: ExtrapolationTarget) -> dict[str, Any]:
    """Return the timing model of each call site, if it is to be reported."""
    from scalatrace.extrap.timing.report import timing_rows

    if not target.timing_report:
        return {}
    rows = timing_rows(model, target.sizes.nprocs, target.timing_model, target.run_noise)
    return {"timing": [asdict(row) for row in rows]}


def result_rows(facts: Mapping[str, Any]) -> tuple[CommandTable, Iterable[Mapping[str, Any]]]:
    """Return what CSV has of a result: dropped calls, timing models if they are reported, or files."""
    if "losses" in facts:
        dropped = ((loss, call) for loss in facts["losses"] for call in loss["calls"])
        return LOSSES, ({"ranks": loss["ranks"], "grid": loss["grid"], **call} for loss, call in dropped)
    return (FITTED_TIMES, facts["timing"]) if "timing" in facts else (RESULT, [facts])
