"""Parameters with one value in all traces, and another one in the result: which numbers are made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any

from scalatrace.extrap.errors import UnseenParameterError
from scalatrace.extrap.refusal import Recording
from scalatrace.extrap.search.costs import BINARY, NAME, ROUNDED, UNARY, line_bits, literal_bits
from scalatrace.extrap.search.judge import MARGIN, MIN_TRACES
from scalatrace.formula import Cond, Const, Item, Lookup, Member, Value, children, names_in
from scalatrace.predefined import DATATYPES
from scalatrace.trace.model.symbolic import FamilyRule, Rule, SymbolicTrace
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.symbolic.field import Field
from scalatrace.trace.symbolic.grid import Grid

__all__ = ["assumptions", "check_parameters", "unshown_parameters"]

MAX_DIVISOR = 1 << 8
"""Numbers that a parameter is divided by: formulas with larger ones are long."""

MAX_STRUCTURAL, MAX_OF_CONDITIONS = 1, 2
"""Larger numbers in values may be made of a parameter; conditions have a 2 for odd and even ranks."""


def check_parameters(model: SymbolicTrace, inputs: Mapping[str, int]) -> None:
    """Refuse another value of a parameter that has one value in all traces.

    A trip count that is 120 where n = 120 may be n, or 120 for any n.

    Args:
        inputs: the parameters of the result.

    Raises:
        UnseenParameterError: values of the result may depend on such a parameter; names a run that shows it.
    """
    for name in unshown_parameters(model, inputs):
        least, given = min(model.seen, key=lambda seen: prod(seen[0]))
        grid = Grid(least, model.column_major)
        run = Recording(grid, {**given, name: inputs[name]}, (name,))
        raise UnseenParameterError(name, given[name], run)


def unshown_parameters(model: SymbolicTrace, inputs: Mapping[str, int]) -> list[str]:
    """Return the parameters with a new value in the result that may depend on them, and one in all traces."""
    result = []
    for name, value in sorted(inputs.items()):
        seen = {given[name] for _, given in model.seen}
        if len(seen) == 1 and value not in seen and _may_depend(model, name, seen.pop()):
            result.append(name)
    return result


def assumptions(model: SymbolicTrace, inputs: Mapping[str, int]) -> Iterator[str]:
    """Yield which formulas of such parameters the result relies on."""
    for name, value in sorted(inputs.items()):
        seen = {given[name] for _, given in model.seen}
        if len(seen) == 1 and value not in seen and any(name in names_in(part) for part, _ in _values(model)):
            yield f"all traces have {name} = {seen.pop()}: formulas of {name} are taken for {name} = {value}"


def _may_depend(model: SymbolicTrace, name: str, seen: int) -> bool:
    """Return whether a number of the model may be made of a parameter, or the parameter may be a number.

    A name counts as the parameter if its value as a literal takes `MARGIN` bits more, and no other parameter
    has that value. A literal counts as a constant if short formulas of the parameter take `MARGIN` bits more.
    """
    same = sum(all(given[other] == seen for _, given in model.seen) for other in model.inputs)
    is_named = literal_bits(seen) >= NAME + MARGIN and len(model.seen) >= MIN_TRACES and same == 1
    return any(
        (name in names_in(value) and not is_named)
        or any(abs(number) > limit and _may_be_made_of(number, seen) for number in _numbers(value))
        for value, limit in _values(model)
    )


@lru_cache(maxsize=1 << 12)
def _may_be_made_of(number: int, seen: int) -> bool:
    """Return whether a formula of a parameter with one value is about as short as a number, or shorter."""
    most = literal_bits(number) + MARGIN
    return any(
        bits + line_bits(factor, number - factor * term) < most
        for term, bits in _terms(seen)
        for factor in {1, number // term}
        if factor
    )


@lru_cache(maxsize=1 << 6)
def _terms(seen: int) -> tuple[tuple[int, int], ...]:
    """Return the values of short formulas of a parameter with one value, and their bits; none that are 0."""
    divisors = range(2, min(abs(seen), MAX_DIVISOR) + 1)
    terms = [
        (seen, NAME),
        (seen * seen, 2 * NAME + BINARY["*"]),
        *((seen // k, NAME + BINARY["//"] + literal_bits(k)) for k in divisors),
        *((-(-seen // k), NAME + BINARY["//"] + ROUNDED + literal_bits(k)) for k in divisors),
        *((seen % k, NAME + BINARY["%"] + literal_bits(k)) for k in divisors),
        *((count, NAME + UNARY["log2"]) for count in (seen.bit_length() - 1, (seen - 1).bit_length())),
    ]
    return tuple(term for term in terms if term[0])


def _values(model: SymbolicTrace) -> Iterator[Limited]:
    """Yield all formulas and conditions of a model."""
    yield from _of_rules(model.nodes)
    for family in model.families:
        yield from _of_family(family)


def _numbers(part: Value | Cond) -> Iterator[int]:
    """Yield all numbers that stand in a formula or condition."""
    if isinstance(part, Const):
        yield part.value
    if isinstance(part, Item | Lookup):
        yield from (entry for entry in part.table if isinstance(entry, int))
    if isinstance(part, Member):
        yield from part.values
    for child in children(part):
        yield from _numbers(child)


Limited = tuple[Value | Cond, int]
"""A formula or condition, and the largest number in it that says nothing of a parameter."""


def _of_rules(rules: Sequence[Rule]) -> Iterator[Limited]:
    """Yield all formulas and conditions of rules and of those below them."""
    for rule in rules:
        yield from _of_field(rule.repeat)
        for param in rule.params:
            is_known = param.kind is Kind.COMM or (param.kind is Kind.TYPE and _is_predefined(param.field))
            yield from () if is_known else _of_field(param.field)
        yield from _of_rules(rule.children)


def _of_field(field: Field) -> Iterator[Limited]:
    for part in field.parts:
        yield part.condition, MAX_OF_CONDITIONS
        yield from ((formula, MAX_STRUCTURAL) for formula in part.formulas or ())
        yield from ((rival, MAX_STRUCTURAL) for _, rival in part.rivals)


def _of_family(family: FamilyRule) -> Iterator[Limited]:
    """Yield the formulas of communicators that are no slices of the grid."""
    for vec in family.vecs if family.slices is None else ():
        yield from ((formula, MAX_STRUCTURAL) for formula in (() if vec is None else vec[1]))
    if family.count is not None:
        yield family.count, MAX_STRUCTURAL


def _is_predefined(field: Field) -> bool:
    """Return whether a parameter names predefined datatypes only, whose sizes depend on nothing."""
    words = {word for part in field.parts for word in _words(part.shape)}
    return bool(words) and words <= DATATYPES.keys()


def _words(shape: Any) -> Iterator[str]:
    """Yield the words of a datatype's description."""
    if isinstance(shape, str):
        yield from filter(None, [shape])
    elif isinstance(shape, tuple | list):
        for part in shape:
            yield from _words(part)
