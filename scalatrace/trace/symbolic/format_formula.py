"""Format fields for people: `[x+1 y ..] if x==0`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, cast

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
from scalatrace.formula.nodes import Lookup, Select, Var
from scalatrace.formula.parts import children, with_children
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
from scalatrace.trace.symbolic.shapes import bracketed, is_vec, join

__all__ = ["format_parts", "format_shape", "format_tables", "format_where"]

P = TypeVar("P", bound=Value | Cond)

ARRAYS = {"array": "{}", "summed": "sums of {}"}
"""Kinds of arrays in tables -> templates of their elements."""

MAX_LISTED_VALUES = 8
"""Numbers in progression that are listed."""


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
    if part.shape in (INDEXED, ELEMENTS, SUMMED_ELEMENTS):
        length = part.formulas[-2]
        assert not isinstance(length, Special | Select | Lookup)
        text = f"[{_placed(part.formulas[-1], around)} for i in 0..{_sum(Binary('-', length, Const(1)))}]"
        return f"sums of {text}" if part.shape == SUMMED_ELEMENTS else text
    if part.shape == LOOPED:
        entries = _entries(part.formulas[1], around)
        return f"[{_placed(part.formulas[1], around) if entries is None else ', '.join(entries)} ..]"
    if part.shape == CYCLE:
        return f"[{_row(_placed(formula, around) for formula in part.formulas)} ..]"
    if part.shape is not None:
        return format_shape(part.shape, part.formulas, around)
    return _placed(part.formulas[0], around)


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
    return f"{{{', '.join(texts)}}}{_format_vec(index)}"


def _format_vec(terms: Any, around: str = "{}") -> str:
    """Format the terms of a vec, `[5 X*(0 by 1) ..*(1 2)]`, or the indices of a cycle: `[0 1 ..]`."""
    if type(terms) is not tuple:
        return _placed(terms, around)
    if terms and terms[0] == CYCLE:
        return f"[{_row(_placed(term, around) for term in terms[1:])} ..]"
    return f"[{_row(_term(term, around) for term in terms)}]"


def _row(entries: Iterable[str]) -> str:
    """Format entries side by side, with commas where they have blanks."""
    texts = list(entries)
    return (", " if any(" " in text for text in texts) else " ").join(texts)


def _term(term: Any, around: str) -> str:
    """Format a value, or a loop of values: its count, its stride, and what it repeats."""
    if type(term) is not tuple:
        return _placed(term, around)
    count, stride, *inner = term
    if isinstance(count, Const) and isinstance(stride, Const) and len(inner) == 1:
        (value,) = inner
        if around == "{}" and isinstance(value, Const) and 0 < count.value <= MAX_LISTED_VALUES:
            return " ".join(str(value.value + i * stride.value) for i in range(count.value))
    times = ".." if count == Const(0) else format_text(count)
    times = times if times.isalnum() or count == Const(0) else f"({times})"
    by = "" if stride == Const(0) else f" by {format_text(stride)}"
    return f"{times}*({_row(_term(part, around) for part in inner)}{by})"


def _entry(entry: Any) -> str:
    """Format an array, a name, or the description of a datatype without the size and extent of it."""
    if type(entry) is not tuple:
        return format_text(entry)
    if len(entry) == 3 and entry[0] in ARRAYS:
        _, length, terms = entry
        is_listed = type(terms) is tuple and not any(type(term) is tuple for term in terms)
        if not is_listed and type(terms) is not tuple:
            terms = ((length, Const(0), terms),)  # one value
        return ARRAYS[entry[0]].format(_format_vec(terms))
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
    formula = _ordered(formula)
    if "xor {}" in around and not isinstance(formula, Const | Var | Select | Lookup):
        is_bracketed = isinstance(formula, Binary) and formula.op in ("^", "&", "<<", ">>")
        return around.format(format_text(formula) if is_bracketed else f"({format_text(formula)})")
    if "+ {}" not in around or isinstance(formula, Select | Lookup):
        return around.format(format_text(formula))
    text = _sum(formula)
    return around.replace("+ {}", "- {}").format(text[1:]) if text[0] == "-" else around.format(text)


def _sum(formula: Expr) -> str:
    """Format a formula as a sum of which the constant is the last term."""
    constant, terms = linear(_flat(formula))
    signed = [
        (k < 0, format_text(term if abs(k) == 1 else Binary("*", Const(abs(k)), term)))
        for term, k in terms.items()
    ]
    if constant or not signed:
        signed.append((constant < 0, str(abs(constant))))
    text = "".join(f"{'-' if less else '+'}{term}" for less, term in signed)
    return text.removeprefix("+")


def _ordered(part: P) -> P:
    """Return a formula whose sums do not begin with a constant: `x+y-1`, not `-1+x+y` or `0+x+y-1`."""
    if isinstance(part, Binary) and part.op in ("+", "-") and (rebuilt := _constant_last(part)) is not None:
        return cast("P", rebuilt)
    return with_children(part, [_ordered(inner) for inner in children(part)])


def _constant_last(total: Binary) -> Expr | None:
    """Return a sum with another first term; None: it does not begin with a constant, or has no such term."""
    terms = list(_signed_terms(total, True))
    others: list[tuple[Expr, bool]] = [
        (_ordered(term), is_added) for term, is_added in terms if not isinstance(term, Const)
    ]
    lead = next((i for i, (_, is_added) in enumerate(others) if is_added), None)
    if not isinstance(terms[0][0], Const) or lead is None:
        return None
    result, _ = others.pop(lead)
    constant = sum(term.value if added else -term.value for term, added in terms if isinstance(term, Const))
    if constant:
        others.append((Const(abs(constant)), constant > 0))
    for term, is_added in others:
        result = Binary("+" if is_added else "-", result, term)
    return result


def _signed_terms(formula: Expr, is_added: bool) -> Iterator[tuple[Expr, bool]]:
    """Yield the terms of a sum, and whether each is added; others are subtracted."""
    match formula:
        case Binary("+" | "-" as op, a, b):
            yield from _signed_terms(a, is_added)
            yield from _signed_terms(b, is_added == (op == "+"))
        case _:
            yield formula, is_added


def _flat(formula: Expr) -> Expr:
    """Return a formula with the signs of sums in brackets at their terms."""
    match formula:
        case Binary("+" | "-" | "*" as op, a, b):
            return combine(op, _flat(a), _flat(b))
    return formula


def format_shape(shape: Any, formulas: Sequence[Value], around: str = "{}") -> str:
    """Format a shape with the formulas in their places; values of a vec in the template `around`."""
    if is_vec(shape):
        return _format_vec(join(shape, iter(formulas)), around)
    return bracketed(join(shape, map(format_text, formulas)))
