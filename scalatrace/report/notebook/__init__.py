"""A trace in a notebook: tables as pandas DataFrames, plots, and its description in HTML.

`scalatrace.trace.views` is the interface to `Trace`.
"""

from scalatrace.report.notebook.description import describe
from scalatrace.report.notebook.frames import events_frame, matrix_frame, stats_frame
from scalatrace.report.notebook.plots import Plots as plots  # noqa: N813 - a function to those who call it

__all__ = ["describe", "events_frame", "matrix_frame", "plots", "stats_frame"]
