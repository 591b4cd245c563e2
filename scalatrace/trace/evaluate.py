"""What formulas say for one rank: from a part of a field to a value vector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from scalatrace.errors import FormulaError
from scalatrace.trace.compress import vec_of
from scalatrace.trace.counters import MOST_RUNS, chain_of
from scalatrace.trace.expression import evaluate
from scalatrace.trace.field import CYCLE, INDEXED, LOOPED, Part
from scalatrace.trace.from_arrays import vec_of_array
from scalatrace.trace.shapes import cycle, vec_from
from scalatrace.trace.values import Vec

__all__ = ["along", "counted", "part_of", "vec_of_part"]

MOST_VALUES = 1 << 20
"""Values of one vec that are computed one by one."""

MOST_LISTED = 1 << 12
"""Values that the general compressor takes; it needs time for each, progressions do not."""


def part_of(parts: Sequence[Part], place: Mapping[str, Any]) -> Part | None:
    """The part that counts at a place; None when none does."""
    return next((part for part in parts if evaluate(part.condition, place)), None)


def vec_of_part(part: Part, place: Mapping[str, Any], loops: tuple[Vec, ...]) -> Vec | None:
    """A part's vec at a place; None where it has no values.

    Args:
        part: of which the condition holds there.
        place: the numbers that names stand for.
        loops: how often the loops around run there, the outermost first.

    Raises:
        FormulaError: a formula has no value there, or too many.
    """
    if part.formulas is None:
        return None
    if part.shape == INDEXED:
        return counted(part.formulas[0], part.formulas[1], place)
    if part.shape == LOOPED:
        levels, text = int(part.formulas[0]), part.formulas[1]
        if levels:
            return along(text, place, loops[-levels:], len(loops) > levels)
        return Vec(int(evaluate(text, place)))
    slots = [int(evaluate(text, place)) for text in part.formulas]
    return cycle(slots) if part.shape == CYCLE else vec_from(part.shape, iter(slots))


def along(text: str, place: Mapping[str, Any], loops: tuple[Vec, ...], endless: bool) -> Vec:
    """The vec along loops; `endless`: there are more around them, so it begins again.

    Raises:
        FormulaError: it has no value, or too many.
    """
    chain = chain_of(loops)
    assert chain is not None
    if not chain.small:
        raise FormulaError(f"a value changes over more than {MOST_RUNS} executions: too many")
    if not chain.runs:
        return Vec(0)
    values = np.broadcast_to(evaluate(text, {**place, **chain.columns(0)}), (chain.runs,))
    if (values == values[0]).all():
        return Vec(int(values[0]))
    if len(values) <= MOST_LISTED:
        row = values.tolist()
        return cycle(row) if endless else vec_of(row)
    vec = vec_of_array(values)
    return Vec(((0, 0, *cast("tuple[Any, ...]", vec.terms)),)) if endless else vec


def counted(length: str, value: str, place: Mapping[str, Any]) -> Vec:
    """The vec of a value over the number of the execution. Raises FormulaError."""
    n = int(evaluate(length, place))
    if n > MOST_VALUES:
        raise FormulaError(f"a value changes over {n} executions: too many to write down")
    values = np.broadcast_to(evaluate(value, {**place, "i": np.arange(n)}), (n,))
    return vec_of(values.tolist()) if n <= MOST_LISTED else vec_of_array(values)
