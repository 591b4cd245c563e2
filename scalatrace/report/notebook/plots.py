"""Plots of a trace with matplotlib: communication matrix, time line, histograms.

matplotlib is an extra: pip install 'scalatrace[plot]'. All plots follow from the compressed form, as those of
the HTML page do. Each method draws into `ax`, or into a new figure, and returns the Axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from scalatrace.errors import UsageError
from scalatrace.operations import Category
from scalatrace.report.page.blocks import blocks_of
from scalatrace.report.page.grid import find_grid
from scalatrace.report.page.histograms import BINS_PER_DECADE, Deltas, TimeBin, deltas_of, sizes_of
from scalatrace.report.page.timeline import TimeLine, TimelineRow, TimelineWindow, some_ranks, time_line
from scalatrace.report.style import number, short_site
from scalatrace.spelling import did_you_mean
from scalatrace.trace.exchange.collectives import exchanges_of
from scalatrace.trace.exchange.matrix import CALLS, COLLECTIVE, MEASURES, POINT_TO_POINT
from scalatrace.trace.exchange.messages import messages_of
from scalatrace.trace.exchange.rank_sets import Budget

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scalatrace.trace.model.trace import Trace

__all__ = ["Plots"]

CALLS_TITLES = {"all": "", POINT_TO_POINT: ", point to point", COLLECTIVE: " in collectives"}
HISTOGRAMS = ("compute", "mpi", "sizes")
MAX_ARROWS = 300
"""Messages of a time line, at most; of more, none is drawn, since they cover each other."""

COLOURS = {
    Category.SEND: "tab:green",
    Category.RECV: "tab:blue",
    Category.SENDRECV: "tab:cyan",
    Category.COMPLETION: "tab:orange",
    Category.COLLECTIVE: "tab:purple",
    Category.NEIGHBOUR: "tab:pink",
    Category.ONE_SIDED: "tab:red",
}
OTHER_COLOUR, COMPUTE_COLOUR = "tab:gray", "0.88"

UNITS = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))


class Plots:
    """The plots of a trace: `trace.plot`."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def matrix(self, what: str = "bytes", ax: Axes | None = None, calls: str = "all") -> Axes:
        """Draw the communication matrix as a heat map, on a logarithmic scale.

        Of more than 128 ranks, a cell stands for a block of consecutive ranks.

        Args:
            what: "bytes" or "messages", from the rank of a row to that of a column.
            ax: where to draw.
            calls: "p2p": messages only; "collective": collectives that say who sends to whom; "all".

        Raises:
            UsageError: an unknown word, matplotlib is missing, or the trace has no destinations.
            LimitError: very many ranks or different calls.
        """
        _choose("what", what, MEASURES)
        _choose("calls", calls, CALLS)
        budget = Budget()
        messages = messages_of(self._trace, budget) if calls != COLLECTIVE else ()
        exchanges = list(exchanges_of(self._trace, budget)) if calls != POINT_TO_POINT else ()
        blocks = blocks_of(self._trace, messages, budget.exact, exchanges=exchanges)
        axes = _axes(ax)
        from matplotlib.colors import LogNorm
        from matplotlib.ticker import MaxNLocator

        table = np.zeros((blocks.count, blocks.count))
        for row, column, *amounts in blocks.cells:
            table[row, column] = sum(amounts[MEASURES[::-1].index(what) :: 2])
        side = blocks.count * blocks.size - 0.5
        drawn = axes.imshow(
            np.ma.masked_equal(table, 0), norm=LogNorm() if table.any() else None,
            extent=(-0.5, side, side, -0.5), interpolation="nearest",
        )  # fmt: skip
        axes.figure.colorbar(drawn, ax=axes, label=what)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("to rank")
        axes.set_ylabel("from rank")
        per_block = "" if blocks.size == 1 else f", blocks of {number(blocks.size)} ranks"
        estimated = "" if blocks.exact else ", estimated"
        axes.set_title(f"{what} between ranks{CALLS_TITLES[calls]}{per_block}{estimated}")
        return axes

    def timeline(
        self,
        ranks: Sequence[int] | None = None,
        window: tuple[float, float] = (0.0, inf),
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the calls of some ranks over time, reconstructed from mean times, and up to 300 messages.

        Args:
            ranks: world ranks, at most 64; None: all of few, or some of many.
            window: seconds since the first call, without start-up.
            ax: where to draw.

        Raises:
            UsageError: a rank is not in the trace, too many ranks, or matplotlib is missing.
        """
        chosen = self._some_ranks() if ranks is None else [int(rank) for rank in ranks]
        lines = time_line(self._trace, chosen, TimelineWindow(*window))
        axes = _axes(ax)
        end_ns = max((line.bars[-1].start_ns + line.bars[-1].length_ns for line in lines.lines if line.bars),
                     default=0)  # fmt: skip
        unit, factor = next((pair for pair in UNITS if end_ns >= pair[1]), UNITS[-1])
        for row, line in enumerate(lines.lines):
            _draw_line(axes, row, line, lines, factor)
        are_drawn = len(lines.arrows) <= MAX_ARROWS
        for sender, sent, receiver, received in lines.arrows if are_drawn else ():
            start, end = lines.lines[sender].bars[sent], lines.lines[receiver].bars[received]
            done = lines.lines[receiver].bars[end.after] if end.after >= 0 else end
            times = (start.start_ns / factor, (done.start_ns + done.length_ns) / factor)
            axes.plot(times, (sender, receiver), color="black", linewidth=0.6)
        axes.set_yticks(range(len(lines.lines)), [line.name for line in lines.lines])
        axes.invert_yaxis()
        axes.set_ylabel("rank.thread" if lines.threads else "rank")
        axes.set_xlabel(f"time in {unit}" if lines.timed else "calls, all of equal length")
        if not any(line.bars for line in lines.lines):
            axes.set_title(lines.note or "no calls in this window")
        elif not are_drawn:
            axes.set_title(f"{number(len(lines.arrows))} messages not drawn: choose a shorter window")
        _legend(axes)
        return axes

    def histogram(
        self, of: str = "compute", site: str | None = None, weight: str = "samples", ax: Axes | None = None
    ) -> Axes:
        """Draw a histogram with logarithmic bins; times of start-up and shut-down are left out.

        Args:
            of: "compute": times before calls; "mpi": times in calls; "sizes": bytes of messages.
            site: a part of the operation or call site, for times; None: all calls.
            weight: height of the bars: "samples", or "total": their time in s, or their bytes.
            ax: where to draw.

        Raises:
            UsageError: an unknown choice, no such call site, no times, or matplotlib is missing.
        """
        _choose("of", of, HISTOGRAMS)
        _choose("weight", weight, ("samples", "total"))
        axes = _axes(ax)
        if of == "sizes":
            self._draw_sizes(axes, weight, site)
        else:
            drawn = self._deltas(site)
            _draw_times(axes, drawn.before if of == "compute" else drawn.inside, weight)
            quantity = "computation before" if of == "compute" else "time in"
            named = f"{drawn.operation} {short_site(drawn.site)}".strip() or "all calls"
            axes.set_title(f"{quantity} {named}")
        axes.set_xscale("log", base=2 if of == "sizes" else 10)
        return axes

    def _some_ranks(self) -> list[int]:
        messages = messages_of(self._trace, Budget())
        return some_ranks(self._trace, messages, find_grid(self._trace, messages)[0])[0]

    def _deltas(self, site: str | None) -> Deltas:
        listed = deltas_of(self._trace.without_phases)
        if not listed:
            raise UsageError("the trace has no times: record it without --stats that leave them out")
        if site is None:
            return listed[0]
        histograms = [
            histogram for histogram in listed[1:] if site in f"{histogram.operation} {histogram.site}"
        ]
        if not histograms:
            raise UsageError(
                f"site={site!r}: no call site with times contains it; see trace.stats_frame('site')"
            )
        return histograms[0]

    def _draw_sizes(self, axes: Axes, weight: str, site: str | None) -> None:
        if site is not None:
            raise UsageError("site= selects times: sizes are of all messages")
        budget = Budget()
        sizes = sizes_of(messages_of(self._trace, budget), budget.exact)
        lefts = [max(size_bin.above, 0.5) for size_bin in sizes.bins]
        heights = [size_bin.messages if weight == "samples" else size_bin.nbytes for size_bin in sizes.bins]
        widths = [size_bin.below - left for size_bin, left in zip(sizes.bins, lefts, strict=True)]
        axes.bar(lefts, heights, widths, align="edge", edgecolor="white")
        axes.set_xlabel("bytes of a message")
        axes.set_ylabel("messages" if weight == "samples" else "bytes")
        axes.set_title("sizes of messages" if sizes.exact else "sizes of messages, estimated")


def _axes(ax: Axes | None) -> Axes:
    """Return the Axes to draw into. Raises UsageError without matplotlib."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise UsageError("plots need matplotlib: pip install 'scalatrace[plot]'") from None
    return pyplot.subplots(layout="constrained")[1]


def _choose(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        hint = did_you_mean(value, choices)
        raise UsageError(f"{name}={value!r}: give {', '.join(map(repr, choices))}{hint}")


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
        colour = COLOURS.get(Category(category), OTHER_COLOUR)
        axes.broken_barh(bars, (row - 0.4, 0.8), color=colour, label=category.lower().replace("_", "-"))


def _legend(axes: Axes) -> None:
    """Add a legend with one entry per category."""
    handles, labels = axes.get_legend_handles_labels()
    named = dict(zip(labels, handles, strict=True))
    if named:
        axes.legend(named.values(), named.keys(), loc="upper left", bbox_to_anchor=(1, 1), frameon=False)


def _draw_times(axes: Axes, bins: Sequence[TimeBin], weight: str) -> None:
    edges = [
        (10 ** (time_bin.index / BINS_PER_DECADE), 10 ** ((time_bin.index + 1) / BINS_PER_DECADE))
        for time_bin in bins
    ]
    heights = [time_bin.samples if weight == "samples" else time_bin.total_ns / 1e9 for time_bin in bins]
    widths = [(high - low) / 1e9 for low, high in edges]
    axes.bar([low / 1e9 for low, _ in edges], heights, widths, align="edge", edgecolor="white")
    axes.set_xlabel("s")
    axes.set_ylabel("samples" if weight == "samples" else "s, of all ranks")
