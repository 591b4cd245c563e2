"""Extend choices at measured sizes to all sizes of a communicator.

A choice reaches to the geometric middle of the next measured size, and not beyond a factor of REACH. Between
the reaches, the library decides:

    measured        8 B: ring       1 KiB: own decision                1 MiB: tree
    rules      0: -, 2: ring, 33: -                    262144: tree, 4194305: -
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, isqrt
from typing import Generic, TypeVar

__all__ = ["REACH", "SizeRule", "size_rules"]

REACH = 4
"""Factor between a measured size and the last size to which its choice extends."""

Choice = TypeVar("Choice")


@dataclass(frozen=True)
class SizeRule(Generic[Choice]):
    """A choice for sizes from `start` on, in bytes, up to the next rule; None: the library decides."""

    start: int
    choice: Choice | None


def size_rules(chosen: Mapping[int, Choice | None]) -> tuple[SizeRule[Choice], ...]:
    """Return rules for all sizes, from 0 on.

    Args:
        chosen: measured size in bytes -> choice; None: the library decides.
    """
    rules: list[SizeRule[Choice]] = [SizeRule(0, None)]
    sizes = sorted(chosen)
    for at, size in enumerate(sizes):
        choice = chosen[size]
        if choice is None:
            continue
        low, high = ceil(size / REACH), max(size, 1) * REACH + 1
        if at > 0:
            low = max(low, isqrt(sizes[at - 1] * size) + 1)
        if at + 1 < len(sizes):
            high = min(high, isqrt(size * sizes[at + 1]) + 1)
        _append(rules, SizeRule(min(low, size), choice))
        _append(rules, SizeRule(max(high, size + 1), None))
    return tuple(rules)


def _append(rules: list[SizeRule[Choice]], rule: SizeRule[Choice]) -> None:
    """Append a rule, joined with the last one where both have the same start or choice."""
    if rules[-1].start == rule.start:
        rules.pop()
    if not rules or rules[-1].choice != rule.choice:
        rules.append(rule)
