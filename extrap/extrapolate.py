"""Extrapolate traces: check the inputs, find the grid, fit the model, instantiate it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from keyword import iskeyword
from typing import TYPE_CHECKING

from scalatrace.errors import FormatError
from scalatrace.extrap.advice.advise import advising
from scalatrace.extrap.advice.causes import is_divided
from scalatrace.extrap.advice.recordings import Case, is_determined
from scalatrace.extrap.alignment.canonical_folding import Foldings, foldings_of
from scalatrace.extrap.choices import canonical
from scalatrace.extrap.errors import (
    AmbiguousGridError,
    ExtrapolationError,
    InputError,
    NoFormulaError,
    PollingError,
    UndeterminedError,
)
from scalatrace.extrap.fit.fit_trace import Explain, fit
from scalatrace.extrap.fit.held_out import is_predictable
from scalatrace.extrap.fit.problem_size import NAME, problem_sizes
from scalatrace.extrap.fit.undetermined.rivals import divides_numbers
from scalatrace.extrap.fit.undetermined.several_sizes import with_rival_size
from scalatrace.extrap.grid import topology
from scalatrace.extrap.grid.arguments import check_arguments, numbers_in_arguments
from scalatrace.extrap.grid.communicators import has_factor_chain
from scalatrace.extrap.grid.groups import borders, group_size
from scalatrace.extrap.grid.observed import Observed
from scalatrace.extrap.grid.patterns import tree_arity
from scalatrace.extrap.grid.space import Run
from scalatrace.extrap.grid.target import check_dimensions, check_sides, target_grid
from scalatrace.extrap.instantiate.instantiate import instantiate
from scalatrace.extrap.instantiate.unvaried import assumptions
from scalatrace.extrap.matching import check_consistent, check_matching, is_small
from scalatrace.extrap.message_sizes import decided_by_messages
from scalatrace.extrap.proofs.prove import available, prove_model
from scalatrace.extrap.provenance import header, irregular_loop, notes, warnings
from scalatrace.extrap.refusal import Action, Cause, NextStep
from scalatrace.extrap.solve.features import Structure
from scalatrace.extrap.timing.registry import timing_model
from scalatrace.extrap.timing.rules import Times, Timing, no_times
from scalatrace.extrap.timing.total import TotalTime, poor_fits, total_times, vague_interval_ns
from scalatrace.extrap.timing.trends import Trends
from scalatrace.extrap.workers import concurrently, each
from scalatrace.formula import Cond, Value, children, names_in
from scalatrace.formula.parts import numbers_in
from scalatrace.trace.model.symbolic import SymbolicTrace, fields_of
from scalatrace.trace.model.trace import PARAMETER, RUN_TIME_NS
from scalatrace.trace.query.absolute import absolute
from scalatrace.trace.query.diff import diff
from scalatrace.trace.symbolic.counters import RESERVED
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.symbolic.origin import FOUND_SIZE
from scalatrace.trace.values.vec import INT64

if TYPE_CHECKING:
    from scalatrace import Trace

__all__ = [
    "Extrapolation",
    "check_largest",
    "checked_matching",
    "extrapolate",
    "fit_prepared",
    "inputs_of",
    "model_of",
    "of_model",
    "prepared",
]

PROOF_SECONDS = 2.0
"""Time to prove that the calls of a large result fit together; `scalatrace check` takes more."""


MIN_AGREEING = 4
"""Traces that must agree on trip counts without a rule: fewer may agree by chance."""

PREDEFINED_FAMILIES = ("world", "self", "null")
"""Communicators that programs do not make."""

SMALL_SIDE = 2
"""Programs of pairs divide by 2; larger numbers that are a side of a grid may be that side."""

MIN_OTHERS = 3
"""Traces that are left when the smallest one is left out."""


@dataclass(frozen=True)
class Extrapolation:
    """A result: the trace, its grid, and its origin.

    Attributes:
        evidence: how the grid was found.
        check: whether the smaller traces predict the largest one (see `check_largest`).
        matching: whether all calls fit together (see `extrap.matching`).
        times: in total, per rank.
        warnings: what the times should not be relied on for.
    """

    trace: Trace
    grid: Grid
    model: SymbolicTrace
    evidence: str = ""
    check: str = ""
    matching: str = ""
    times: tuple[TotalTime, ...] = ()
    warnings: tuple[str, ...] = ()


def extrapolate(
    traces: Sequence[Trace],
    nprocs: int,
    dims: Sequence[int] | None = None,
    params: Mapping[str, int] | None = None,
    dims_of: Sequence[Sequence[int]] | None = None,
    timing_model: str | None = None,
    run_noise: float = 0.0,
    workers: int = 1,
    check: bool = True,
    accept_unconfirmed: bool = False,
) -> Extrapolation:
    """Extrapolate traces of a program to `nprocs` ranks.

    Args:
        traces: at least two of the same program, complete, each of another size.
        dims: sizes of the target's grid; worked out from those of the inputs unless given.
        params: the target's parameters; those of the traces where all have the same.
        dims_of: the grids of the input traces, found in them unless given.
        timing_model: a name of `extrap.timing.registry.TIMING_MODELS`; chosen by its fit unless given.
        run_noise: how much whole runs differ in time, as a part of it: the traces do not have it.
        workers: processes, forked from this one, that share the work; the result is the same.
        check: whether four or more traces are checked with `check_largest`, and the calls of the result
            with each other.
        accept_unconfirmed: whether formulas count that the traces do not confirm, or that have rivals which
            give other values; the header of the result states it.

    Raises:
        InputError: the inputs do not go together.
        ExtrapolationError: something follows no rule, the smaller traces mispredict the largest, or calls of
            the result do not fit together.
    """
    target = nprocs, dims, params or {}
    try:
        ordered, model, evidence = model_of(traces, dims_of, workers, accept_unconfirmed, target)
    except AmbiguousGridError:
        line = [(trace.nprocs,) for trace in traces]
        on_a_line = None if dims_of else _without_grid(traces, line, workers, accept_unconfirmed, target)
        if on_a_line is None:
            raise
        (ordered, model, evidence), dims_of = on_a_line, line

    def make() -> Extrapolation:
        made = of_model(model, nprocs, dims, params, timing_model, run_noise, workers, accept_unconfirmed)
        matching = checked_matching(traces, made, params, workers) if check else ""
        return replace(made, evidence=evidence, matching=matching)

    if not check:
        return make()
    with advising(_case_of(model, nprocs, dims, params), ordered, model):
        checked, result = concurrently(
            lambda inner: check_largest(traces, dims_of, inner, model), make, workers
        )
    return replace(result, check=checked)


def _without_grid(
    traces: Sequence[Trace],
    line: Sequence[Sequence[int]],
    workers: int,
    accept_unconfirmed: bool,
    target: tuple[int, Sequence[int] | None, Mapping[str, int]],
) -> tuple[list[Trace], SymbolicTrace, str] | None:
    """Return what `model_of` does with the ranks on a line; None where a grid may be behind the formulas.

    Of a grid are communicators, conditions at its borders, and numbers that are sides of all traces.
    """
    if any(op.name in ("Cart_create", "Dims_create") for trace in traces for op in trace.ops):
        return None
    try:
        grids = [run.grid for run in prepared(traces)[1]]
        ordered, model, _ = model_of(traces, line, workers, accept_unconfirmed, target)
    except (ExtrapolationError, InputError):
        return None
    fixed = {sides[0] for sides in zip(*(grid.dims for grid in grids), strict=True) if len(set(sides)) == 1}
    sides = {side for side in fixed if side > SMALL_SIDE}
    fields = list(fields_of(model.nodes))
    formulas = [formula for field in fields for part in field.parts for formula in part.formulas or ()]
    if any(family.kind not in PREDEFINED_FAMILIES for family in model.families):
        return None
    if any(len(field.parts) > 1 for field in fields):
        return None
    if any(_has_conditions(formula) or sides & numbers_in(formula, True) for formula in formulas):
        return None
    return ordered, model, "none needed: all ranks have the same formulas of their rank"


def _has_conditions(part: Value | Cond) -> bool:
    return isinstance(part, Cond) or any(map(_has_conditions, children(part)))


def _case_of(
    model: SymbolicTrace, nprocs: int, dims: Sequence[int] | None, params: Mapping[str, int] | None
) -> Case:
    """Return grids and inputs of a model's traces and of the requested size. Raises InputError."""
    grids = [Grid(seen, model.column_major) for seen, _ in model.seen]
    runs = [Run(grid, inputs) for grid, (_, inputs) in zip(grids, model.seen, strict=True)]
    grid = target_grid(grids, nprocs, dims)
    return Case(runs, grid, target_inputs(model, params or {}), FOUND_SIZE in model.meta)


