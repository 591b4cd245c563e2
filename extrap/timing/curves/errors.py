"""Errors of timing models."""

from __future__ import annotations

from scalatrace.errors import UsageError

__all__ = ["TimingError"]


class TimingError(UsageError):
    """Too few points, scales that are not positive, a model that is not there."""
