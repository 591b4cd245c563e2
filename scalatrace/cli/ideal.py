"""The run of a trace on a network that takes no time, for pages."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from scalatrace.errors import ScalatraceError

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.report.page.gather import PageOptions

__all__ = ["with_ideal_run"]


def with_ideal_run(options: PageOptions, trace: Trace) -> PageOptions:
    """Return options of a page that shows for whom ranks wait, or why that is not known."""
    from scalatrace.predict.engine.root_causes import ideal_call_times, run_ideally
    from scalatrace.trace.consistency.failed import repeatable

    try:
        simulated = repeatable(trace, keep_failed=True).without_phases
        ideal = run_ideally(simulated)
    except ScalatraceError as error:
        return replace(options, notes=(*options.notes, f"waits are not followed: {error}"))
    return replace(options, ideal=ideal, ideal_lines=partial(ideal_call_times, simulated))
