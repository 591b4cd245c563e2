"""Format fields for people: `[x+1 y ..] if x==0`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from scalatrace.formula import Special, Value, format_text
from scalatrace.trace.symbolic.field import CYCLE, EVERYWHERE, INDEXED, LOOPED, Part

__all__ = ["format_parts", "format_shape"]


def format_parts(parts: Sequence[Part], around: str = "{}") -> str:
    """A field's parts; `around` is what each formula is put into, `rank + {}` of relative peers."""
    texts = [_part(part, around) for part in parts]
    return texts[0] if len(texts) == 1 else "{" + "; ".join(texts) + "}"


def _part(part: Part, around: str) -> str:
    value = "nothing" if part.formulas is None else _value(part, around)
    return value if part.condition == EVERYWHERE else f"{value} if {format_text(part.condition)}"


def _value(part: Part, around: str) -> str:
    assert part.formulas is not None
    texts = list(map(format_text, part.formulas))
    if part.shape == INDEXED:
        return f"[{around.format(texts[1])} for i in 0..{texts[0]}-1]"
    if part.shape == LOOPED:
        return f"[{around.format(texts[1])} ..]"
    if part.shape == CYCLE:
        return "[" + " ".join(map(around.format, texts)) + " ..]"
    text = format_shape(part.shape, part.formulas)
    if part.shape is not None or isinstance(part.formulas[0], Special):
        return text
    return _tidy(around.format(text))


def _tidy(text: str) -> str:
    """`rank + -1` is `rank - 1`."""
    return re.sub(r"\+ -", "- ", text)


def format_shape(shape: Any, formulas: Sequence[Value]) -> str:
    """A shape with the formulas in their places."""
    rest = iter(formulas)

    def walk(part: Any) -> str:
        if part is None:
            return format_text(next(rest))
        return "[" + " ".join(map(walk, part)) + "]" if isinstance(part, tuple) else str(part)

    return walk(shape)
