"""Histograms of times before and in calls, and of the sizes of messages, with logarithmic bins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scalatrace.errors import UsageError
from scalatrace.report.costs.rows import short_site_text
from scalatrace.report.notebook.drawing import new_axes, set_titles
from scalatrace.report.page.histograms import BINS_PER_DECADE, Deltas, TimeBin, deltas_of, sizes_of
from scalatrace.trace.exchange.messages import messages_of
from scalatrace.trace.exchange.rank_sets import Budget

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scalatrace.trace.model.trace import Trace

__all__ = ["HISTOGRAMS", "draw_histogram"]

HISTOGRAMS = {"compute": "Computation before calls", "mpi": "Time in calls", "sizes": "Sizes of messages"}
"""Quantities of histograms, and their titles."""


def draw_histogram(trace: Trace, of: str, site: str | None, weight: str, ax: Axes | None) -> Axes:
    """Draw a histogram; the arguments are those of `Plots.histogram`."""
    if of == "sizes" and site is not None:
        raise UsageError("site= selects times: sizes are of all messages")
    drawn = None if of == "sizes" else _deltas(trace, site)
    axes = new_axes(ax)
    if drawn is None:
        below = _draw_sizes(axes, trace, weight)
    else:
        _draw_times(axes, drawn.before if of == "compute" else drawn.inside, weight)
        below = f"{drawn.operation} {short_site_text(drawn.site)}".strip() or "all calls"
    set_titles(axes, HISTOGRAMS[of], [below])
    axes.set_xscale("log", base=2 if of == "sizes" else 10)
    return axes


def _deltas(trace: Trace, site: str | None) -> Deltas:
    listed = deltas_of(trace.without_phases)
    if not listed:
        raise UsageError("the trace has no times: record it without --stats that leave them out")
    if site is None:
        return listed[0]
    histograms = [histogram for histogram in listed[1:] if site in f"{histogram.operation} {histogram.site}"]
    if not histograms:
        raise UsageError(f"site={site!r}: no call site with times contains it; see trace.stats_frame('site')")
    return histograms[0]


def _draw_sizes(axes: Axes, trace: Trace, weight: str) -> str:
    """Draw the sizes of messages; return a text for the title."""
    budget = Budget()
    sizes = sizes_of(messages_of(trace, budget), budget.exact)
    lefts = [max(size_bin.above, 0.5) for size_bin in sizes.bins]
    heights = [size_bin.messages if weight == "samples" else size_bin.nbytes for size_bin in sizes.bins]
    widths = [size_bin.below - left for size_bin, left in zip(sizes.bins, lefts, strict=True)]
    axes.bar(lefts, heights, widths, align="edge", edgecolor="white")
    axes.set_xlabel("size of a message (B)")
    axes.set_ylabel("messages (number)" if weight == "samples" else "sent in all (B)")
    if not sizes.bins:
        return "no messages between two ranks"
    return "messages between two ranks" if sizes.exact else "messages between two ranks, estimated"


def _draw_times(axes: Axes, bins: Sequence[TimeBin], weight: str) -> None:
    edges = [
        (10 ** (time_bin.index / BINS_PER_DECADE), 10 ** ((time_bin.index + 1) / BINS_PER_DECADE))
        for time_bin in bins
    ]
    heights = [time_bin.samples if weight == "samples" else time_bin.total_ns / 1e9 for time_bin in bins]
    widths = [(high - low) / 1e9 for low, high in edges]
    axes.bar([low / 1e9 for low, _ in edges], heights, widths, align="edge", edgecolor="white")
    axes.set_xlabel("time (s)")
    axes.set_ylabel("samples (number)" if weight == "samples" else "sum over all ranks (s)")