def checked_matching(
    traces: Sequence[Trace],
    result: Extrapolation,
    params: Mapping[str, int] | None = None,
    workers: int = 1,
) -> str:
    """Check that all calls of a result match, as those of the traces do; return one line about it.

    Raises:
        ExtrapolationError: they do not; names the ranks and the calls.
    """
    if conflict := check_consistent(traces):
        return f"not compared: {conflict}"
    inputs = target_inputs(result.model, params or {})

    def check() -> str:
        return check_matching(result.model, result.trace, result.grid, inputs)

    def prove() -> str:
        return prove_model(result.model, PROOF_SECONDS).line()

    proves = not is_small(result.trace) and available()
    return "; ".join(each(lambda work: work(), [check, prove] if proves else [check], workers))


def check_largest(
    traces: Sequence[Trace],
    dims_of: Sequence[Sequence[int]] | None = None,
    workers: int = 1,
    model: SymbolicTrace | None = None,
) -> str:
    """Predict the largest of four or more traces from the others and compare all its ranks.

    Args:
        model: of all traces; it may have a parameter that was found in them.

    Returns:
        One line on the result; "" with fewer traces, or if a size varies in the largest one only.

    Raises:
        InputError: the traces do not go together.
        ExtrapolationError: the prediction is wrong; names the first event that differs.
    """
    ordered, runs, _ = prepared(traces, dims_of)
    if model is not None:
        runs = [replace(run, inputs=inputs) for run, (_, inputs) in zip(runs, model.seen, strict=True)]
    if not is_predictable(runs):
        return ""
    real, run = ordered[-1], runs[-1]
    name = f"{real.nprocs} ranks ({run.grid})"
    try:
        smaller = fit(ordered[:-1], runs[:-1], workers, alignment=model.alignment if model else "")
        predicted = _instantiated(smaller, run.grid, target_inputs(smaller, run.inputs), no_times)
        differing = diff(predicted, real, ["times"])
    except (ExtrapolationError, InputError, FormatError) as error:
        return f"the smaller traces alone do not determine {name}: {str(error).splitlines()[0]}"
    if differing:
        raise ExtrapolationError(
            f"the smaller traces predict {len(differing)} of {real.nprocs} ranks of the largest one wrongly: "
            f"{differing[0]}\nA larger size could break the rules again"
        )
    given = f", given {model.meta[FOUND_SIZE]}" if model is not None and FOUND_SIZE in model.meta else ""
    return f"the smaller traces{given} predict {name}: all {real.nevents():,} events are equal"


