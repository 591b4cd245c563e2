"""EMMA: the expected maximum of several samples of a distribution (Sun and Peterson 2012)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scalatrace.errors import UsageError

__all__ = ["EMMA_P", "emma"]

EMMA_P = 0.570376002
"""exp(-exp(-gamma)): the mean of a maximum is near this quantile of its distribution."""


def emma(quantile: Callable[[float], Any], m: float) -> float:
    """Return about what the largest of m samples is expected to be, F^-1(0.570376002^(1/m)).

    Args:
        quantile: F^-1 of the samples' distribution.
        m: how many samples, above 0; not necessarily a whole number when the samples are maxima themselves.
    """
    if m <= 0:
        raise UsageError(f"a maximum is of more than {m} samples")
    return float(quantile(EMMA_P ** (1 / m)))
