"""The run of a trace on a network that takes no time, for pages."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scalatrace.errors import ScalatraceError

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.report.page.gather import PageOptions
    from scalatrace.report.page.overview.causes import IdealRunFacts

__all__ = ["ideal_run", "with_ideal_run"]


def ideal_run(trace: Trace) -> tuple[IdealRunFacts | None, str]:
    """Return the run on a network that takes no time; None: it was not simulated, and why."""
    from scalatrace.predict.engine.root_causes import run_ideally
    from scalatrace.report.page.overview.causes import IdealRunFacts
    from scalatrace.report.page.tree import node_numbers
    from scalatrace.trace.consistency.failed import repeatable

    trace = repeatable(trace, keep_failed=True).without_phases
    try:
        run = run_ideally(trace)
    except ScalatraceError as error:
        return None, f"waits are not followed: {error}"
    numbers = node_numbers(trace)
    causes = [(row.rank, numbers[id(row.event)], row.waiting_ns, row.nranks) for row in run.causes]
    return IdealRunFacts(run.time_ns, run.waiting_ns, causes, run.waiters, run.pairs, run.followed), ""


def with_ideal_run(options: PageOptions, trace: Trace) -> PageOptions:
    """Return options of a page that shows for whom ranks wait, or why that is not known."""
    ideal, why_not = ideal_run(trace)
    return replace(options, ideal=ideal, notes=(*options.notes, why_not) if why_not else options.notes)
