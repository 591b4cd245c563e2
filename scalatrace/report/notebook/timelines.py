"""Time line: the calls of some ranks over time, and the messages between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scalatrace.report.notebook.drawing import (
    COMPUTE_COLOUR,
    add_legend,
    colour_of,
    new_axes,
    set_titles,
    time_unit,
)
from scalatrace.report.page.grid import find_grid
from scalatrace.report.page.timeline import TimeLine, TimelineRow, TimelineWindow, some_ranks, time_line
from scalatrace.report.style import number
from scalatrace.trace.exchange.messages import messages_of
from scalatrace.trace.exchange.rank_sets import Budget

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scalatrace.trace.model.trace import Trace

__all__ = ["draw_time_line"]

MAX_ARROWS = 300
"""Messages of a time line, at most; of more, none is drawn, since they cover each other."""


def draw_time_line(
    trace: Trace, ranks: Sequence[int] | None, window: TimelineWindow, ax: Axes | None
) -> Axes:
    """Draw the time line of a trace; the arguments are those of `Plots.timeline`."""
    chosen = _some_ranks(trace) if ranks is None else [int(rank) for rank in ranks]
    lines = time_line(trace, chosen, window)
    axes = new_axes(ax)
    end_ns = max((line.bars[-1].start_ns + line.bars[-1].length_ns for line in lines.lines if line.bars),
                 default=0)  # fmt: skip
    unit = time_unit(end_ns)
    for row, line in enumerate(lines.lines):
        _draw_line(axes, row, line, lines, unit.ns)
    are_drawn = len(lines.arrows) <= MAX_ARROWS
    for sender, sent, receiver, received in lines.arrows if are_drawn else ():
        start, end = lines.lines[sender].bars[sent], lines.lines[receiver].bars[received]
        done = lines.lines[receiver].bars[end.after] if end.after >= 0 else end
        times = (start.start_ns / unit.ns, (done.start_ns + done.length_ns) / unit.ns)
        axes.plot(times, (sender, receiver), color="black", linewidth=0.6)
    axes.set_yticks(range(len(lines.lines)), [line.name for line in lines.lines])
    axes.invert_yaxis()
    axes.set_ylabel("rank.thread" if lines.threads else "rank")
    axes.set_xlabel(f"time ({unit.name})" if lines.timed else "calls (number), all of equal length")
    note = ""
    if not any(line.bars for line in lines.lines):
        note = lines.note or "no calls in this window"
    elif not are_drawn:
        note = f"{number(len(lines.arrows))} messages not drawn: choose a shorter window"
    set_titles(axes, "Calls over time", [note])
    add_legend(axes)
    return axes


def _some_ranks(trace: Trace) -> Sequence[int]:
    messages = messages_of(trace, Budget())
    return some_ranks(trace, messages, find_grid(trace, messages)[0])[0]


def _draw_line(axes: Axes, row: int, line: TimelineRow, lines: TimeLine, factor: float) -> None:
    """Draw the calls of a rank, a collection per category; computation is what lies between them."""
    if not line.bars:
        return
    first, last = line.bars[0], line.bars[-1]
    loop_span = (first.start_ns / factor, (last.start_ns + last.length_ns - first.start_ns) / factor)
    axes.broken_barh([loop_span], (row - 0.2, 0.4), color=COMPUTE_COLOUR, label="computation")
    spans: dict[str, list[tuple[float, float]]] = {}
    for bar in line.bars:
        category = lines.places[bar.place].category
        spans.setdefault(category, []).append((bar.start_ns / factor, bar.length_ns / factor))
    for category, bars in spans.items():
        label = category.lower().replace("_", "-")
        axes.broken_barh(bars, (row - 0.4, 0.8), color=colour_of(category), label=label)