def of_model(
    model: SymbolicTrace,
    nprocs: int,
    dims: Sequence[int] | None = None,
    params: Mapping[str, int] | None = None,
    timing: str | None = None,
    run_noise: float = 0.0,
    workers: int = 1,
    accept_unconfirmed: bool = False,
) -> Extrapolation:
    """Instantiate a symbolic trace for `nprocs` ranks. Raises InputError, ExtrapolationError."""
    case = _case_of(model, nprocs, dims, params)
    grid, inputs = case.target
    timing_model(timing)  # refuse an unknown one before the trace is made
    with advising(case, model=model):
        if not accept_unconfirmed and len(case.runs) < MIN_AGREEING and (loop := irregular_loop(model)):
            raise ExtrapolationError(
                f"{loop} ({MIN_AGREEING} traces that agree are believed)", Cause.FEW_SIZES
            )
        times = Times(model, nprocs, Trends(model, timing, run_noise), workers)
        trace = _instantiated(model, grid, inputs, times, accept_unconfirmed)
    trace.meta = header(model, grid, inputs, timing, accept_unconfirmed)
    totals = tuple(total_times(model, times, trace))
    if (interval := vague_interval_ns(totals)) is not None:
        trace.meta[RUN_TIME_NS] = "..".join(map(str, interval))
    notes_on_result = (*assumptions(model, inputs), *result_warnings(model, times, totals))
    return Extrapolation(trace, grid, model, times=totals, warnings=notes_on_result)


def result_warnings(model: SymbolicTrace, times: Times, totals: Sequence[TotalTime]) -> tuple[str, ...]:
    """Return the warnings of a result: on its size, its inputs and poor fits of times."""
    return tuple(warnings(model, times.nprocs, totals, poor_fits(model, times)))


def _instantiated(
    model: SymbolicTrace,
    grid: Grid,
    inputs: Mapping[str, int],
    rule: Timing,
    accept_unconfirmed: bool = False,
) -> Trace:
    """The trace on a grid; formulas that fit the traces equally well are decided by messages if possible."""
    try:
        return instantiate(model, grid, inputs, rule, accept_unconfirmed)
    except UndeterminedError:
        decided = decided_by_messages(model, grid, inputs)
        if decided is None:
            raise
        return instantiate(decided, grid, inputs, rule)


