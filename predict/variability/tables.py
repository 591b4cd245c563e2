"""Tables of measured times: a line per interval, a column per rank."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from scalatrace.errors import FormatError
from scalatrace.files import read_text

__all__ = ["read_times"]


def read_times(path: str | Path) -> npt.NDArray[np.float64]:
    """Read a CSV file of times in seconds, as `samples/variability.py` writes it; shape (intervals, ranks).

    Lines that begin with `#` are comments.

    Raises:
        FormatError: the file cannot be read, or lines differ in length, or cells are no times.
    """
    rows: list[list[float]] = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            rows.append([float(cell) for cell in line.split(",")])
        except ValueError:
            raise FormatError(f"line {number} has cells that are no numbers", path) from None
        if len(rows[-1]) != len(rows[0]):
            raise FormatError(f"line {number} has {len(rows[-1])} columns, expected {len(rows[0])}", path)
    times = np.array(rows, float)
    if not rows or not np.isfinite(times).all() or (times < 0).any():
        raise FormatError("not a table of times: a line of seconds per interval, a column per rank", path)
    return times
