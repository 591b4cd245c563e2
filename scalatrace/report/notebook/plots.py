"""Plots of a trace with matplotlib.

matplotlib is an extra: pip install 'scalatrace[plot]'. All plots follow from the compressed form, as those of
the HTML page do. Each method draws into `ax`, or into a new figure, and returns the Axes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import TYPE_CHECKING

from scalatrace.report.notebook.compared_runs import COMPARED, draw_differences
from scalatrace.report.notebook.drawing import check_choice
from scalatrace.report.notebook.flames import draw_flames
from scalatrace.report.notebook.heat_maps import TIMES, draw_matrix, draw_ranks
from scalatrace.report.notebook.histograms import HISTOGRAMS, draw_histogram
from scalatrace.report.notebook.scaled_runs import SCALING, draw_scaling
from scalatrace.report.notebook.timelines import draw_time_line
from scalatrace.report.page.timeline.rows import TimelineWindow
from scalatrace.trace.exchange.matrix import CALLS, MEASURES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scalatrace.trace.model.trace import Trace

__all__ = ["Plots"]


class Plots:
    """The plots of a trace: `trace.plot`. Without matplotlib, all raise UsageError."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def matrix(self, what: str = "bytes", ax: Axes | None = None, calls: str = "all") -> Axes:
        """Draw the communication matrix as a heat map, on a logarithmic scale.

        Of more than 128 ranks, a cell stands for a block of consecutive ranks. Pairs without messages are
        grey.

        Args:
            what: "bytes" or "messages", from the rank of a row to that of a column.
            ax: where to draw.
            calls: "p2p": messages only; "collective": collectives that say who sends to whom; "all".

        Raises:
            UsageError: an unknown word, or the trace has no destinations.
            LimitError: very many ranks or different calls.
        """
        check_choice("what", what, MEASURES)
        check_choice("calls", calls, CALLS)
        return draw_matrix(self._trace, what, calls, ax)

    def ranks(self, of: str = "mpi", ax: Axes | None = None) -> Axes:
        """Draw the time of each rank on the process grid as a heat map; without start-up and shut-down.

        The grid is that of the page: of formulas, MPI_Cart_create, or distances of messages. Ranks that have
        none stand in lines. Times of ranks are known within 5 %: if they differ by less, all have one colour.

        Args:
            of: "mpi": time in MPI; "compute": computation.
            ax: where to draw.

        Raises:
            UsageError: an unknown word, or the trace has no times by rank.
        """
        check_choice("of", of, tuple(TIMES))
        return draw_ranks(self._trace, of, ax)

    def flame(self, ax: Axes | None = None) -> Axes:
        """Draw the loops of the program and the calls in them, as wide as their times over all ranks.

        The time of a call is that in it and the computation before it. Without times, widths are calls.

        Args:
            ax: where to draw.
        """
        return draw_flames(self._trace, ax)

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
            UsageError: a rank is not in the trace, or too many ranks.
        """
        return draw_time_line(self._trace, ranks, TimelineWindow(*window), ax)

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
            UsageError: an unknown choice, no such call site, or no times.
        """
        check_choice("of", of, tuple(HISTOGRAMS))
        check_choice("weight", weight, ("samples", "total"))
        return draw_histogram(self._trace, of, site, weight, ax)

    def compare(self, after: Trace, by: str = "site", ax: Axes | None = None) -> Axes:
        """Draw the computation and calls whose times differ most in another run, and say why it is slower.

        Where numbers of ranks differ, times are means of a rank, else those of all ranks.

        Args:
            after: the other run.
            by: "site" or "op".
            ax: where to draw.

        Raises:
            UsageError: an unknown word.
        """
        check_choice("by", by, COMPARED)
        return draw_differences(self._trace, after, by, ax)

    def scaling(
        self,
        others: Iterable[Trace],
        of: str = "efficiencies",
        weak: bool | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw POP efficiencies, or the speed-up, of this run and runs on other numbers of ranks.

        Args:
            others: runs on other numbers of ranks.
            of: "efficiencies": table; "speedup": line over the ranks.
            weak: the work of a rank is the same in all runs; None: judged.
            ax: where to draw.

        Raises:
            UsageError: an unknown word, no other run, two of one number of ranks, or a run without times.
        """
        check_choice("of", of, SCALING)
        return draw_scaling([self._trace, *others], of, weak, ax)