def model_of(
    traces: Sequence[Trace],
    dims_of: Sequence[Sequence[int]] | None = None,
    workers: int = 1,
    accept_unconfirmed: bool = False,
    target: tuple[int, Sequence[int] | None, Mapping[str, int]] | None = None,
) -> tuple[list[Trace], SymbolicTrace, str]:
    """Return the traces in order of size, their symbolic trace, and how their grid was found.

    Args:
        target: ranks of the result, the sides of its grid if they are given, and its parameters: checked
            before the formulas are sought.
    """
    ordered, runs, evidence = prepared(traces, dims_of)
    on_a_line = dims_of is None and len(runs[0].grid.dims) == 1
    case = Case(runs)
    if target is not None:
        nprocs, dims, params = target
        try:
            case = Case(runs, _target(runs, nprocs, dims), params)
            with advising(case, ordered):
                _check_target(case, accept_unconfirmed)
        except InputError as error:
            if on_a_line and (smaller := _without_smallest(ordered, 2)):
                raise InputError(f"{error}{smaller}") from None
            raise
    foldings = foldings_of(ordered)

    @cache
    def with_problem_size() -> _Sized | None:
        return _with_problem_size(ordered, runs, workers, foldings)

    @cache
    def with_argument() -> _Sized | None:
        return _with_argument(ordered, case, workers, foldings)

    def with_size(error: ExtrapolationError) -> _Sized | None:
        if isinstance(error, PollingError):
            return None
        sized = with_problem_size()
        if sized is None and isinstance(error, NoFormulaError) and error.values:
            sized = with_argument() if is_divided(error.values, case.grids) else None
        return sized

    def explain(error: NoFormulaError) -> SymbolicTrace | None:
        return sized[0] if (sized := with_size(error)) else None

    with advising(case, ordered, workers=workers):
        try:
            model = fit_prepared(ordered, runs, workers, accept_unconfirmed, foldings, explain)
        except ExtrapolationError as error:
            sized = with_size(error)
            if sized is None:
                error.notes = (f"grid: {evidence}",)
                if dims_of is None and not isinstance(error, PollingError):
                    step = _leaving_out_smallest(ordered, len(runs[0].grid.dims) + 1)
                    error.step = step if step and (on_a_line or _follow_rules(ordered[1:], workers)) else None
                raise
        else:
            sized = None
            if FOUND_SIZE in model.meta or divides_numbers(model):
                sized = with_problem_size()
                if sized is None and (
                    FOUND_SIZE in model.meta or (case.grid is not None and not is_determined(case, model))
                ):
                    sized = with_argument()
            if sized is None:
                return ordered, model, evidence
    model, size = sized
    return ordered, model, f"{evidence}; {size}"


_Sized = tuple[SymbolicTrace, str]
"""A symbolic trace with the size of the problem as a parameter, and how that was found."""


def _with_argument(traces: Sequence[Trace], case: Case, workers: int, foldings: Foldings) -> _Sized | None:
    """Return the symbolic trace with an argument of the program as the size of the problem.

    None if values follow no rules of one of these numbers either, if it does not determine the result, or if
    a parameter is given.
    """
    numbers = () if case.runs[0].inputs else numbers_in_arguments(traces, case.grids)
    for number in numbers:
        try:
            sized = [replace(run, inputs={NAME: number}) for run in case.runs]
            model = fit_prepared(traces, sized, workers, foldings=foldings)
        except ExtrapolationError:
            continue
        formulas = (
            one for field in fields_of(model.nodes) for part in field.parts for one in part.formulas or ()
        )
        inputs = {NAME: number}
        if NAME in names_in(*formulas) and (
            case.grid is None or is_determined(replace(case, runs=sized, inputs=inputs), model)
        ):
            shown = f"problem size {NAME} = {number}: an argument of the program"
            return replace(model, meta={**model.meta, FOUND_SIZE: f"{NAME}={number}"}), shown
    return None


