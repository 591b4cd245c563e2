"""Judge new runs against a history: tests of the total, of each factor, and of several factors at once.

Each test compares the mean of the last r runs with the runs before: r is the number of new runs, and, in the
windowed test, a few more, which detects smaller changes that last (Cornebize §11.2.4). The probability of a
false alarm holds for all tests together: each of m tests has 1 / m of it (Bonferroni).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from scalatrace.errors import UsageError
from scalatrace.predict.regress.runs import Runs
from scalatrace.stats.mean_test import compare

__all__ = ["MIN_REFERENCE", "SEVERAL", "TOTAL", "Finding", "Verdict", "judge"]

MIN_REFERENCE = 4
"""Runs before the new ones, at least."""

MIN_NOTED_CHANGE = 0.1
"""Slower factors are named beside "no regression" from this change on."""

RUNS_PER_FACTOR = 3
"""Reference runs per factor of the common test: with fewer, its prediction region is too large for use."""

TOTAL, SEVERAL = "total", "several"
"""Names of the tests of the sum of all factors, and of several factors at once."""


@dataclass(frozen=True)
class Finding:
    """One test.

    Attributes:
        factor: of which the mean was tested; TOTAL, or SEVERAL.
        factors: those of a common test, else only `factor`.
        nnew, nreference: r and n of the test.
        reference, new: means of both sets; of a common test, sums over its factors.
        low, high: fluctuation interval at the level of one test; None for a common test.
        likelihood: of a mean at least as far away, if nothing changed.
        detectable: least increase that these runs show, as a part of the reference mean; None for a common
            test.
        anomaly: whether the likelihood is below the level of one test.
    """

    factor: str
    factors: tuple[str, ...]
    nnew: int
    nreference: int
    reference: float
    new: float
    low: float | None
    high: float | None
    likelihood: float
    detectable: float | None
    anomaly: bool

    @property
    def change(self) -> float:
        """The new mean over that of the reference, minus 1; infinite where the reference is 0."""
        if self.reference == 0:
            return 0.0 if self.new == 0 else float("inf")
        return self.new / self.reference - 1


@dataclass(frozen=True)
class Verdict:
    """All tests, and the level of each.

    Attributes:
        confidence: probability of no false alarm in all tests together, at least.
        level: likelihood below which one test reports an anomaly.
        min_change: smaller changes are no regressions.
    """

    findings: tuple[Finding, ...]
    confidence: float
    level: float
    min_change: float

    @property
    def regressions(self) -> list[Finding]:
        """Anomalies that take longer."""
        return [f for f in self.findings if f.anomaly and f.change > self.min_change]

    @property
    def improvements(self) -> list[Finding]:
        """Anomalies that take less time."""
        return [f for f in self.findings if f.anomaly and f.change < -self.min_change]

    @property
    def undecided(self) -> list[Finding]:
        """Factors that take clearly longer, but no longer than runs vary; the largest change of each."""
        largest: dict[str, Finding] = {}
        slower = {f.factor for f in self.regressions}
        for f in self.findings:
            is_slow = f.factor not in (SEVERAL, *slower) and f.change > max(MIN_NOTED_CHANGE, self.min_change)
            if is_slow and f.change > largest.get(f.factor, f).change - 1e-12:
                largest[f.factor] = f
        return sorted(largest.values(), key=lambda f: -f.change)

    def plain(self) -> dict[str, Any]:
        """Return it as plain data; a change from 0 is None."""
        return {
            "confidence": self.confidence,
            "level": self.level,
            "regression": bool(self.regressions),
            "undecided": [self._plain(f) for f in self.undecided],
            "tests": [self._plain(f) for f in self.findings],
        }

    def _plain(self, finding: Finding) -> dict[str, Any]:
        detectable = finding.detectable
        if detectable is not None:
            detectable = max(detectable, self.min_change) if isfinite(detectable) else None
        return asdict(finding) | {
            "change": finding.change if isfinite(finding.change) else None,
            "detectable": detectable,
            "result": self._describe_result(finding),
        }

    def _describe_result(self, finding: Finding) -> str:
        if finding in self.regressions:
            return "slower"
        return "faster" if finding in self.improvements else "as before"


def judge(
    runs: Runs,
    nnew: int = 1,
    confidence: float = 0.99,
    window: int | None = 5,
    max_factors: int | None = None,
    min_change: float = 0.0,
) -> Verdict:
    """Test the last runs against those before.

    Args:
        runs: in the order of time; factors in the order of their importance.
        nnew: how many of them are new.
        confidence: probability of no false alarm, of all tests together.
        window: runs of the windowed test; None: without. It needs MIN_REFERENCE runs before the window.
        max_factors: of the common test; None: a third of the number of reference runs.
        min_change: changes of less, as a part of the mean, are no regressions.

    Raises:
        UsageError: too few runs, or a number out of range.
    """
    if not 0 < confidence < 1:
        raise UsageError(f"confidence {confidence:g}: give a probability between 0 and 1, such as 0.99")
    if len(runs.names) - nnew < MIN_REFERENCE:
        raise UsageError(
            f"{len(runs.names) - nnew} runs before the {nnew} new: at least {MIN_REFERENCE} are needed"
        )
    sizes = [nnew]
    if window is not None and window > nnew and len(runs.names) - window >= MIN_REFERENCE:
        sizes.append(window)
    tests = [(columns, name, r) for r in sizes for name, columns in _sets(runs, r, max_factors)]
    level = (1 - confidence) / len(tests)
    findings = tuple(_compare_runs(runs, name, columns, r, level) for columns, name, r in tests)
    return Verdict(findings, confidence, level, min_change)


def _sets(runs: Runs, nnew: int, max_factors: int | None) -> list[tuple[str, list[int]]]:
    """Return the columns of each test."""
    every = list(range(len(runs.factors)))
    single = [(name, [column]) for column, name in enumerate(runs.factors)]
    total = [(TOTAL, every)] if len(every) > 1 else []
    reference = runs.values[: len(runs.names) - nnew]
    varying = [column for column in every if np.ptp(reference[:, column]) > 0]
    largest = len(reference) // RUNS_PER_FACTOR if max_factors is None else max_factors
    several = varying[: min(largest, len(reference) - 1)]
    return total + single + ([(SEVERAL, several)] if len(several) > 1 else [])


def _compare_runs(runs: Runs, name: str, columns: list[int], nnew: int, level: float) -> Finding:
    chosen = runs.values[:, columns]
    values: npt.NDArray[np.float64] = chosen if name == SEVERAL else chosen.sum(axis=1, keepdims=True)
    split = len(values) - nnew
    test = compare(values[:split], values[split:], 1 - level)
    names = tuple(runs.factors[column] for column in columns) if name == SEVERAL else (name,)
    return Finding(name, names, nnew, split, **asdict(test), anomaly=test.likelihood < level)
