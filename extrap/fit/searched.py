"""Fit a quantity by the search: by integers where all ranks have one shape, else by loop iterations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, TypeVar

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.errors import FormulaError
from scalatrace.extrap.fit.fit_types import Chains, Samples
from scalatrace.extrap.fit.sequences import list_values
from scalatrace.extrap.grid.space import Space
from scalatrace.extrap.search.bank import Bank
from scalatrace.extrap.search.costs import formula_bits
from scalatrace.extrap.search.hits import FormulaSearch, Hit
from scalatrace.extrap.search.judge import EVIDENCE, MIN_TRACES, SHARED_EVIDENCE, BelievedFormula, judge
from scalatrace.extrap.search.library import leaves, places
from scalatrace.extrap.search.rows import Rows, rows_of
from scalatrace.formula import Const, Expr, Value, choose, names_in
from scalatrace.trace.model.symbolic import LOOPED
from scalatrace.trace.model.tables import IntArray
from scalatrace.trace.symbolic.counters import rows_equal
from scalatrace.trace.symbolic.field import (
    ELEMENTS,
    EVERYWHERE,
    RANKWISE,
    SUMMED_ELEMENTS,
    Field,
    Part,
)
from scalatrace.trace.symbolic.shapes import Parts, is_vec
from scalatrace.trace.symbolic.special_values import constant, evaluate
from scalatrace.trace.values.from_arrays import first_values
from scalatrace.trace.values.vec import special_name

__all__ = ["fit", "fit_arrays", "judged", "with_known_searches"]

MAX_VALUES = 1 << 16
"""Values of a quantity that are looked at one by one."""

TRUSTED = 28
"""Bits of formulas that need no comparison: their rivals are found where they are fitted."""

NO_NUMBERS: Mapping[str, Ints] = {}

Pair = tuple[Expr, Expr]


@dataclass(frozen=True, slots=True)
class FittedColumn:
    """The formula of one integer.

    Attributes:
        rivals: pairs of it and another one that the traces do not exclude.
        bits: of the formula.
        evidence: see judge.BelievedFormula.
    """

    formula: Value
    rivals: tuple[Pair, ...]
    bits: float
    evidence: float


def fit(space: Space, samples: Samples, chains: Chains) -> tuple[Field, float] | None:
    """Return a field through all samples with its bits; None if no formula is believed."""
    order = np.array(sorted(samples), dtype=np.int64)
    values = [samples[int(point)] for point in order]
    if not values or any(value is None for value in values):
        return None
    present = [value for value in values if value is not None]
    if all(value.shape == present[0].shape for value in present):
        fitted = _by_slots(space, order, present)
        if fitted is not None:
            return fitted
    return _by_loops(space, order, present, chains)


def fit_arrays(space: Space, arrays: Mapping[int, IntArray]) -> tuple[Field, float] | None:
    """Return a field of arrays by a formula for their length and one over the index of an element."""
    points = np.array(sorted(arrays), dtype=np.int64)
    rows = [arrays[int(point)] for point in points]
    lengths = np.array([row.length for row in rows], dtype=np.int64)
    summed = {row.summed for row in rows if row.length}
    if any(row.relative for row in rows) or len(summed) != 1 or not 1 < lengths.sum() <= MAX_VALUES:
        return None
    length = _column(space, points, NO_NUMBERS, lengths)
    index = np.concatenate([np.arange(n) for n in lengths])
    elements = np.concatenate([first_values(row.vec, row.length) for row in rows])
    element = None if length is None else _column(space, np.repeat(points, lengths), {"i": index}, elements)
    if length is None or element is None:
        return None
    shape = SUMMED_ELEMENTS if summed.pop() else ELEMENTS
    rivals = tuple(dict.fromkeys((*length.rivals, *element.rivals)))
    part = Part(EVERYWHERE, shape, (Const(0), length.formula, element.formula), rivals)
    bits = length.bits + element.bits
    return Field((part,), bits, bits), bits


def _by_slots(space: Space, order: Ints, values: Sequence[Parts]) -> tuple[Field, float] | None:
    """Return the field by a formula for each integer of the values, which together have the evidence."""
    table = np.array([value.slots for value in values], dtype=np.int64).reshape(len(values), -1)
    shape = values[0].shape
    if is_vec(shape) and type(shape) is tuple and type(shape[-1]) is tuple and _integers(shape[-1]):
        table[:, -_integers(shape[-1])] = 0  # the last loop of a vec need not end
    columns = [np.ascontiguousarray(column) for column in table.T]
    different = {column.tobytes(): column for column in columns}
    least = EVIDENCE if len(different) == 1 else SHARED_EVIDENCE
    known: dict[bytes, FittedColumn] = {}
    for key, column in different.items():
        fitted = _column(space, order, NO_NUMBERS, column, least)
        if fitted is None:
            return None
        known[key] = fitted
    # Columns that are multiples of each other, or differ by a constant, are one observation.
    evidence: dict[bytes, float] = {}
    for key, column in different.items():
        shifted = column - column.min()
        like = (shifted // max(int(np.gcd.reduce(shifted)), 1)).tobytes()
        evidence[like] = max(evidence.get(like, 0.0), known[key].evidence)
    if sum(evidence.values()) < EVIDENCE:
        return None
    slots = [known[column.tobytes()] for column in columns]
    rivals = tuple(dict.fromkeys(pair for slot in slots for pair in slot.rivals))
    part = Part(EVERYWHERE, shape, tuple(slot.formula for slot in slots), rivals)
    total = sum(slot.bits for slot in slots)
    return Field((part,), total, total), total


def _integers(shape: Any) -> int:
    return sum(map(_integers, shape)) if type(shape) is tuple else int(shape is None)


def judged(space: Space, field: Field, samples: Samples) -> Field:
    """Return a field with what the search finds as likely: as rivals, or in its place where that is likelier.

    Values that change from execution to execution are left as they are, and those of few bits.
    """
    order = np.array(sorted(samples), dtype=np.int64)
    values = [value for point in order if (value := samples[int(point)]) is not None]
    shape = field.parts[0].shape
    shapes = [*(part.shape for part in field.parts), *(value.shape for value in values)]
    if len(values) < len(order) or any(own != shape for own in shapes) or _are_few(space, order):
        return field
    formulas: list[Value] = []
    rivals: list[Pair] = []
    is_other = False
    for k, column in enumerate(np.array([value.slots for value in values], dtype=np.int64).T):
        own = _chosen(field, k)
        if own is None:
            return field
        judgement = (
            None
            if (column == column[0]).all()
            else _judged_column(space, order, np.ascontiguousarray(column), own)
        )
        if judgement is None:
            formulas.append(own)
            continue
        formula, others = judgement
        is_other |= formula != own
        formulas.append(formula)
        rivals += [(formula, other) for other in others]
    if is_other:
        return Field((Part(EVERYWHERE, shape, tuple(formulas), tuple(rivals)),), field.cost, field.weight)
    parts = tuple(replace(part, rivals=(*part.rivals, *rivals)) for part in field.parts)
    return replace(field, parts=parts)


def _chosen(field: Field, slot: int) -> Expr | None:
    """Return an integer of a field as one formula; None if there is none everywhere, or a symbol."""
    result: Expr | None = None
    for part in reversed(field.parts):
        formula = None if part.formulas is None else part.formulas[slot]
        if not isinstance(formula, Expr):
            return None
        result = formula if result is None else choose(part.condition, formula, result)
    return result


def _judged_column(space: Space, points: Ints, values: Ints, own: Expr) -> tuple[Expr, list[Expr]] | None:
    """Return the likeliest of a known formula and those of the search, with its rivals; None: the known."""
    first = _first_of_each(space, points, NO_NUMBERS, values)
    if first is not None and not names_in(own) & RANKWISE:
        points, values = points[first], values[first]
    else:
        first = None
    rows, search = _search(space, points, NO_NUMBERS, first is not None)
    bits = formula_bits(own, search.known)
    if bits <= TRUSTED:
        return None
    try:
        column = np.broadcast_to(np.asarray(evaluate(own, rows.columns)), (len(rows.columns["P"]),))
    except FormulaError:
        return None
    chosen = values[rows.chosen]
    hits = [*search.hits(chosen), Hit(lambda: own, round(bits), column.astype(np.int64))]
    verdict = judge(hits, chosen, rows.samples)
    if verdict is None:
        return None
    checked = _checked(space, points, NO_NUMBERS, values, verdict)
    if checked is None or not isinstance(checked.formula, Expr):
        return None
    others = [rival for _, rival in checked.rivals]
    return (own if np.array_equal(verdict.best.column, column) else checked.formula), others


def _column(
    space: Space, points: Ints, numbers: Mapping[str, Ints], values: Ints, least: float = EVIDENCE
) -> FittedColumn | None:
    """Return the formula of one integer at each point, if it has as much evidence at least."""
    if (values == values[0]).all():
        return FittedColumn(constant(int(values[0])), (), 2.0, 0.0)
    if any(special_name(int(value)) is not None for value in np.unique(values)):
        return None
    if _are_few(space, points):
        return None
    first = _first_of_each(space, points, numbers, values)
    if first is not None:  # formulas of sizes and iterations, which can be longer then
        points, values = points[first], values[first]
        numbers = {name: column[first] for name, column in numbers.items()}
    rows, search = _search(space, points, numbers, first is not None)
    chosen = values[rows.chosen]
    verdict = judge(search.hits(chosen), chosen, rows.samples, least)
    return None if verdict is None else _checked(space, points, numbers, values, verdict)


def _are_few(space: Space, points: Ints) -> bool:
    return len(np.unique(space.all_runs()[points])) < MIN_TRACES


def _first_of_each(space: Space, points: Ints, numbers: Mapping[str, Ints], values: Ints) -> Ints | None:
    """Return one of the rows of each trace and iteration, if all of these have one value; else None."""
    keys = np.array([space.all_runs()[points], *numbers.values()])
    _, first, like = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    like = like.reshape(-1)
    return np.sort(first) if (values[first][like] == values).all() else None


def _checked(
    space: Space, points: Ints, numbers: Mapping[str, Ints], values: Ints, verdict: BelievedFormula
) -> FittedColumn | None:
    """Return the formulas of a verdict that hold at all points; None if the believed one does not."""
    columns = {name: column[points] for name, column in space.columns.items()} | dict(numbers)

    def holds(formula: Expr) -> bool:
        try:
            return bool((np.asarray(evaluate(formula, columns)) == values).all())
        except FormulaError:
            return False

    best = verdict.best.formula()
    if not holds(best):
        return None
    rivals = [rival for hit in verdict.rivals if holds(rival := hit.formula())]
    pairs = tuple((best, rival) for rival in rivals)
    return FittedColumn(best, pairs, verdict.best.bits, verdict.evidence)


def _search(
    space: Space, points: Ints, numbers: Mapping[str, Ints], sized: bool
) -> tuple[Rows, FormulaSearch]:
    """Return the rows and the search of quantities at points; `sized`: without coordinates of ranks."""
    rows = rows_of(space, points, numbers)
    digest = blake2b(
        repr((sized, rows.count, space.names.sizes, tuple(rows.columns), space.shared_parts)).encode()
    )
    for column in rows.columns.values():
        digest.update(column.tobytes())
    key = digest.digest()
    if key in _SEARCHES:
        _SEARCHES[key] = _SEARCHES.pop(key)
    elif _only_known:
        raise _NewSearchError
    else:
        entries = leaves(space, rows, sized)
        known = {leaf.formula: leaf.bits for leaf in entries}
        _SEARCHES[key] = FormulaSearch(Bank(entries, rows.count), rows, places(space, rows, sized), known)
        while len(_SEARCHES) > 1 and sum(kept.bank.table.size for kept in _SEARCHES.values()) > MAX_KEPT:
            del _SEARCHES[next(iter(_SEARCHES))]
    return rows, _SEARCHES[key]


_SEARCHES: dict[bytes, FormulaSearch] = {}
"""The latest searches, by all that decides their banks: spaces of the same traces share them."""

MAX_KEPT = 1 << 26
"""Values in the banks of searches that are kept: half a gigabyte."""


def with_known_searches(work: Callable[[], Result]) -> Result | None:
    """Return the result of `work`, or None where it needs a search that this process does not have yet.

    The banks that short-lived workers build are lost. So they leave out what needs one: the caller makes it.
    """
    global _only_known
    _only_known = True
    try:
        return work()
    except _NewSearchError:
        return None
    finally:
        _only_known = False


_only_known = False

Result = TypeVar("Result")


class _NewSearchError(Exception):
    """Internal signal: a search is needed that does not exist yet."""


def _by_loops(
    space: Space, order: Ints, values: Sequence[Parts], chains: Chains
) -> tuple[Field, float] | None:
    """Return the field by a formula over the iterations of the loops around it."""
    around = [chains.get(int(point)) for point in order]
    deep = {0 if chain is None else len(chain.levels) for chain in around}
    if len(deep) != 1 or any(chain is None or not chain.small for chain in around):
        return None
    rows: list[Ints] = []
    for value, chain in zip(values, around, strict=True):
        assert chain is not None
        if value.times != chain.runs or not is_vec(value.shape):
            return None
        rows.append(np.array(list_values(value, value.times), dtype=np.int64))
    if sum(map(len, rows)) > MAX_VALUES:
        return None
    levels = deep.pop()
    for depth in range(levels, -1, -1):
        periods = [_period(row, chain, depth) for row, chain in zip(rows, around, strict=True)]
        if not all(periods):
            continue
        columns = [chain.columns(depth) for chain in around if chain is not None]
        numbers = {name: np.concatenate([column[name] for column in columns]) for name in columns[0]}
        flat = np.concatenate([row[:period] for row, period in zip(rows, periods, strict=True)])
        fitted = _column(space, np.repeat(order, periods), numbers, flat)
        if fitted is not None:
            part = Part(EVERYWHERE, LOOPED, (Const(levels - depth), fitted.formula), fitted.rivals)
            return Field((part,), fitted.bits, fitted.bits), fitted.bits
        return None
    return None


def _period(row: Ints, chain: Any, depth: int) -> int:
    """Return the values within an iteration of the loop at a depth, if they are the same in each; else 0."""
    period: int = chain.period(depth)
    return period if period and rows_equal(row, len(row) // period) else 0
