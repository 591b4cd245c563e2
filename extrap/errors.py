"""What goes wrong in an extrapolation."""

from __future__ import annotations

from scalatrace.errors import ScalatraceError, UsageError

__all__ = ["ExtrapolationError", "InputError"]


class ExtrapolationError(ScalatraceError):
    """Something in the traces follows no rule that was found; says which event, parameter and values."""


class InputError(UsageError):
    """The traces, sizes or parameters given do not go together."""
