"""Parts of fields from the notation of trace files."""

from __future__ import annotations

from typing import Any

from scalatrace.formula import parse_condition, parse_number
from scalatrace.trace.symbolic.field import Part
from scalatrace.trace.symbolic.special_values import read


def part(
    condition: str, shape: Any, formulas: tuple[str, ...] | None, rivals: tuple[tuple[str, str], ...] = ()
) -> Part:
    """A part of a field, its formulas as texts."""
    values = None if formulas is None else tuple(map(read, formulas))
    pairs = tuple((parse_number(division), parse_number(rival)) for division, rival in rivals)
    return Part(parse_condition(condition), shape, values, pairs)
