"""Values measured at several scales, the input of every timing model.

A scale is the number of ranks P, or several parameters such as (n, P).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scalatrace.extrap.timing.curves.errors import TimingError

__all__ = ["ROUNDING", "TINY", "Array", "Points", "Scale", "as_row"]

Array = npt.NDArray[np.float64]
Scale = float | Sequence[float]
"""P alone, or one number per parameter."""

ROUNDING = 2.0**-11
"""Least relative error of every value: the file rounds means of times (docs/reference/format.md)."""


def as_row(scale: Scale) -> tuple[float, ...]:
    """Return a scale as one number per parameter."""
    return tuple(float(x) for x in scale) if isinstance(scale, Sequence) else (float(scale),)


TINY = 1e-30
"""Where all values are 0 their errors are this: 0 would weigh infinitely."""


@dataclass(frozen=True, slots=True)
class Points:
    """One quantity at several scales.

    Attributes:
        scales: a row per point, a column per parameter; all positive.
        values: in any unit.
        errors: standard error of each value in that unit, at least what rounding does.
        known: the errors were measured; otherwise they are only the rounding.
        names: of the parameters, for formulas; "p" when there is one and nothing else was said.
    """

    scales: Array
    values: Array
    errors: Array
    known: bool
    names: tuple[str, ...]

    @classmethod
    def of(
        cls,
        scales: Sequence[Scale],
        values: Sequence[float],
        errors: Sequence[float] | None = None,
        names: Sequence[str] = (),
    ) -> Points:
        """Check and convert.

        Raises:
            TimingError: no points, or numbers that no model can take.
        """
        rows = [as_row(scale) for scale in scales]
        y = np.array(values, float)
        if not rows or len(rows) != len(y) or len({len(row) for row in rows}) != 1:
            raise TimingError(f"{len(rows)} scales and {len(y)} values: one of each per trace is needed")
        x = np.array(rows)
        if not (np.isfinite(x).all() and np.isfinite(y).all()) or (x <= 0).any():
            raise TimingError("scales must be positive and values finite numbers")
        width = x.shape[1]
        labels = tuple(names) or (("p",) if width == 1 else ("n", "p") if width == 2 else ())
        if len(labels) != width:
            raise TimingError(f"{width} parameters need {width} names, not {len(labels)}")
        return cls(x, y, _errors(y, errors), errors is not None and any(errors), labels)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def top(self) -> Array:
        """The largest value of each parameter."""
        top: Array = self.scales.max(axis=0)
        return top


def _errors(values: Array, errors: Sequence[float] | None) -> Array:
    """Standard errors with the rounding in them."""
    given = np.zeros(len(values)) if errors is None else np.array(errors, float)
    if len(given) != len(values) or not np.isfinite(given).all() or (given < 0).any():
        raise TimingError("errors must be numbers from 0, one per value")
    largest = float(np.abs(values).max())
    floor = ROUNDING * np.maximum(np.abs(values), 1e-3 * largest) + TINY
    total: Array = np.hypot(given, floor)
    return total
