"""Flame graph: the loops of a program and the calls in them, as wide as their times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from scalatrace.report.notebook.drawing import (
    COMPUTE_COLOUR,
    add_legend,
    capitalized,
    colour_of,
    new_axes,
    rank_count,
    set_titles,
    shared_cores_note,
    size_points,
    time_unit,
)
from scalatrace.report.page.gather import rows_by_node
from scalatrace.report.page.sources import SourceReader
from scalatrace.report.page.tree import PageTree, TreeNode, tree_of
from scalatrace.report.style import coarse_duration, number
from scalatrace.trace.model.callsite import is_offset, short_frame, split_frame
from scalatrace.trace.model.nodes import node_numbers
from scalatrace.trace.symbolic.grid import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scalatrace.trace.model.trace import Trace

__all__ = ["draw_flames"]

MAX_DEPTH, MIN_SHARE = 24, 1 / 1200
"""Levels that are drawn, and part of the whole width from which on a node is."""

CHAR_POINTS, MARGIN_POINTS = 5.2, 4.0
"""Width of a character of the text in a bar, and the space beside that text."""

LOOP_COLOUR, LEFT_OUT_COLOUR = "#efe3c8", "0.6"
INCHES_OF_LEVEL, INCHES_AROUND = 0.5, 1.8
"""Heights of a level, and of all around the bars."""


class _FlameBar(NamedTuple):
    """A node with its place in the graph; start and width in ns of all ranks, or in calls."""

    node: TreeNode
    level: int
    start: float
    width: float


def draw_flames(trace: Trace, ax: Axes | None) -> Axes:
    """Draw the flame graph of a trace; the arguments are those of `Plots.flame`."""
    trace = trace.without_phases
    notes: list[str] = []
    numbers = node_numbers(trace.nodes)
    rows = rows_by_node(trace, numbers, notes)
    # Messages and the grid serve patterns only, which a flame graph does not show.
    tree = tree_of(trace, rows, (), Grid((trace.nprocs,)), SourceReader(enabled=False))
    bars = list(_bars(tree))
    depth = max(bar.level for bar in bars) + 1
    axes = new_axes(ax, INCHES_OF_LEVEL * depth + INCHES_AROUND)
    whole = bars[0].width
    unit = time_unit(whole)
    factor = unit.ns if tree.timed else 1.0
    room_points = size_points(axes)[0]
    for bar in bars:
        _draw(axes, bar, factor)
        text = _text(tree, bar, int((room_points * bar.width / whole - MARGIN_POINTS) / CHAR_POINTS))
        middle = (bar.start + bar.width / 2) / factor
        axes.text(
            middle, bar.level, text, ha="center", va="center", fontsize="x-small",
            clip_on=True, parse_math=False,
        )  # fmt: skip
    axes.set_xlim(0, whole / factor)
    axes.set_ylim(depth - 0.5, -0.5)
    axes.set_yticks([])
    axes.set_ylabel("nesting, inwards")
    axes.set_xlabel(f"time of all ranks ({unit.name})" if tree.timed else "calls (number)")
    title = "Time by loop and call site" if tree.timed else "Calls by loop and call site"
    total = f"{coarse_duration(whole)} of {rank_count(len(trace.ranks))}" if tree.timed else "no times"
    shared = shared_cores_note(trace) if tree.timed else ""
    set_titles(axes, title, [total, shared, *map(capitalized, notes)])
    add_legend(axes)
    return axes


def _bars(tree: PageTree) -> Iterator[_FlameBar]:
    """Yield the program and the nodes in it that are wide enough, from the outside inwards."""

    def width(node: TreeNode) -> float:
        return node.comm_ns + node.compute_ns if tree.timed else float(node.calls)

    whole = width(tree.root) or 1.0
    pending = [_FlameBar(tree.root, 0, 0.0, whole)]
    while pending:
        bar = pending.pop()
        yield bar
        start = bar.start
        for child in bar.node.children:
            if width(child) >= MIN_SHARE * whole and bar.level + 1 < MAX_DEPTH:
                pending.append(_FlameBar(child, bar.level + 1, start, width(child)))
            start += width(child)


def _draw(axes: Axes, bar: _FlameBar, factor: float) -> None:
    node, span = bar.node, (bar.start / factor, bar.width / factor)
    colour, label = LOOP_COLOUR, "loop"
    if node.number < 0:
        colour, label = LEFT_OUT_COLOUR, "left out"
    elif node.op:
        colour, label = colour_of(node.category), node.category.lower().replace("_", "-")
    before = 0.0  # computation, then the call
    if node.op and node.compute_ns:
        before = span[1] * node.compute_ns / (node.comm_ns + node.compute_ns)
        _draw_block(axes, bar.level, (span[0], before), COMPUTE_COLOUR, "computation before the call")
    if before < span[1]:
        _draw_block(axes, bar.level, (span[0] + before, span[1] - before), colour, label)


def _draw_block(axes: Axes, level: int, span: tuple[float, float], colour: str, label: str) -> None:
    axes.broken_barh([span], (level - 0.5, 1), facecolor=colour, alpha=0.7, edgecolor="white", label=label)


def _text(tree: PageTree, bar: _FlameBar, room: int) -> str:
    """Return the longest name of a node that has room: names are not cut off."""
    node = bar.node
    site = tree.sites[node.site].shown if node.site >= 0 else node.place
    title = node.op or _loop_title(node)
    texts = (
        f"{title}  {short_frame(site)}" if site else title,
        f"{title}  {_short_place(site)}" if site else title,
        title,
        "",
    )
    return next(text for text in texts if len(text) <= room or not text)


def _short_place(site: str) -> str:
    """Return file and line of a frame; of a native one without a line, the module and the offset."""
    frame = split_frame(site)
    offset = frame.function.partition(":")[0]
    return frame.place or (f"{frame.file_name}+{offset}" if is_offset(offset) else frame.file_name)


def _loop_title(node: TreeNode) -> str:
    if node.number == 0:
        return "program"
    if node.number < 0:
        return f"{number(node.left_out)} nodes left out"
    if node.thread:
        return f"thread {node.thread}"
    return f"{node.times} × loop" if node.times else "loop"
