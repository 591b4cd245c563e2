"""Scalable benchmarks: formulas and their timing laws, handed from extrapolation to code generation."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from scalatrace.cli.named import Names

if TYPE_CHECKING:
    from scalatrace.codegen.generate import Benchmark, GenerateOptions
    from scalatrace.codegen.program.tree import Duration
    from scalatrace.trace.model.rules import Model, StatRule


def scalable(
    path: str,
    language: str,
    options: GenerateOptions,
    timing: str | None,
    plugins: Sequence[str],
    names_s: float,
) -> Benchmark:
    """Return the benchmark of a symbolic trace, whose calls have to match at sizes larger than the traces.

    Args:
        names_s: time for source lines of native call sites; 0: none.

    Raises:
        ScalatraceError: they do not, or something has no equivalent in the language.
    """
    from scalatrace.codegen.emit import emitter
    from scalatrace.codegen.generate import generate_scalable
    from scalatrace.extrap.grid.plugins import load_plugins
    from scalatrace.extrap.matching import check_model
    from scalatrace.extrap.stx import load
    from scalatrace.extrap.timing.law import laws
    from scalatrace.formula import FUNCTIONS

    load_plugins(plugins)
    model = load(path)
    check_model(model)
    if emitter(language).matched:
        model = _matched(model)
    model = Names.of_model(model, path, names_s).model(model)
    law = laws(model, timing)

    def times(stat: StatRule) -> Duration | None:
        from scalatrace.codegen.program.tree import Duration

        result = law(stat)
        return None if result is None else Duration(result.histogram.mean, result.histogram, result.terms)

    return generate_scalable(model, language, times, FUNCTIONS, options)


def _matched(model: Model) -> Model:
    """The formulas with a sender for every receive, sought again in traces of the sizes that were seen.

    Wildcards are resolved in traces (Algorithm 3), so the formulas become traces, and these formulas again.
    """
    from scalatrace.codegen.matching import align_collectives, resolve_wildcards
    from scalatrace.extrap.extrapolate import model_of, of_model
    from scalatrace.extrap.provenance import PARAMETER
    from scalatrace.formula import Special
    from scalatrace.trace.model.rules import events

    fields = (param.field for rule in events(model.nodes) for param in rule.params)
    if not any(Special("ANY_SOURCE") in (part.formulas or ()) for field in fields for part in field.parts):
        return model
    traces = []
    for dims, inputs in model.seen:
        trace = resolve_wildcards(align_collectives(of_model(model, prod(dims), dims, inputs).trace))
        trace.meta.update({PARAMETER + name: str(value) for name, value in inputs.items()})
        traces.append(trace)
    grids = None if model.column_major else [dims for dims, _ in model.seen]
    return model_of(traces, grids)[1]
