"""A trace in a notebook: tables as pandas DataFrames, plots, and its description in HTML.

`scalatrace.trace.views` is the interface to `Trace`.
"""

from scalatrace.report.notebook.description import describe
from scalatrace.report.notebook.frames import (
    compare_frame,
    events_frame,
    matrix_frame,
    scaling_frame,
    stats_frame,
)
from scalatrace.report.notebook.plots import Plots as plots  # noqa: N813 - a function to those who call it

__all__ = [
    "compare_frame", "describe", "events_frame", "matrix_frame", "plots", "scaling_frame", "stats_frame",
]  # fmt: skip
