"""Interfaces of what higher packages do for a trace: notebook views (tables, plots, HTML), and simulation.

`scalatrace/__init__.py` registers both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pandas as pd


__all__ = ["Views", "ideal_time_ns", "register_simulation", "register_views", "views"]


class Views(Protocol):
    """Tables, plots and the description of a `Trace`; `scalatrace.report.notebook` has them."""

    def events_frame(self, trace: Any, rank: int, limit: int | None = None) -> pd.DataFrame:
        """Return the calls of a rank."""

    def stats_frame(self, trace: Any, by: str = "op") -> pd.DataFrame:
        """Return calls, bytes and times."""

    def matrix_frame(self, trace: Any, what: str = "bytes", calls: str = "all") -> pd.DataFrame:
        """Return the communicating pairs of ranks."""

    def compare_frame(self, trace: Any, after: Any, by: str = "site") -> pd.DataFrame:
        """Return the times that differ between two runs."""

    def scaling_frame(self, trace: Any, others: Sequence[Any], weak: bool | None = None) -> pd.DataFrame:
        """Return the efficiencies of runs on several numbers of ranks."""

    def plots(self, trace: Any) -> Any:
        """Return the plots of the trace."""

    def describe(self, trace: Any) -> str | None:
        """Return the description in HTML; None where the trace contradicts itself."""


_factory: list[Callable[[], Views]] = []


def register_views(find: Callable[[], Views]) -> None:
    """Use the views that a function returns. It is called when they are needed."""
    _factory[:] = [find]


def views() -> Views:
    """Return the registered views."""
    return _factory[0]()


_simulation: list[Callable[[Any], float | None]] = []


def register_simulation(find_ideal_time_ns: Callable[[Any], float | None]) -> None:
    """Use a function that gives `ideal_time_ns`."""
    _simulation[:] = [find_ideal_time_ns]


def ideal_time_ns(trace: Any) -> float | None:
    """Return the run time of a trace on a network that takes no time, in ns; None: it cannot be simulated."""
    return _simulation[0](trace)
