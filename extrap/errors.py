"""Errors of extrapolation."""

from __future__ import annotations

from scalatrace.errors import FormulaError, UsageError

__all__ = ["ExtrapolationError", "InputError"]


class ExtrapolationError(FormulaError):
    """Something in the traces follows no formula that was found; says which event, parameter and values."""


class InputError(UsageError):
    """The traces, sizes or parameters given do not go together."""
