"""The page of runs on several numbers of ranks."""

from __future__ import annotations

from dataclasses import asdict

from scalatrace.report.page.page import rendered
from scalatrace.report.scaling.comparison import Scaling

__all__ = ["SCRIPTS", "scaling_page"]

SCRIPTS = ("dom", "format", "tooltip", "theme", "lines", "scaling")


def scaling_page(scaling: Scaling) -> str:
    """Return the page."""
    data = {"efficiencies": scaling.efficiencies, "growth": [asdict(row) for row in scaling.growth[:8]],
            "ranks": [run.nranks for run in scaling.runs], "weak": scaling.kind.name == "weak"}  # fmt: skip
    return rendered("scaling.html", SCRIPTS, data, {"s": scaling})
