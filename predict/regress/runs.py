"""Tables of runs: a row per run in the order of time, a column per factor (time of a call site)."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from scalatrace.errors import FormatError, UsageError
from scalatrace.files import read_text, write_file
from scalatrace.spelling import did_you_mean

__all__ = ["OTHER", "Runs", "read_table", "write_table"]

OTHER = "other"
"""The factor that sums those with a small share."""


@dataclass(frozen=True)
class Runs:
    """Runs in the order of time.

    Attributes:
        names: of the runs.
        factors: names of the columns.
        values: shape (runs, factors).
    """

    names: tuple[str, ...]
    factors: tuple[str, ...]
    values: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.names), len(self.factors)):
            raise UsageError(f"{len(self.names)} runs and {len(self.factors)} factors need as many values")

    @classmethod
    def of(cls, rows: Iterable[tuple[str, Mapping[str, float]]]) -> Runs:
        """Make a table of the factors of each run; a factor that a run does not have is 0 there."""
        listed = list(rows)
        factors = tuple(dict.fromkeys(name for _, row in listed for name in row))
        values = [[row.get(name, 0.0) for name in factors] for _, row in listed]
        table = np.array(values, float).reshape(len(listed), len(factors))
        return cls(tuple(name for name, _ in listed), factors, table)

    def gathered(self, min_share: float) -> Runs:
        """Sum the factors whose share is below `min_share` in every run into one, called OTHER."""
        totals = np.maximum(self.values.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        large = (self.values / totals >= min_share).any(axis=0)
        if large.sum() >= len(self.factors) - 1:
            return self
        small = self.values[:, ~large].sum(axis=1, keepdims=True)
        names = tuple(name for name, is_large in zip(self.factors, large, strict=True) if is_large)
        return Runs(self.names, (*names, OTHER), np.hstack([self.values[:, large], small]))

    def ordered(self) -> Runs:
        """Put the factors with the largest means first."""
        order = np.argsort(-self.values.mean(axis=0), kind="stable")
        return Runs(self.names, tuple(self.factors[i] for i in order), self.values[:, order])

    def selected(self, since: str | None = None, without: Collection[str] = ()) -> Runs:
        """Drop the runs before one, and outliers. Raises UsageError for a name that no run has."""
        for name in (*without, *([since] if since is not None else [])):
            if name not in self.names:
                names = ", ".join(self.names) + did_you_mean(name, self.names)
                raise UsageError(f"{name}: no such run; the runs are {names}")
        start = 0 if since is None else self.names.index(since)
        kept = [i for i, name in enumerate(self.names) if i >= start and name not in without]
        return Runs(tuple(self.names[i] for i in kept), self.factors, self.values[kept])

    @property
    def totals(self) -> npt.NDArray[np.float64]:
        """The sum of the factors of each run."""
        sums: npt.NDArray[np.float64] = self.values.sum(axis=1)
        return sums


def read_table(path: str | Path) -> Runs:
    """Read a CSV table: a header, then a line per run, its name first.

    Raises:
        FormatError: the file cannot be read, or a line has other columns or no numbers.
    """
    lines = [line for line in csv.reader(io.StringIO(read_text(path))) if line]
    if len(lines) < 2 or len(lines[0]) < 2:
        raise FormatError("not a table of runs: expected a header `run,FACTOR,...` and a line per run", path)
    header, rows = lines[0], lines[1:]
    values = [_numbers(row, len(header), number, path) for number, row in enumerate(rows, 2)]
    return Runs(tuple(row[0] for row in rows), tuple(header[1:]), np.array(values, float))


def _numbers(row: Sequence[str], ncolumns: int, number: int, path: str | Path) -> list[float]:
    if len(row) != ncolumns:
        raise FormatError(f"row {number} has {len(row)} columns, expected {ncolumns}", path)
    try:
        result = [float(cell) for cell in row[1:]]
    except ValueError:
        raise FormatError(f"row {number} has cells that are no numbers", path) from None
    if not np.isfinite(result).all():
        raise FormatError(f"row {number} has values that are not finite", path)
    return result


def write_table(path: str | Path, runs: Runs) -> None:
    """Write a CSV table that `read_table` reads. Raises ScalatraceError."""
    text = io.StringIO()
    rows = zip(runs.names, runs.values.tolist(), strict=True)
    csv.writer(text, lineterminator="\n").writerows(
        [["run", *runs.factors], *([name, *row] for name, row in rows)]
    )
    write_file(path, text.getvalue().encode())
