"""Time line: the calls of some ranks over time, and the messages between them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from scalatrace.report.costs.efficiency import times_of
from scalatrace.report.notebook.drawing import (
    COMPUTE_COLOUR,
    add_legend,
    colour_of,
    new_axes,
    set_titles,
    time_unit,
)
from scalatrace.report.page.grid import find_grid
from scalatrace.report.page.timeline.lines import time_line
from scalatrace.report.page.timeline.ranks import ChosenRanks, choose_ranks
from scalatrace.report.page.timeline.rows import Bar, TimeLine, TimelineWindow, arrows
from scalatrace.report.style import coarse_duration, number
from scalatrace.trace.exchange.messages import messages_of
from scalatrace.trace.exchange.rank_sets import Budget

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scalatrace.trace.model.trace import Trace

__all__ = ["draw_time_line"]

MAX_BARS = 6000
"""Calls of all ranks; of loops, further repetitions are left out."""

MAX_ARROWS = 300
"""Messages of a time line, at most; of more, none is drawn, since they cover each other."""


def draw_time_line(
    trace: Trace, ranks: Sequence[int] | None, window: TimelineWindow, ax: Axes | None
) -> Axes:
    """Draw the time line of a trace; the arguments are those of `Plots.timeline`."""
    chosen = _choose_ranks(trace) if ranks is None else ChosenRanks(tuple(map(int, ranks)))
    lines = time_line(trace, chosen, window)
    bars = [line.bars(window, MAX_BARS // len(lines.lines)) for line in lines.lines]
    axes = new_axes(ax)
    end_ns = max((calls[-1].start_ns + calls[-1].length_ns for calls in bars if calls), default=0)
    unit = time_unit(end_ns)
    for row, calls in enumerate(bars):
        _draw_line(axes, row, calls, lines, unit.ns)
    messages = arrows(lines.lines, bars)
    are_drawn = len(messages) <= MAX_ARROWS
    for sender, send, receiver, receive in messages if are_drawn else ():
        times = (send.start_ns / unit.ns, (receive.start_ns + receive.done_ns) / unit.ns)
        axes.plot(times, (sender, receiver), color="black", linewidth=0.6)
    axes.set_yticks(range(len(lines.lines)), [line.name for line in lines.lines])
    axes.invert_yaxis()
    axes.set_ylabel("rank.thread" if lines.threads else "rank")
    axes.set_xlabel(f"time ({unit.name})" if lines.timed else "calls (number), all of equal length")
    note = ""
    if not any(bars):
        note = lines.note or "no calls in this window"
    elif any(line.cut for line in lines.lines) or max(map(len, bars)) == MAX_BARS // len(bars):
        note = f"the first calls: choose a window shorter than {coarse_duration(end_ns)}"
    elif not are_drawn:
        note = f"{number(len(messages))} messages not drawn: choose a shorter window"
    set_titles(axes, "Calls over time", [note])
    add_legend(axes)
    return axes


def _choose_ranks(trace: Trace) -> ChosenRanks:
    messages = messages_of(trace, Budget())
    return choose_ranks(trace, messages, find_grid(trace, messages)[0], partial(times_of, trace))


def _draw_line(axes: Axes, row: int, calls: Sequence[Bar], lines: TimeLine, factor: float) -> None:
    """Draw the calls of a rank, a collection per category; computation is what lies between them."""
    if not calls:
        return
    first, last = calls[0], calls[-1]
    row_span = (first.start_ns / factor, (last.start_ns + last.length_ns - first.start_ns) / factor)
    axes.broken_barh([row_span], (row - 0.2, 0.4), color=COMPUTE_COLOUR, label="computation")
    spans: dict[str, list[tuple[float, float]]] = {}
    for bar in calls:
        category = lines.places[bar.place].category
        spans.setdefault(category, []).append((bar.start_ns / factor, bar.length_ns / factor))
    for category, bars in spans.items():
        label = category.lower().replace("_", "-")
        axes.broken_barh(bars, (row - 0.4, 0.8), color=colour_of(category), label=label)
