"""The page of `regress`: tests of new runs, evolution of each factor, efficiencies of all runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scalatrace.report.page.page import rendered
from scalatrace.report.predictions.columns import RUNS, TESTS_OF_PAGE
from scalatrace.report.predictions.verdict import (
    is_unsure,
    limit_text,
    test_rows,
    undecided_lines,
    unlikely_first,
)

__all__ = ["history_page"]

SCRIPTS = ("dom", "format", "tooltip", "theme", "lines", "history")

MAX_CHARTS = 24
"""Factors whose evolution is drawn: the total, and those with most time."""

RESULT_CLASSES = {"slower": "worse", "faster": "better"}


def history_page(data: Mapping[str, Any], in_ns: bool = True) -> str:
    """Return the page.

    Args:
        data: `runs`, `verdict`, `evolution`, `window_evolution` and `efficiency`, as `regress --json` prints.
        in_ns: whether values are times in ns.
    """
    verdict = data["verdict"]
    tests = unlikely_first(verdict)
    rows = (
        {**row, "classes": {"result": RESULT_CLASSES.get(test["result"], "dim")}}
        for test, row in zip(tests, test_rows(tests, in_ns), strict=True)
    )
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
        "verdict": verdict,
        "tests": list(rows),
        "tables": {"tests": TESTS_OF_PAGE, "runs": RUNS.without("prediction")},
        "slower": list(dict.fromkeys(test["factor"] for test in tests if test["result"] == "slower")),
        "efficiency": [{**dict.fromkeys(RUNS.names), **row} for row in efficiency],
        "hidden": max(0, len(data["evolution"]) - MAX_CHARTS),
    }
    return rendered("history.html", SCRIPTS, embedded, values)