def _with_problem_size(
    traces: Sequence[Trace], runs: Sequence[Run], workers: int, foldings: Foldings
) -> _Sized | None:
    """Return the symbolic trace with a size of the problem, found in the values, as a parameter.

    None unless all values follow rules with such a size, or if a parameter is given. Where several sizes
    explain the traces, the formulas with the others are rivals.
    """
    found: dict[int, SymbolicTrace] = {}
    for size in () if runs[0].inputs else problem_sizes(traces, runs, foldings):
        try:
            sized = [replace(run, inputs={NAME: size}, found=True) for run in runs]
            found[size] = fit_prepared(traces, sized, workers, foldings=foldings)
        except ExtrapolationError:
            continue
    if not found:
        return None
    (size, model), *others = found.items()
    for _, rival in others:
        with_rival = with_rival_size(model, rival, NAME)
        if with_rival is None:
            return None
        model = with_rival
    sizes = " or ".join(map(str, found))
    shown = f"problem size {NAME} = {sizes} found: all counts follow from its blocks"
    return replace(model, meta={**model.meta, FOUND_SIZE: f"{NAME}={size}"}), shown


def _target(runs: Sequence[Run], nprocs: int, dims: Sequence[int] | None) -> Grid:
    """Return the grid that is asked for. Raises InputError."""
    grids = [run.grid for run in runs]
    grid = target_grid(grids, nprocs, dims)
    check_dimensions(grid, len(grids[0].dims))
    return grid


def _check_target(case: Case, accept_unconfirmed: bool) -> None:
    """Raise InputError where no formula can lead to the grid that is asked for."""
    assert case.grid is not None
    if not accept_unconfirmed:
        check_sides(case.grid, [grid.dims for grid in case.grids])


def fit_prepared(
    traces: Sequence[Trace],
    runs: Sequence[Run],
    workers: int = 1,
    accept_unconfirmed: bool = False,
    foldings: Foldings | None = None,
    explain: Explain | None = None,
) -> SymbolicTrace:
    """Fit the symbolic trace of the result of `prepared`. Raises ExtrapolationError."""
    model = fit(traces, runs, workers, accept_unconfirmed, foldings, explain)
    return replace(model, meta={**model.meta, **notes(traces, accept_unconfirmed)})


def prepared(
    traces: Sequence[Trace], dims_of: Sequence[Sequence[int]] | None = None
) -> tuple[list[Trace], list[Run], str]:
    """Return the traces in order of size, their grids and parameters, and how the grids were found.

    Raises:
        InputError: the inputs do not go together.
    """
    check(traces, dims_of)
    order = sorted(range(len(traces)), key=lambda k: traces[k].nprocs)
    ordered = [canonical(absolute(traces[k])) for k in order]
    observed = list(map(Observed, ordered))
    if dims_of is None:
        found = topology.identify(ordered, observed)
        grids, evidence, butterflies = found.grids, found.evidence, found.butterflies
    else:
        grids, evidence = tuple(Grid(tuple(dims_of[k])) for k in order), "as given"
        for grid, trace in zip(grids, ordered, strict=True):
            if grid.nprocs != trace.nprocs:
                raise InputError(f"a grid of {grid} has {grid.nprocs} ranks, but the trace {trace.nprocs}")
        topology.same_dimensions(grids)
        butterflies = topology.has_butterflies(observed, grids)
    factors = has_factor_chain(ordered)
    structure = _structure(grids, observed)
    runs = [
        Run(grid, inputs_of(trace), butterflies, factors, structure)
        for grid, trace in zip(grids, ordered, strict=True)
    ]
    _same_inputs(runs)
    try:
        multiples = check_arguments(ordered, runs, order)
    except InputError as error:
        raise InputError(f"{error}{_without_smallest(ordered) if dims_of is None else ''}") from None
    if multiples:
        evidence += f"; arguments that differ are taken to grow with it: {', '.join(multiples)}"
    return ordered, runs, evidence


def _structure(grids: Sequence[Grid], observed: Sequence[Observed]) -> Structure:
    """Groups of the ranks of a line, a tree over all ranks, and parts of them."""
    sites = [one.sites for one in observed]
    group = group_size(sites) if len(grids[0].dims) == 1 else 0
    arity = tree_arity([grid.nprocs for grid in grids], [one.by_site for one in observed])
    return Structure(group, arity, borders(sites))


def _without_smallest(traces: Sequence[Trace], ndims: int = 1) -> str:
    """Return a hint where the other traces have a grid of `ndims` or more that explains their arguments."""
    step = _leaving_out_smallest(traces, ndims)
    return "" if step is None else f"\nnext: {step.text}"


