"""Scalable benchmarks: formulas and their timing laws, handed from extrapolation to code generation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codegen.generate import Benchmark, Options
    from codegen.program import Duration
    from scalatrace.trace.symbolic import StatRule


def scalable(
    path: str, language: str, options: Options, timing: str | None, plugins: Sequence[str]
) -> Benchmark:
    """Return the benchmark of a symbolic trace. Raises ScalatraceError."""
    from codegen.generate import generate_scalable
    from extrap.expression import FUNCTIONS
    from extrap.plugins import load_plugins
    from extrap.symbolic import load
    from extrap.timing_law import laws

    load_plugins(plugins)
    model = load(path)
    law = laws(model, timing)

    def times(stat: StatRule) -> Duration | None:
        from codegen.program import Duration

        found = law(stat)
        return None if found is None else Duration(found.histogram.mean, found.histogram, found.terms)

    return generate_scalable(model, language, times, FUNCTIONS, options)
