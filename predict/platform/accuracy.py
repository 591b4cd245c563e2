"""How far runs on a platform are from their predictions, as its checks show.

The logarithm of measured over predicted time is taken as normal. The interval of the next run is the
prediction interval of a normal sample, with Student's t (Montgomery, Runger 2018, section 8-6). Drawn runs of
the program widen it. The checks contain how much their own programs vary, so the interval is rather too wide.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scalatrace.predict.platform.model import Platform, PlatformCheck
from scalatrace.stats.mean_test import prediction_halfwidth

__all__ = ["MIN_CHECKS", "Accuracy", "accuracy_of"]

MIN_CHECKS = 3
"""Fewer do not show how much predictions vary."""

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Accuracy:
    """Measured over predicted time of some checks.

    Attributes:
        log_mean, log_deviation: of the logarithms.
        low, high: the least and the largest ratio.
    """

    count: int
    log_mean: float
    log_deviation: float
    low: float
    high: float

    def factors(self, own_deviation: float = 0.0) -> tuple[float, float]:
        """Return the factors on a predicted time between which a run is with 95 % confidence.

        Args:
            own_deviation: standard deviation of the logarithm of the predicted times of drawn runs.
        """
        by_checks = prediction_halfwidth(self.log_deviation, self.count, 1, CONFIDENCE)
        deviations = statistics.NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
        reach = math.hypot(by_checks, deviations * own_deviation)
        return math.exp(self.log_mean - reach), math.exp(self.log_mean + reach)


def accuracy_of(platform: Platform, nranks: int) -> Accuracy | None:
    """Return the accuracy by the checks with the nearest numbers of ranks; None: there are too few checks."""
    chosen = _nearest(platform.checks, nranks)
    if len(chosen) < MIN_CHECKS:
        return None
    ratios = [check.ratio for check in chosen]
    logs = [math.log(ratio) for ratio in ratios]
    return Accuracy(len(logs), statistics.fmean(logs), statistics.stdev(logs), min(ratios), max(ratios))


def _nearest(checks: Sequence[PlatformCheck], nranks: int) -> list[PlatformCheck]:
    """The checks that are as near as the last of the nearest MIN_CHECKS; ranks compare by their ratio."""
    distances = [abs(math.log2(check.ranks / nranks)) for check in checks]
    limit = sorted(distances)[:MIN_CHECKS][-1:]
    return [check for check, far in zip(checks, distances, strict=True) if limit and far <= limit[0] + 1e-9]
