"""Format fields for people: `[x+1 y ..] if x==0`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from scalatrace.formula import (
    FALSE,
    TRUE,
    Binary,
    Cond,
    Const,
    Expr,
    Special,
    Value,
    all_of,
    either,
    format_text,
    negate,
)
from scalatrace.formula.arithmetic import linear
from scalatrace.formula.nodes import Lookup, Select
from scalatrace.formula.polynomials import combine
from scalatrace.trace.symbolic.entries import ListEntry, conditional_entries
from scalatrace.trace.symbolic.field import (
    CYCLE,
    ELEMENTS,
    EVERYWHERE,
    INDEXED,
    LOOPED,
    SUMMED_ELEMENTS,
    Part,
)
from scalatrace.trace.symbolic.format_condition import format_condition
from scalatrace.trace.symbolic.shapes import join

__all__ = ["format_parts", "format_shape", "format_tables", "format_where"]

ARRAY, SUMMED_ARRAY = ARRAYS = ("array", "summed")
"""Begin an entry of a table of arrays: the second one has the elements from which sums are made."""


def format_parts(parts: Sequence[Part], around: str = "{}") -> str:
    """Format a field's parts; `around` is the template of each formula: `rank + {}` for relative peers."""
    return _with_conditions(parts, lambda part: _value(part, around))


def format_tables(parts: Sequence[Part]) -> str:
    """Format the parts of a field of names or datatypes: tables of texts with formulas, and an index."""
    return _with_conditions(parts, _table)


def _with_conditions(parts: Sequence[Part], format_value: Callable[[Part], str]) -> str:
    texts = [_part(part, format_value) for part in parts]
    return texts[0] if len(texts) == 1 else "{" + "; ".join(texts) + "}"


def format_where(parts: Sequence[Part]) -> str:
    """Format the condition on ranks for which a field's value is neither nothing nor 0; "": none."""
    something: Cond = FALSE
    nothing: Cond = FALSE
    before: Cond = TRUE
    for part in parts:
        condition = all_of(before, part.condition)
        if _is_nothing(part):
            nothing = either(nothing, condition)
        else:
            something = either(something, condition)
        before = all_of(before, negate(part.condition))
    if parts[-1].condition == EVERYWHERE and not _is_nothing(parts[-1]):
        something = negate(nothing)  # shorter, since `nothing` has fewer alternatives
    return "" if something == TRUE else format_condition(something)


def _is_nothing(part: Part) -> bool:
    return part.formulas is None or part.formulas == (Const(0),)


def _part(part: Part, format_value: Callable[[Part], str]) -> str:
    value = "nothing" if part.formulas is None else format_value(part)
    return value if part.condition == EVERYWHERE else f"{value} if {format_condition(part.condition)}"


def _value(part: Part, around: str) -> str:
    assert part.formulas is not None
    texts = list(map(format_text, part.formulas))
    if part.shape in (INDEXED, ELEMENTS, SUMMED_ELEMENTS):
        text = f"[{_placed(part.formulas[-1], around)} for i in 0..{texts[-2]}-1]"
        return f"sums of {text}" if part.shape == SUMMED_ELEMENTS else text
    if part.shape == LOOPED:
        entries = _entries(part.formulas[1], around)
        return f"[{_placed(part.formulas[1], around) if entries is None else ', '.join(entries)} ..]"
    if part.shape == CYCLE:
        return "[" + " ".join(_placed(formula, around) for formula in part.formulas) + " ..]"
    return format_shape(part.shape, part.formulas, around)


def _entries(formula: Value, around: str) -> list[str] | None:
    """Format the entries of a list, each with its condition; None: the formula describes no such list."""
    if isinstance(formula, Special | Select | Lookup) or (entries := conditional_entries(formula)) is None:
        return None
    return [_list_entry(entry, around) for entry in entries]


def _list_entry(entry: ListEntry, around: str) -> str:
    value = _placed(entry.value, around)
    conditions = [format_condition(condition) for condition in entry.conditions]
    return f"{value} if {' and '.join(conditions)}" if conditions else value


def _table(part: Part) -> str:
    if type(part.shape) is not tuple or len(part.shape) != 2:
        return _value(part, "{}")
    index, entries = join(part.shape, cast("Iterator[int]", iter(part.formulas or ())))
    texts = [_entry(entry) for entry in entries]
    if len(texts) == 1:
        return texts[0]
    return f"{{{', '.join(texts)}}}{_format_terms(index, '{}')}"


def _format_terms(terms: Any, around: str) -> str:
    """The terms of a vec, or the indices of a cycle: `[1 5*(2 by 1)]`, `[0 1 ..]`."""
    if type(terms) is not tuple:
        return terms if type(terms) is str else _placed(terms, around)
    if terms and terms[0] == CYCLE:
        return "[" + " ".join(_term(term, around) for term in terms[1:]) + " ..]"
    return "[" + " ".join(_term(term, around) for term in terms) + "]"


def _term(term: Any, around: str) -> str:
    """A value, or repeated ones: `n*(x y)`; `..*(0)` without end, `8*(7 by -1)` with a stride."""
    if type(term) is not tuple:
        return _format_terms(term, around)
    count, stride, *inner = term
    repeated = " ".join(_term(part, around) for part in inner)
    times = ".." if count == Const(0) else format_text(count)
    times = times if times.isidentifier() or times.isdecimal() or count == Const(0) else f"({times})"
    return f"{times}*({repeated}{'' if stride == Const(0) else f' by {format_text(stride)}'})"


def _entry(entry: Any) -> str:
    """A name, an array, or the description of a datatype, without the size and extent that go with it."""
    if type(entry) is not tuple:
        return format_text(entry)
    if entry[0] in ARRAYS:
        return f"{'sums of ' * (entry[0] == SUMMED_ARRAY)}{_format_terms(entry[-1], '{}')}"
    pieces = entry[-1] if type(entry[-1]) is tuple else entry
    return "".join(_piece(piece) for piece in pieces)


def _piece(piece: Any) -> str:
    if type(piece) is str:
        return piece
    return format_text(piece[1] if type(piece) is tuple else piece)


def _placed(formula: Value, around: str) -> str:
    """Format a formula in its template: `rank - Y*Z+1`, not `rank + -(Y*Z-1)`; names of MPI have none."""
    if isinstance(formula, Special):
        return format_text(formula)
    if "+ {}" not in around or isinstance(formula, Select | Lookup):
        return around.format(format_text(formula))
    constant, terms = linear(_flat(formula))
    signed = [
        (k < 0, format_text(term if abs(k) == 1 else Binary("*", Const(abs(k)), term)))
        for term, k in terms.items()
    ]
    if constant or not signed:
        signed.append((constant < 0, str(abs(constant))))
    (negative, first), *further = signed
    text = first + "".join(f"{'-' if less else '+'}{term}" for less, term in further)
    return around.format(text) if not negative else around.replace("+ {}", "- {}").format(text)


def _flat(formula: Expr) -> Expr:
    """Return a formula with the signs of sums in brackets at their terms."""
    match formula:
        case Binary("+" | "-" | "*" as op, a, b):
            return combine(op, _flat(a), _flat(b))
    return formula


def format_shape(shape: Any, formulas: Sequence[Value], around: str = "{}") -> str:
    """Format a value vector with formulas in their places; `around` is as in `format_parts`."""
    return _format_terms(join(shape, cast("Iterator[int]", iter(formulas))), around)
