"""The page of `regress`: tests of new runs, evolution of each factor, efficiencies of all runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scalatrace.report.page.page import rendered
from scalatrace.report.predictions.verdict import (
    decides_nothing,
    is_unsure,
    limit_text,
    shown_from,
    undecided_lines,
)

__all__ = ["history_page"]

SCRIPTS = ("dom", "format", "tooltip", "theme", "lines", "history")

MAX_CHARTS = 24
"""Factors whose evolution is drawn: the total, and those with most time."""

EFFICIENCIES = ("parallel_efficiency", "load_balance", "communication_efficiency")


def history_page(data: Mapping[str, Any], in_ns: bool = True) -> str:
    """Return the page.

    Args:
        data: `runs`, `verdict`, `evolution`, `window_evolution` and `efficiency`, as `regress --json` prints.
        in_ns: whether values are times in ns.
    """
    verdict = data["verdict"]
    tests = sorted(verdict["tests"], key=lambda test: test["likelihood"])
    efficiency = data["efficiency"]
    embedded = {
        "runs": data["runs"],
        "evolution": data["evolution"][:MAX_CHARTS],
        "window_evolution": data["window_evolution"][:MAX_CHARTS],
        "efficiency": efficiency,
        "in_ns": in_ns,
    }
    values = {
        "runs": data["runs"],
        "limit": limit_text(verdict),
        "unsure": is_unsure(verdict),
        "undecided": list(undecided_lines(verdict)),
        "shown_from": shown_from,
        "decides_nothing": decides_nothing,
        "verdict": verdict,
        "tests": tests,
        "slower": list(dict.fromkeys(test["factor"] for test in tests if test["result"] == "slower")),
        "efficiency": efficiency,
        "efficiencies": EFFICIENCIES,
        "in_ns": in_ns,
        "hidden": max(0, len(data["evolution"]) - MAX_CHARTS),
    }
    return rendered("history.html", SCRIPTS, embedded, values)
