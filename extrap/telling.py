"""A symbolic trace as text that people can read: `dest = rank + X`, `64 if x == 0`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from extrap.fields import Field, Part
from extrap.model import FamilyRule, Model, ParamRule, Rule
from extrap.sought import CYCLE, INDEXED, LOOPED
from extrap.space import EVERYWHERE
from scalatrace.trace.nodes import Encoding
from scalatrace.trace.tables import Kind
from scalatrace.trace.values import special_name

__all__ = ["lines"]

PEERS = {
    Encoding.ABSOLUTE: "{}",
    Encoding.RELATIVE: "rank + {}",
    Encoding.MODULO: "(rank + {}) mod size",
    Encoding.XOR: "rank ^ {}",
}


def lines(model: Model) -> Iterator[str]:
    """What names mean, the communicators, and a line per node."""
    order = "the first varying fastest" if model.column_major else "the last varying fastest"
    seen = ", ".join("x".join(map(str, dims)) for dims, _ in model.seen)
    coords = ", ".join(name.lower() for name in model.sizes)
    yield f"P ranks in a grid {' x '.join(model.sizes)}, {order}; r: a rank, {coords}: its place; from {seen}"
    if model.inputs:
        yield f"parameters: {', '.join(model.inputs)}"
    for number, family in enumerate(model.families):
        if family.kind not in ("world", "self", "null"):
            yield f"communicator {number}: {_family(family, model)}"
    for rule in model.nodes:
        yield from _rule(rule, 0)


def _family(rule: FamilyRule, model: Model) -> str:
    if rule.slices is not None:
        return f"{rule.kind}, along {' and '.join(model.sizes[axis] for axis in rule.slices)}"
    named = zip(("sizes", "members", "remote sizes", "remote members"), rule.vecs, strict=False)
    return f"{rule.kind}, " + ", ".join(f"{n} {_filled(*vec)}" for n, vec in named if vec is not None)


def _rule(rule: Rule, depth: int) -> Iterator[str]:
    indent = "  " * depth
    repeat = _field(rule.repeat)
    if rule.op is None:
        yield f"{indent}{repeat} times:"
        for child in rule.children:
            yield from _rule(child, depth + 1)
        return
    times = "" if repeat == "1" else f"{repeat} x "
    params = "  ".join(f"{p.name} = {_param(p)}" for p in rule.params)
    yield f"{indent}{times}{rule.op}  {params}  {rule.stack[0] if rule.stack else ''}".rstrip()


def _param(rule: ParamRule) -> str:
    if rule.kind is not Kind.PEER or rule.encoding is None:
        return _field(rule.field)
    return _field(rule.field, PEERS[rule.encoding])


def _field(field: Field, around: str = "{}") -> str:
    told = [_part(part, around) for part in field.parts]
    return told[0] if len(told) == 1 else "{" + "; ".join(told) + "}"


def _part(part: Part, around: str) -> str:
    value = "nothing" if part.formulas is None else _value(part, around)
    return value if part.condition == EVERYWHERE else f"{value} if {part.condition}"


def _value(part: Part, around: str) -> str:
    assert part.formulas is not None
    if part.shape == INDEXED:
        return f"[{around.format(part.formulas[1])} for i in 0..{part.formulas[0]}-1]"
    if part.shape == LOOPED:
        return f"[{around.format(part.formulas[1])} ..]"
    if part.shape == CYCLE:
        return "[" + " ".join(around.format(text) for text in part.formulas) + " ..]"
    filled = _filled(part.shape, part.formulas)
    if part.shape is not None or special_name(int(filled) if _is_int(filled) else 0):
        return filled
    return _tidy(around.format(filled))


def _is_int(text: str) -> bool:
    return text.lstrip("-").isdigit()


def _tidy(text: str) -> str:
    """`rank + -1` is `rank - 1`."""
    return re.sub(r"\+ -", "- ", text)


def _filled(shape: Any, formulas: tuple[str, ...]) -> str:
    """A shape with the formulas in their places."""
    rest = iter(formulas)

    def walk(part: Any) -> str:
        if part is None:
            text = next(rest)
            return special_name(int(text)) or text if _is_int(text) else text
        return part if isinstance(part, str) else "[" + " ".join(map(walk, part)) + "]"

    return walk(shape)
