"""Evolution of factors over the runs, with the fluctuation interval of each run (Cornebize §11.2.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scalatrace.predict.regress.runs import Runs
from scalatrace.predict.regress.verdict import MIN_REFERENCE, TOTAL
from scalatrace.stats.mean_test import compare

__all__ = ["Evolution", "evolution"]


@dataclass(frozen=True)
class Evolution:
    """A factor over the runs; None where too few runs lie before.

    Attributes:
        values: means of the last `window` runs up to each run.
        low, high: fluctuation interval from the runs before the window.
        likelihood: of a mean at least as far away, if nothing changed.
    """

    factor: str
    window: int
    values: tuple[float | None, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    likelihood: tuple[float | None, ...]

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"factor": self.factor, "window": self.window} | {
            name: list(getattr(self, name)) for name in ("values", "low", "high", "likelihood")
        }


def evolution(runs: Runs, confidence: float, window: int = 1) -> list[Evolution]:
    """Return the evolution of the total and of each factor.

    Args:
        confidence: probability that a mean lies in its interval; of one test, as in the plots of Cornebize.
        window: runs of each mean.
    """
    columns = [(name, runs.values[:, i]) for i, name in enumerate(runs.factors)]
    if len(columns) > 1:
        columns.insert(0, (TOTAL, runs.totals))
    return [_evolution(name, values, confidence, window) for name, values in columns]


def _evolution(name: str, values: npt.NDArray[np.float64], confidence: float, window: int) -> Evolution:
    points = [_point(values, end, confidence, window) for end in range(1, len(values) + 1)]
    mean, low, high, likelihood = zip(*points, strict=True) if points else ((), (), (), ())
    return Evolution(name, window, mean, low, high, likelihood)


def _point(
    values: npt.NDArray[np.float64], end: int, confidence: float, window: int
) -> tuple[float | None, float | None, float | None, float | None]:
    """Return mean, interval and likelihood of the window that ends before a run."""
    start = end - window
    if start < 0:
        return None, None, None, None
    if start < MIN_REFERENCE:
        return float(values[start:end].mean()), None, None, None
    test = compare(values[:start, None], values[start:end, None], confidence)
    return test.new, test.low, test.high, test.likelihood
