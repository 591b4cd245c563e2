"""Choices of what an anonymous trace keeps."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["KEPT", "AnonymizeOptions"]

KEPT = ("sites", "program", "numbers", "machine")
"""What can be kept: call sites; the command line; the integers of its arguments; hosts, ranks and cores."""


@dataclass(frozen=True, slots=True)
class AnonymizeOptions:
    """Parts that stay in an anonymous trace.

    Attributes:
        keep: words of KEPT.
        drop_parameters: whether the program's parameters go, too.
        drop_times: whether times and measurements go.
    """

    keep: frozenset[str] = frozenset()
    drop_parameters: bool = False
    drop_times: bool = False
