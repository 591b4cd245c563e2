"""Tables of a log file: rows collected by LOGS, collapsed by COMPUTES AGGREGATES."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field

__all__ = ["LogTable", "Varies", "aggregate", "number", "quote_cell"]


class Varies(ValueError):  # noqa: N818 - it is no error of the table's
    """A value that should be the only one is not."""


def number(value: float) -> str:
    """Return a number as logs and OUTPUT show it: integers in full, others with ten digits."""
    if math.isfinite(value) and value == math.floor(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.10g}"


def quote_cell(text: str) -> str:
    """Return a string as a cell."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _sum(values: Iterable[float]) -> float:
    """Return the exact sum, rounded once; an infinity or NaN where additions have one."""
    terms = list(values)
    try:
        return math.fsum(terms)
    except (OverflowError, ValueError):
        return sum(terms)


def _deviation(values: Sequence[float]) -> float:
    return math.sqrt(_variance(values))


def _variance(values: Sequence[float]) -> float:
    mean = _sum(values) / len(values)
    return (
        _sum((value - mean) * (value - mean) for value in values) / (len(values) - 1)
        if len(values) > 1
        else 0.0
    )


def _spread(values: Sequence[float]) -> float:
    middle = statistics.median(values)
    return statistics.median(abs(value - middle) for value in values)


def _harmonic(values: Sequence[float]) -> float:
    return len(values) / _sum(1.0 / value for value in values) if all(values) else 0.0


def _geometric(values: Sequence[float]) -> float:
    return math.exp(_sum(map(math.log, values)) / len(values)) if min(values) > 0 else 0.0


_FUNCTIONS: dict[str, tuple[str, Callable[[Sequence[float]], float]]] = {
    "MEAN": ("mean", lambda values: _sum(values) / len(values)),
    "HARMONIC MEAN": ("harm. mean", _harmonic),
    "GEOMETRIC MEAN": ("geom. mean", _geometric),
    "MEDIAN": ("median", statistics.median),
    "STANDARD DEVIATION": ("std. dev.", _deviation),
    "VARIANCE": ("variance", _variance),
    "MEDIAN ABSOLUTE DEVIATION": ("med. abs. dev.", _spread),
    "SUM": ("sum", _sum),
    "MINIMUM": ("minimum", min),
    "MAXIMUM": ("maximum", max),
    "FINAL": ("final", lambda values: values[-1]),
}


def aggregate(function: str, values: Sequence[float], percent: float = 0.0) -> float:
    """Apply an aggregate function; a percentile is the smallest value that so many are not above."""
    if function != "PERCENTILE":
        return _FUNCTIONS[function][1](values)
    ordered = sorted(values)
    place = math.ceil(percent / 100.0 * len(ordered))
    return ordered[min(max(place, 1), len(ordered)) - 1]


def _title(function: str, percent: float) -> str:
    if function == "PERCENTILE":
        return f"({number(percent)}th percentile)"
    return f"({_FUNCTIONS[function][0]})"


@dataclass
class _LoggedColumn:
    label: str
    form: str
    functions: Sequence[tuple[str, float]]
    values: list[float] = field(default_factory=list)
    cells: list[list[str]] = field(default_factory=list)

    def titles(self) -> list[str]:
        if self.form == "OF":
            return [_title(*function) for function in self.functions]
        if self.form == "HISTOGRAM":
            return ["(hist. values)", "(hist. tallies)"]
        return ["(only value)" if self.form == "THE" else "(all data)"]

    def collapsed(self) -> list[list[str]]:
        """The cells that the values collected so far become."""
        if self.form == "OF":
            return [[number(aggregate(name, self.values, p))] for name, p in self.functions]
        if self.form == "HISTOGRAM":
            tallies = sorted(Counter(self.values).items())
            return [[number(value) for value, _ in tallies], [str(count) for _, count in tallies]]
        return [[number(value) for value in self.values[: 1 if self.form == "THE" else None]]]


class LogTable:
    """What one task logs in one sentence."""

    def __init__(self) -> None:
        self._columns: dict[Hashable, _LoggedColumn] = {}

    def add(
        self, key: Hashable, label: str, form: str, functions: Sequence[tuple[str, float]], value: float
    ) -> None:
        """Add a value to the column `key`; functions are (name, percent). Raises Varies."""
        column = self._columns.setdefault(key, _LoggedColumn(label, form, functions))
        if form == "THE" and column.values and column.values[0] != value:
            raise Varies(f"{number(column.values[0])}, then {number(value)}")
        column.values.append(value)

    def collapse(self) -> None:
        """Turn the values collected since the last time into rows."""
        columns = self._columns.values()
        rows = max((len(cells) for column in columns for cells in column.cells), default=0)
        for column in columns:
            if not column.values:
                continue
            column.cells = column.cells or [[] for _ in column.titles()]
            for cells, more in zip(column.cells, column.collapsed(), strict=True):
                cells += [""] * (rows - len(cells)) + more
            column.values = []

    def lines(self) -> list[str]:
        """Return the finished table, [] when nothing was logged."""
        self.collapse()
        columns = [column for column in self._columns.values() if column.cells]
        if not columns:
            return []
        heads = [
            (quote_cell(column.label), quote_cell(title)) for column in columns for title in column.titles()
        ]
        cells = [column_cells for column in columns for column_cells in column.cells]
        rows = max(map(len, cells))
        filled = [column_cells + [""] * (rows - len(column_cells)) for column_cells in cells]
        body = [",".join(row) for row in zip(*filled, strict=True)]
        return [",".join(label for label, _ in heads), ",".join(title for _, title in heads), *body]
