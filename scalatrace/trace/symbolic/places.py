"""Group the places of a grid at which formulas have equal values, without a value vector for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from scalatrace.errors import ScalatraceError
from scalatrace.formula import Value, names_in
from scalatrace.trace.symbolic.counters import chain_of, is_counter
from scalatrace.trace.symbolic.field import INDEXED, LOOPED, Part, levels_of
from scalatrace.trace.symbolic.special_values import evaluate
from scalatrace.trace.values.from_arrays import Ints, distinct
from scalatrace.trace.values.vec import Vec

__all__ = ["equal_places"]

MAX_EVALUATIONS = 1 << 28
"""Values that are computed of one formula, over all places and executions."""

Loops = tuple[Vec, ...] | None
"""How often the loops around run, the outermost first; None: not all of them run."""


def equal_places(
    parts: Sequence[Part],
    place: Mapping[str, Any],
    loop_class: Ints,
    loops: Sequence[Loops],
    max_classes: int,
) -> tuple[Ints, Ints] | None:
    """Return the first place of each class of equal values, and the class number of each place.

    Places in one class have equal values; the values of two classes may be equal.

    Args:
        parts: conditions with formulas; the first whose condition holds counts.
        place: the numbers that names stand for, or arrays with one for each place.
        loop_class: for each place the number of its entry in `loops`.

    Returns:
        None if there are more than `max_classes`, if they take too many evaluations, or if a formula has no
        value at a place.
    """
    nplaces, nclasses = len(loop_class), 0
    result = np.zeros(nplaces, dtype=np.int64)
    try:
        part_of = _part_numbers(parts, place, nplaces)
        one_of, group_of = distinct(np.array([part_of, loop_class]))
        for group, one in enumerate(one_of.tolist()):
            mine = np.flatnonzero(group_of == group)
            like = np.zeros(len(mine), dtype=np.int64)
            own = {name: value[mine] if np.ndim(value) else value for name, value in place.items()}
            part = parts[part_of[one]] if part_of[one] >= 0 else None
            for column in _columns(part, own, loops[loop_class[one]]):
                first, like = distinct(np.array([like, np.broadcast_to(column, mine.shape)]))
                if len(first) > max_classes:
                    return None
            result[mine] = nclasses + like
            nclasses += int(like.max()) + 1
    except (ScalatraceError, ValueError, RecursionError, _TooManyError):
        return None
    return distinct(result[None])


class _TooManyError(Exception):
    """Internal signal: more evaluations than MAX_EVALUATIONS."""


def _part_numbers(parts: Sequence[Part], place: Mapping[str, Any], nplaces: int) -> Ints:
    """Return the part that counts at each place; -1 for none."""
    number = np.full(nplaces, -1)
    for i, part in enumerate(parts):
        holds = np.broadcast_to(np.asarray(evaluate(part.condition, place), dtype=bool), (nplaces,))
        number[holds & (number < 0)] = i
    return number


def _columns(part: Part | None, place: Mapping[str, Any], loops: Loops) -> Iterator[Any]:
    """Yield the integers that determine the value vector of a part at each place."""
    if part is None or part.formulas is None:
        return
    if part.shape == INDEXED:
        length, value = part.formulas
        lengths = evaluate(length, place)
        yield lengths
        longest = int(np.max(lengths))
        _check(longest, place)
        yield from _over(value, place, {"i": np.arange(longest)})
    elif part.shape == LOOPED and (levels := levels_of(part)):
        if loops is None:
            return
        chain = chain_of(loops[-levels:])
        assert chain is not None
        if not chain.small:
            raise _TooManyError
        if chain.runs:
            yield from _over(part.formulas[1], place, chain.columns(0))
    elif part.shape == LOOPED:
        yield evaluate(part.formulas[1], place)
    else:
        yield from (evaluate(formula, place) for formula in part.formulas)


def _over(formula: Value, place: Mapping[str, Any], counters: Mapping[str, Ints]) -> Iterator[Any]:
    """Yield the values of a formula, for each combination of the counters that it uses."""
    names = [name for name in sorted(names_in(formula)) if is_counter(name) and name in counters]
    if not names:
        yield evaluate(formula, place)
        return
    rows = np.unique(np.array([counters[name] for name in names]), axis=1).T
    _check(len(rows), place)
    for row in rows.tolist():
        yield evaluate(formula, {**place, **dict(zip(names, row, strict=True))})


def _check(evaluations: int, place: Mapping[str, Any]) -> None:
    """Raise _TooManyError if a formula is evaluated too often at these places."""
    if evaluations * max(map(np.size, place.values()), default=1) > MAX_EVALUATIONS:
        raise _TooManyError
