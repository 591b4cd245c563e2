"""What the tests of `regress` cannot show, in words: for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from scalatrace.escapes import clean
from scalatrace.report.style import duration
from scalatrace.stats.interval_width import is_vague

__all__ = ["is_unsure", "limit_text", "test_rows", "undecided_lines", "unlikely_first", "value_text"]

MAX_SURE = 0.2
"""Detectable change of the total beyond which "no regression" says little."""

MAX_NAMED = 5
"""Slower factors that are named beside the verdict."""

AS_BEFORE = "as before"


def unlikely_first(verdict: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the tests, those first whose results are least likely without a change."""
    return sorted(verdict["tests"], key=lambda test: test["likelihood"])


def value_text(value: float, in_ns: bool) -> str:
    """Return the value of a factor, a time or any other number."""
    return duration(value) if in_ns else f"{value:.5g}"


def test_rows(tests: Iterable[Mapping[str, Any]], in_ns: bool) -> Iterator[dict[str, Any]]:
    """Yield tests with the columns of TESTS, times or other numbers as text."""
    for test in tests:
        means = {name: value_text(test[name], in_ns) for name in ("reference", "new")}
        interval = None
        if test["low"] is not None and not decides_nothing(test):
            interval = f"{value_text(test['low'], in_ns)} .. {value_text(test['high'], in_ns)}"
        name = test["factor"] if len(test["factors"]) == 1 else f"{len(test['factors'])} factors at once"
        note = shown_from(test)
        result = f"{test['result']}; {note}" if note else test["result"]
        yield {**test, **means, "factor": name, "expected": interval, "result": result}


def decides_nothing(test: Mapping[str, Any]) -> bool:
    """Return whether runs differ so much that a test without result says nothing (`is_vague`)."""
    is_unchanged = test["result"] == AS_BEFORE and test["detectable"] is not None
    return is_unchanged and is_vague(test["low"], test["high"])


def shown_from(test: Mapping[str, Any]) -> str:
    """Return the changes that a test without result would show; empty for others, and for several factors."""
    if test["result"] != AS_BEFORE or test["detectable"] is None:
        return ""
    nruns = test["nreference"] + test["nnew"]
    if decides_nothing(test):
        return f"{nruns} runs differ too much to tell a change from chance"
    return f"{nruns} runs show only changes above {_share(test['detectable'])}"


def limit_text(verdict: Mapping[str, Any]) -> str:
    """Return the changes of the first factor, the total if there are several, that would be regressions."""
    first = next(iter(verdict["tests"]), None)
    shown = "" if first is None else shown_from(first)
    return f"{clean(first['factor'])}: {shown}" if first and shown else ""


def is_unsure(verdict: Mapping[str, Any]) -> bool:
    """Return whether "no regression" says little: factors are slower, or runs vary a lot."""
    detectable = verdict["tests"][0]["detectable"] if verdict["tests"] else None
    return bool(verdict["undecided"]) or detectable is None or detectable > MAX_SURE


def undecided_lines(verdict: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines on factors that are slower in the new runs, but within what runs vary."""
    for test in verdict["undecided"][:MAX_NAMED]:
        name, change = clean(test["factor"]), _format_change(test["change"])
        yield f"slower, perhaps by chance: {name} {change}; {shown_from(test)}"
    if (more := len(verdict["undecided"]) - MAX_NAMED) > 0:
        yield f"slower, perhaps by chance: {more} more"


def _share(change: float) -> str:
    """Return a change in percent, with two digits."""
    return f"{100 * round(change, 9):.2g} %" if change < 0.995 else f"{100 * change:,.0f} %"


def _format_change(change: float | None) -> str:
    return "from 0" if change is None else f"{change:+.0%}"
