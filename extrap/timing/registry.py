"""The choices of `--timing-model`: name, description, and fitting function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scalatrace.errors import UsageError
from scalatrace.spelling import did_you_mean
from scalatrace.stats.curve import Curve
from scalatrace.stats.forms import Points
from scalatrace.stats.four_models import MODELS, Thresholds, fit_dissertation
from scalatrace.stats.normal_form import fit_jointly

__all__ = ["DEFAULT", "TIMING_MODELS", "TimingModel", "timing_model"]

FitFields = Callable[[Sequence[Points]], list[Curve]]
"""Curves of one form for the fields of one histogram, the mean first."""


@dataclass(frozen=True, slots=True)
class TimingModel:
    """One choice.

    Attributes:
        description: a line of help.
        fit: fits all fields of a histogram.
        confirms: whether a function counts only if the largest trace confirms it.
    """

    name: str
    description: str
    fit: FitFields
    confirms: bool = False


TIMING_MODELS: dict[str, TimingModel] = {}
DEFAULT = "confirmed"


def timing_model(name: str | None = None) -> TimingModel:
    """Return a model by name, the default for none.

    Raises:
        UsageError: no such model.
    """
    try:
        return TIMING_MODELS[name or DEFAULT]
    except KeyError:
        known = ", ".join(TIMING_MODELS) + did_you_mean(str(name), TIMING_MODELS)
        raise UsageError(f"there is no timing model {name!r}; choose one of {known}") from None


def _add(name: str, description: str, fit: FitFields, confirms: bool = False) -> None:
    TIMING_MODELS[name] = TimingModel(name, description, fit, confirms)


def _forced(name: str) -> FitFields:
    """The fit of one of the dissertation's models."""

    def fit(fields: Sequence[Points]) -> list[Curve]:
        return [MODELS[name](points, Thresholds(s_min=0.0)).curve(points) for points in fields]

    return fit


_add(DEFAULT, "normal-form if the largest trace confirms it, else its time", fit_jointly, confirms=True)
_add("normal-form", "sums of p^(i/j) * log2(p)^k, chosen by leave-one-out error", fit_jointly)
_add("dissertation", "the best of the four below, by deviation, one per histogram", fit_dissertation)
_add("constant", "t = c", _forced("constant"))
_add("linear", "t = a * p + b", _forced("linear"))
_add("inverse", "t = k / p", _forced("inverse"))
_add("inverse+constant", "t = k / p + c", _forced("inverse+constant"))
