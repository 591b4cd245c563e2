"""Heat maps: who sends how much to whom, and the times of the ranks on their process grid."""

from __future__ import annotations

from contextlib import suppress
from math import ceil, prod, sqrt
from typing import TYPE_CHECKING

import numpy as np

from scalatrace.arrays import Floats
from scalatrace.errors import LimitError, UsageError
from scalatrace.report.costs.efficiency import efficiency
from scalatrace.report.costs.phases import unknown_efficiency
from scalatrace.report.notebook.drawing import (
    capitalized,
    draw_cells,
    new_axes,
    number_cells,
    rank_count,
    set_titles,
    shared_cores_note,
    time_unit,
    write_values,
)
from scalatrace.report.page.blocks import Blocks, blocks_of
from scalatrace.report.page.grid import find_grid
from scalatrace.report.style import RESOLUTION, coarse_duration, number
from scalatrace.report.style import nbytes as nbytes_text
from scalatrace.trace.exchange.collectives import exchanges_of
from scalatrace.trace.exchange.matrix import COLLECTIVE, MEASURES, POINT_TO_POINT
from scalatrace.trace.exchange.messages import Messages, messages_of
from scalatrace.trace.exchange.rank_sets import Budget

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scalatrace.trace.model.trace import Trace

__all__ = ["TIMES", "draw_matrix", "draw_ranks"]

CALLS_TITLES = {"all": "", POINT_TO_POINT: ", point to point", COLLECTIVE: " in collectives"}
SHOWN_AMOUNTS = {"bytes": nbytes_text, "messages": number}
UNITS_OF_AMOUNTS = {"bytes": "bytes (B)", "messages": "messages (number)"}

TIMES = {"mpi": "time in MPI", "compute": "computation"}
"""Times of a rank that are drawn."""

MAX_LINEAR_RATIO = 10
"""Largest over smallest amount of a matrix up to which its scale is linear."""

PLANE_NAME_POINTS = 20.0
"""Height of the name of a plane, above it."""

MAX_ROW = 16
"""Ranks in a line, where they have no grid of several dimensions; more than 256 ranks form a square."""


def draw_matrix(trace: Trace, what: str, calls: str, ax: Axes | None) -> Axes:
    """Draw the communication matrix; the arguments are those of `Plots.matrix`."""
    budget = Budget()
    messages = messages_of(trace, budget) if calls != COLLECTIVE else ()
    exchanges = list(exchanges_of(trace, budget)) if calls != POINT_TO_POINT else ()
    blocks = blocks_of(trace, messages, budget.exact, exchanges=exchanges)
    axes = new_axes(ax)
    table = _amounts(blocks, what)
    side = blocks.count * blocks.size - 0.5
    extent = (-0.5, side, side, -0.5)
    differ = draw_cells(axes, table, UNITS_OF_AMOUNTS[what], extent, max_linear_ratio=MAX_LINEAR_RATIO)
    write_values(axes, table, lambda row, column: SHOWN_AMOUNTS[what](table[row, column]))
    number_cells(axes, trace.nprocs, trace.nprocs)
    axes.set_xlabel("receiving rank")
    axes.set_ylabel("sending rank")
    known = table[~np.isnan(table)]
    facts = ["" if blocks.size == 1 else f"blocks of {number(blocks.size)} ranks"]
    facts.append("" if blocks.exact else "estimated")
    if not known.size:
        facts.append("no messages")
    elif not differ:
        whose = "1 pair" if known.size == 1 else f"all {number(known.size)} pairs"
        facts.append(f"{whose} with messages: {SHOWN_AMOUNTS[what](float(known[0]))}")
    title = f"{what.capitalize()} between ranks{CALLS_TITLES[calls]}"
    set_titles(axes, title, [", ".join(filter(None, facts))])
    return axes


def _amounts(blocks: Blocks, what: str) -> Floats:
    """Return what a block of ranks (row) sent to another (column); NaN: nothing."""
    table = np.full((blocks.count, blocks.count), np.nan)
    for row, column, *amounts in blocks.cells:
        amount = sum(amounts[MEASURES[::-1].index(what) :: 2])
        if amount:
            table[row, column] = amount
    return table


