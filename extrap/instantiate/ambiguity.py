"""Refuse values that the traces do not determine: formulas with a rival that gives another value here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from scalatrace.errors import FormulaError
from scalatrace.extrap.errors import UndeterminedError, UndeterminedPeerError
from scalatrace.extrap.instantiate.ranks import Mask, Ranks
from scalatrace.formula import Choose, Const, Expr, Value, names_in
from scalatrace.formula.rewrite import Substitution
from scalatrace.trace.model import elastic
from scalatrace.trace.model.elastic import Elastic
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.symbolic import ParamRule
from scalatrace.trace.symbolic.counters import is_counter
from scalatrace.trace.symbolic.evaluate import part_of, vec_of_part
from scalatrace.trace.symbolic.field import Field, Part

MAX_COMPARED = 64
"""Peers of one rank that are compared."""

Decode = Callable[[Encoding, int], int]
"""The rank that an encoded peer is."""

__all__ = ["Decode", "check_encodings", "undetermined"]


def undetermined(
    ranks: Ranks, field: Field, mask: Mask, around: tuple[Elastic, ...], corners: Iterable[int]
) -> Iterator[tuple[Part, UndeterminedError]]:
    """Compare all formulas of a field with their rivals: those that differ, each with its part.

    Args:
        ranks: of the grid.
        field: with the rivals of its parts.
        mask: the ranks that have a value.
        around: the repeats of the loops around it.
        corners: ranks for which values that change from call to call are compared.
    """
    if not any(part.rivals for part in field.parts):
        return
    for part, mine in ranks.divided(field, mask):
        for formula, rival in part.rivals:
            where = mask if _is_condition(formula) else mine
            rank = _first_difference(ranks, part, where, (formula, rival), around, corners)
            if rank is not None:
                yield part, UndeterminedError(formula, rival, rank, ranks.grid)


def check_encodings(
    ranks: Ranks,
    rule: ParamRule,
    mask: Mask,
    around: tuple[Elastic, ...],
    corners: Iterable[int],
    decoder: Callable[[int], Decode | None],
) -> None:
    """Compare the peers of some ranks with those that fields in other encodings give.

    Args:
        ranks, mask, around, corners: as in `undetermined`.
        rule: of the peers, with its rivals.
        decoder: of a rank's peers; None: its place in the communicator is not known.

    Raises:
        UndeterminedPeerError: two of them differ; says on which rank.
    """
    for rank in corners if rule.rivals else ():
        decode = decoder(rank) if mask[rank] else None
        if decode is None:
            continue
        peers = _peers(ranks, rule.field, rule.encoding or Encoding.ABSOLUTE, rank, around, decode)
        for encoding, field in rule.rivals if peers is not None else ():
            others = _peers(ranks, field, encoding, rank, around, decode)
            pairs = zip(peers or (), others or (), strict=False)
            if (first := next((pair for pair in pairs if pair[0] != pair[1]), None)) is not None:
                raise UndeterminedPeerError(*first, rank, ranks.grid)


def _peers(
    ranks: Ranks, field: Field, encoding: Encoding, rank: int, around: tuple[Elastic, ...], decode: Decode
) -> list[int] | None:
    """Return the first peers of a rank by a field; None where it has none."""
    place = dict(_place(ranks, rank))
    loops = tuple(vec for repeat in around if (vec := elastic.at(repeat, rank)) is not None)
    if len(loops) < len(around):
        return None
    try:
        part = part_of(field.parts, place)
        vec = None if part is None else vec_of_part(part, place, loops)
    except FormulaError:
        return None  # refused elsewhere
    return None if vec is None else [decode(encoding, value) for value in islice(vec, MAX_COMPARED)]


def _is_condition(formula: Expr) -> bool:
    """Return whether it is 1 where a part counts, and 0 elsewhere."""
    return isinstance(formula, Choose) and (formula.then, formula.otherwise) == (Const(1), Const(0))


def _first_difference(
    ranks: Ranks,
    part: Part,
    mine: Mask,
    pair: tuple[Expr, Expr],
    around: tuple[Elastic, ...],
    corners: Iterable[int],
) -> int | None:
    """Return a rank on which two formulas of a part differ."""
    wrong = mine if any(map(_varies, pair)) else mine & ranks.differing(*pair)
    changed = [(one, _in_context(one, pair)) for one in part.formulas or ()]
    pairs = [both for both in changed if both[0] != both[1]] or [pair]  # or those of a condition
    if not wrong.any() or not any(_varies(one) for both in pairs for one in both):
        found = [
            ranks.differing(old, new) for old, new in pairs if isinstance(old, Expr) and isinstance(new, Expr)
        ]
        wrong = wrong & np.any(found, 0) if found else wrong
        return int(wrong.argmax()) if wrong.any() else None
    other = replace(part, formulas=tuple(new for _, new in changed))
    chosen = [rank for rank in corners if wrong[rank]]
    chosen += np.flatnonzero(wrong)[: MAX_COMPARED - len(chosen)].tolist()
    return next((rank for rank in chosen if _differ(ranks, part, other, rank, around)), None)


def _varies(formula: Value) -> bool:
    """Return whether a formula changes from execution to execution."""
    return any(map(is_counter, names_in(formula)))


def _in_context(formula: Value, pair: tuple[Expr, Expr]) -> Value:
    """Return a formula with the rival wherever the first of a pair stands: the rest of it may be 0 there."""
    if not isinstance(formula, Expr):
        return formula
    return Substitution({}, parts=dict([pair])).number(formula)


def _differ(ranks: Ranks, part: Part, other: Part, rank: int, around: tuple[Elastic, ...]) -> bool:
    """Return whether two parts give a rank different values over its calls."""
    place = dict(_place(ranks, rank))
    loops = tuple(vec for repeat in around if (vec := elastic.at(repeat, rank)) is not None)
    if len(loops) < len(around):
        return False  # the rank does not come here
    try:
        expected = vec_of_part(part, place, loops)
    except FormulaError:
        return False  # refused elsewhere
    try:
        return vec_of_part(other, place, loops) != expected
    except FormulaError:
        return True


def _place(ranks: Ranks, rank: int) -> Iterator[tuple[str, Any]]:
    for name, value in ranks.env.items():
        yield name, int(value[rank]) if np.ndim(value) else value