def _leaving_out_smallest(traces: Sequence[Trace], ndims: int = 2) -> NextStep | None:
    """Return the step of leaving out the smallest trace, where the others have a grid of `ndims` or more."""
    if len(traces) < MIN_OTHERS + 1:
        return None
    try:
        _, runs, _ = prepared(traces[1:])
    except InputError:
        return None
    if len(runs[0].grid.dims) < ndims:
        return None
    grids = ", ".join(str(run.grid) for run in runs)
    smallest = f"the trace of {traces[0].nprocs} ranks"
    text = f"leave out {smallest}, which is too small: the others have the grids {grids}"
    return NextStep(Action.LEAVE_OUT, text, leave_out=(0,))


def _follow_rules(traces: Sequence[Trace], workers: int) -> bool:
    """Return whether the traces, on a grid of their own, follow rules; without advice if they do not."""
    try:
        ordered, runs, _ = prepared(traces)
        foldings = foldings_of(ordered)
        try:
            fit_prepared(ordered, runs, workers, False, foldings)
        except PollingError:
            return False
        except ExtrapolationError:
            return _with_problem_size(ordered, runs, workers, foldings) is not None
    except (ExtrapolationError, InputError):
        return False
    return True


def check(traces: Sequence[Trace], dims_of: Sequence[Sequence[int]] | None = None) -> None:
    """Raise InputError if the traces cannot be extrapolated."""
    if dims_of is not None and len(dims_of) != len(traces):
        raise InputError(f"there are {len(traces)} traces, but {len(dims_of)} grids")
    if len(traces) < 2:
        raise InputError("one trace shows no trend: give at least two, better four, of different sizes")
    for trace in traces:
        missing = trace.nprocs - len(trace.ranks)
        if missing:
            raise InputError(
                f"the trace of {trace.nprocs} ranks lacks {missing} of them (a run that crashed?): "
                "only complete traces can be extrapolated"
            )
        if not trace.nodes:
            raise InputError(f"the trace of {trace.nprocs} ranks has no events")
        if trace.has_streams:
            raise InputError(
                f"{len(trace.threads)} threads of a rank call MPI in the trace of {trace.nprocs} ranks: only "
                "calls of one thread can be extrapolated. Record runs in which one thread calls MPI"
            )
    grids = [()] * len(traces) if dims_of is None else [tuple(dims) for dims in dims_of]
    names = [
        # Arguments of the program stand for the grid where it is not given.
        (trace.nprocs, dims or trace.meta.get("program", ""), tuple(sorted(inputs_of(trace).items())))
        for trace, dims in zip(traces, grids, strict=True)
    ]
    if len(set(names)) < len(names):
        raise InputError("two of the traces have the same number of ranks and the same parameters")


def inputs_of(trace: Trace) -> dict[str, int]:
    """Return the parameters that the recorder noted.

    Raises:
        InputError: one is no integer, or has a name that formulas use themselves.
    """
    result = {}
    for key, text in trace.meta.items():
        if key.startswith(PARAMETER):
            name = key.removeprefix(PARAMETER)
            result[name] = parse_input(name, text)
    return result


def parse_input(name: str, text: str) -> int:
    """Return a parameter's value. Raises InputError."""
    if not (name.isascii() and name.isidentifier()) or iskeyword(name) or name in RESERVED:
        fault = "reserved" if name.isascii() and name.isidentifier() else "not an identifier"
        raise InputError(f"parameter name {name!r} is {fault}; choose another name")
    try:
        value = int(text)
    except ValueError:
        raise InputError(f"parameter {name} = {text!r} is not an integer") from None
    if value not in INT64:
        raise InputError(f"parameter {name} = {text} exceeds 64 bits")
    return value


def _same_inputs(runs: Sequence[Run]) -> None:
    if len({tuple(sorted(run.inputs)) for run in runs}) > 1:
        told = "; ".join(
            f"{run.grid.nprocs} ranks: {', '.join(sorted(run.inputs)) or 'none'}" for run in runs
        )
        raise InputError(f"the traces were recorded with different parameters: {told}")


def target_inputs(model: SymbolicTrace, given: Mapping[str, int]) -> dict[str, int]:
    """Return the target's parameters. Raises InputError for an unknown or a missing one."""
    unknown = [name for name in given if name not in model.inputs]
    if unknown:
        raise InputError(
            f"the traces have no parameter {unknown[0]}: record them with --param {unknown[0]}=..., "
            "or say what it was with --inputs"
        )
    result = {}
    for name in model.inputs:
        seen = {inputs[name] for _, inputs in model.seen}
        if name not in given and len(seen) > 1:
            raise InputError(
                f"the parameter {name} differs from trace to trace: say what it is to be (--param)"
            )
        result[name] = given[name] if name in given else seen.pop()
    return result
