"""The description of a trace that a notebook shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from jinja2 import Environment

from scalatrace.errors import ScalatraceError
from scalatrace.report.page.filters import FILTERS
from scalatrace.report.page.overview.summary import PageSummary, summary_of

if TYPE_CHECKING:
    from scalatrace.trace.model.trace import Trace

__all__ = ["describe"]

TEMPLATE = """\
<table>{% for name, text in facts %}<tr><th>{{ name }}</th><td>{{ text }}</td></tr>{% endfor %}</table>
<table><tr><th>operation</th><th>call site</th><th>calls</th><th>sent</th><th>time in MPI</th></tr>
{% for row in sites %}<tr><td>{{ row.operation }}</td><td>{{ row.site|site }}</td>
<td>{{ row.calls|number }}</td><td>{{ row.bytes_sent|nbytes }}</td><td>{{ row.mpi_ns|duration }}</td></tr>
{% endfor %}</table>"""


def describe(trace: Trace) -> str | None:
    """Return ranks, calls, times and the sites that cost most in HTML; None where they cannot be computed."""
    environment = Environment(autoescape=True)
    environment.filters |= FILTERS
    try:
        summary = summary_of(trace)
    except ScalatraceError:  # a notebook then shows the text form
        return None
    facts = [("program", trace.meta.get("program", "")), *_figures(summary)]
    return environment.from_string(TEMPLATE).render(facts=facts, sites=summary.sites)


def _figures(summary: PageSummary) -> Iterator[tuple[str, str]]:
    yield "ranks", FILTERS["number"](summary.nprocs)
    yield "calls", FILTERS["number"](summary.events)
    yield "run time", FILTERS["duration"](summary.run_time_ns)
    if summary.efficiency:
        yield "parallel efficiency", FILTERS["percent"](summary.efficiency["parallel_efficiency"])
