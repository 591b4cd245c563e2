"""Format a symbolic trace for people: `dest = rank + X`, `64 if x == 0`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scalatrace.escapes import clean
from scalatrace.formula import Const, format_text
from scalatrace.trace.model.callsite import short_frame
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.symbolic import (
    BLOCKS,
    CYCLIC,
    FamilyRule,
    ParamRule,
    Rule,
    SymbolicTrace,
    events,
    fields_of,
)
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.symbolic.field import EVERYWHERE, Part
from scalatrace.trace.symbolic.format_condition import with_rank
from scalatrace.trace.symbolic.format_formula import format_parts, format_shape, format_tables, format_where

__all__ = ["count_formulas", "describe", "lines"]

PEERS = {
    Encoding.ABSOLUTE: "{}",
    Encoding.RELATIVE: "rank + {}",
    Encoding.MODULO: "(rank + {}) mod size",
    Encoding.XOR: "rank xor {}",
}

NOT_IN_PLACE = ("in_place", "0")
"""Name and value of a parameter that is left out."""

BUILT_IN = ("world", "self", "null")
"""Kinds of the communicators of MPI itself, of which there is one each."""

DIVISIONS = {BLOCKS: "blocks of {} ranks", CYCLIC: "ranks assigned to {} instances round robin"}


def count_formulas(model: SymbolicTrace) -> int:
    """Return the number of formulas that are no constants."""
    parts = (part for field in fields_of(model.nodes) for part in field.parts)
    return sum(not isinstance(formula, Const) for part in parts for formula in part.formulas or ())


def describe(model: SymbolicTrace) -> dict[str, Any]:
    """Return the grid, the traces behind it, parameters, numbers of nodes and formulas, and the header."""
    return {
        "grid": list(model.sizes),
        "traces": ["x".join(map(str, dims)) for dims, _ in model.seen],
        "parameters": list(model.inputs),
        "events": sum(1 for _ in events(model.nodes)),
        "communicators": len(model.families),
        "formulas": count_formulas(model),
        "meta": {key: clean(value) for key, value in model.meta.items()},
    }


def lines(model: SymbolicTrace) -> Iterator[str]:
    """Yield legend, communicators, and a line per node; control characters of the file are escaped."""
    yield from map(clean, _lines(model))


def _lines(model: SymbolicTrace) -> Iterator[str]:
    order = "the first varying fastest" if model.column_major else "the last varying fastest"
    seen = ", ".join("x".join(map(str, dims)) for dims, _ in model.seen)
    coords = ", ".join(name.lower() for name in model.sizes)
    names = f"rank: the own rank, {coords}: its place"
    yield f"P ranks in a grid {' x '.join(model.sizes)}, {order}; {names}; from {seen}"
    if model.inputs:
        yield f"parameters: {', '.join(model.inputs)}"
    for number, family in enumerate(model.families):
        if family.kind not in BUILT_IN:
            yield f"communicator {_name(model, number)}: {_family(family, model)}"
    for rule in model.nodes:
        yield from _rule(rule, 0, model)


def _name(model: SymbolicTrace, number: int) -> str:
    """Return a communicator as in traces: its kind, with its number where there may be several of them."""
    kind = model.families[number].kind
    return kind if kind in BUILT_IN else f"{kind}#{number}"


def _family(rule: FamilyRule, model: SymbolicTrace) -> str:
    if rule.slices is not None:
        return f"along {' and '.join(model.sizes[axis] for axis in rule.slices)}"
    if (vec := rule.vecs[0]) is not None and vec[0] in DIVISIONS:
        return DIVISIONS[vec[0]].format(format_text(vec[1][0]))
    chain = "" if rule.count is None else f"{format_text(rule.count)} times, each from the one before, "
    named = zip(("sizes", "members", "remote sizes", "remote members"), rule.vecs, strict=False)
    return chain + ", ".join(f"{name} {format_shape(*vec)}" for name, vec in named if vec is not None)


def _rule(rule: Rule, depth: int, model: SymbolicTrace) -> Iterator[str]:
    indent, (repeat, where) = "  " * depth, _repeat(rule)
    if rule.op is None:
        yield f"{indent}{repeat} times{f', where {where}' if where else ''}:"
        for child in rule.children:
            yield from _rule(child, depth + 1, model)
        return
    times = "" if repeat == "1" else f"{repeat} x "
    texts = ((p.name, _param(p, model)) for p in rule.params)
    params = "  ".join(f"{name} = {text}" for name, text in texts if (name, text) != NOT_IN_PLACE)
    texts_after = (
        params,
        f"where {where}" if where else "",
        short_frame(rule.stack[0]) if rule.stack else "",
    )
    yield "  ".join((f"{indent}{times}{rule.op}", *filter(None, texts_after)))


def _repeat(rule: Rule) -> tuple[str, str]:
    """Return how often ranks run a node, and the condition on them; "": all, or the first text has it."""
    parts = rule.repeat.parts
    counts = {(part.shape, part.formulas) for part in parts if part.formulas not in (None, (Const(0),))}
    if len(parts) == 1 or len(counts) != 1:
        return with_rank(format_parts(parts)), ""
    ((shape, formulas),) = counts
    return with_rank(format_parts([Part(EVERYWHERE, shape, formulas)])), format_where(parts)


def _param(rule: ParamRule, model: SymbolicTrace) -> str:
    if rule.kind is Kind.COMM:
        text = format_parts(rule.field.parts)
        return _name(model, int(text)) if text.isdecimal() and int(text) < len(model.families) else text
    if rule.kind in (Kind.TYPE, Kind.STRING, Kind.ARRAY):
        return with_rank(format_tables(rule.field.parts))
    if rule.kind is not Kind.PEER or rule.encoding is None:
        return with_rank(format_parts(rule.field.parts))
    return with_rank(format_parts(rule.field.parts, PEERS[rule.encoding]))