def draw_ranks(trace: Trace, of: str, ax: Axes | None) -> Axes:
    """Draw a time of each rank on the process grid; the arguments are those of `Plots.ranks`."""
    trace = trace.without_phases
    times = efficiency(trace)
    if times is None:
        raise UsageError(f"no times by rank: {unknown_efficiency(trace.phases)}")
    axes = new_axes(ax)
    by_rank_ns = np.full(trace.nprocs, np.nan)
    by_rank_ns[list(times.ranks)] = times.comm_ns if of == "mpi" else times.compute_ns
    shape, source = _shape(trace)
    cells = _placed(np.arange(trace.nprocs, dtype=np.float64), shape)
    table = _placed(by_rank_ns, shape)
    known = by_rank_ns[~np.isnan(by_rank_ns)]
    unit = time_unit(float(known.max()))
    differ = draw_cells(axes, table / unit.ns, f"{TIMES[of]} of a rank ({unit.name})", tolerance=RESOLUTION)
    write_values(
        axes, table / unit.ns,
        lambda row, column: f"rank {cells[row, column]:.0f}\n{coarse_duration(table[row, column])}",
    )  # fmt: skip
    pad_points = _name_axes(axes, shape)
    facts = [source]
    if not differ:
        equal = "" if known.max() == known.min() else f", within {100 * RESOLUTION:.0f} %"
        whose = f"all {rank_count(known.size)}" if known.size > 1 else f"rank {times.ranks[0]}"
        facts.append(f"{whose}: {coarse_duration(float(known.mean()))}{equal}")
    facts.append(shared_cores_note(trace))
    set_titles(axes, f"{capitalized(TIMES[of])} by rank", facts, pad_points)
    return axes


def _shape(trace: Trace) -> tuple[tuple[int, ...], str]:
    """Return the grid of the ranks and a text that says how it was found."""
    messages: list[Messages] = []
    with suppress(LimitError, UsageError):  # the grid then follows from the calls alone
        messages = list(messages_of(trace, Budget()))
    grid, source = find_grid(trace, messages)
    if len(grid.shape) > 1:
        return grid.shape, f"{' × '.join(map(number, grid.shape))} ranks, grid from {source}"
    return grid.shape, f"{rank_count(trace.nprocs)}, no grid of several dimensions"


def _placed(by_rank: Floats, shape: tuple[int, ...]) -> Floats:
    """Return values of the ranks as rows and columns; NaN: no rank.

    The last dimension gives the columns, the one before it the rows. Further ones give planes, side by side
    and below each other, with a cell between them.
    """
    if len(shape) < 2:
        width = max(MAX_ROW, ceil(sqrt(by_rank.size)))
        width = min(width, by_rank.size)
        lines = ceil(by_rank.size / width)
        table = np.full(lines * width, np.nan)
        table[: by_rank.size] = by_rank
        return table.reshape(lines, width)
    planes = by_rank.reshape(-1, *shape[-2:])
    across = _planes_across(shape)
    down = ceil(len(planes) / across)
    rows, columns = shape[-2] + 1, shape[-1] + 1
    table = np.full((down * rows - 1, across * columns - 1), np.nan)
    for at, plane in enumerate(planes):
        row, column = divmod(at, across)
        table[row * rows : row * rows + shape[-2], column * columns : column * columns + shape[-1]] = plane
    return table


def _planes_across(shape: tuple[int, ...]) -> int:
    return ceil(sqrt(prod(shape[:-2])))


def _name_axes(axes: Axes, shape: tuple[int, ...]) -> float | None:
    """Name rows, columns and planes, as the page does: x is the dimension that varies slowest.

    Returns:
        The distance of the title in points, with room for names of planes; None: the default.
    """
    lines, width = axes.images[0].get_size()
    number_cells(axes, width, lines)
    if len(shape) < 2:
        axes.set_xlabel("rank" if shape[0] <= width else "rank, counted from the first one of the line")
        axes.set_ylabel("" if shape[0] <= width else f"line of {number(width)} ranks")
        if shape[0] <= width:
            axes.set_yticks([])
        return None
    names = "xyzw"[: len(shape)] if len(shape) <= 4 else [f"x{i}" for i in range(len(shape))]
    axes.set_xlabel(f"{names[-1]} (grid coordinate)")
    axes.set_ylabel(f"{names[-2]} (grid coordinate)")
    if len(shape) == 2:
        return None
    across = _planes_across(shape)
    axes.set_xticks([])
    axes.set_yticks([])
    for at in range(shape[-1], width, shape[-1] + 1):
        axes.axvspan(at - 0.5, at + 0.5, color="white")
    for at in range(shape[-2], lines, shape[-2] + 1):
        axes.axhspan(at - 0.5, at + 0.5, color="white")
    planes = list(np.ndindex(*shape[:-2]))
    for at in range(len(planes), across * ceil(len(planes) / across)):  # places without a plane
        row, column = divmod(at, across)
        place = (column * (shape[-1] + 1) - 0.5, shape[-1])
        axes.broken_barh([place], (row * (shape[-2] + 1) - 0.5, shape[-2]), color="white")
    if len(planes) > MAX_ROW:
        return None
    for at, plane in enumerate(planes):
        row, column = divmod(at, across)
        where = ", ".join(f"{name} = {n}" for name, n in zip(names, plane, strict=False))
        axes.annotate(
            where, (column * (shape[-1] + 1) + (shape[-1] - 1) / 2, row * (shape[-2] + 1) - 0.5),
            (0, 3), textcoords="offset points", ha="center", va="bottom", fontsize="small",
        )  # fmt: skip
    return PLANE_NAME_POINTS
