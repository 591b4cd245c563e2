"""Shared parts of expressions: one object for equal parts (hash-consing), and parts replaced by others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from scalatrace.formula import nodes
from scalatrace.formula.parts import children

__all__ = ["Interner", "uses", "with_children"]

Part = nodes.Value | nodes.Cond
P = TypeVar("P", bound=Part)

_LEAVES = (nodes.Const, nodes.Var, nodes.Special, nodes.Truth)


def with_children(part: P, parts: Sequence[Part]) -> P:
    """The expression or condition with other parts, ordered as `children`; itself if they are the same."""
    if all(a is b for a, b in zip(children(part), parts, strict=True)):
        return part
    result: P = _REBUILT[type(part)](part, *parts)
    return result


_WITH_TABLE = (nodes.Item, nodes.Lookup, nodes.Search)
_REBUILT: dict[type, Callable[..., Any]] = {
    **{kind: lambda part, index, kind=kind: kind(part.table, index) for kind in _WITH_TABLE},
    nodes.Element: lambda part, index: nodes.Element(part.array, index),
    nodes.Member: lambda part, e: nodes.Member(e, part.values, part.outside),
    **{kind: lambda part, a, b, kind=kind: kind(part.op, a, b) for kind in (nodes.Binary, nodes.Compare)},
    **{kind: lambda _, *parts, kind=kind: kind(*parts) for kind in (nodes.Choose, nodes.Select)},
    nodes.Called: lambda part, *parts: nodes.Called(part.name, parts),
    **{kind: lambda _, *parts, kind=kind: kind(parts) for kind in (nodes.AllOf, nodes.AnyOf)},
}
_RESTS: dict[type, Callable[[Any], Any]] = {
    **dict.fromkeys(_WITH_TABLE, attrgetter("table")),
    nodes.Element: attrgetter("array"),
    nodes.Member: attrgetter("values", "outside"),
    **dict.fromkeys((nodes.Binary, nodes.Compare), attrgetter("op")),
    nodes.Called: attrgetter("name"),
}
"""What a node holds besides its parts; of other kinds nothing."""


class Interner:
    """Gives equal expressions and conditions the same object, so that they are compared by identity.

    Takes time linear in distinct objects, not in the length of the text. Keeps all objects.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Part, Part]] = {}
        self._first: dict[tuple[object, ...], Part] = {}

    def __call__(self, part: P) -> P:
        """The object for an expression or condition; its parts are such objects, too."""
        known = self._known.get(id(part))
        if known is None:
            if isinstance(part, _LEAVES):
                own: Part = part
                key: tuple[object, ...] = (part,)
            else:
                own = with_children(part, [self(child) for child in children(part)])
                rest = _RESTS.get(type(own))
                key = (type(own), rest and rest(own), *map(id, children(own)))
            result = self._first.setdefault(key, own)
            known = self._known[id(part)] = (part, result)
            self._known[id(result)] = (result, result)
        return known[1]  # type: ignore[return-value]


def uses(parts: Iterable[Part]) -> Counter[int]:
    """How often each interned part, by id, stands in these or in a part of them; shared ones count once."""
    result: Counter[int] = Counter()
    left = list(parts)
    while left:
        part = left.pop()
        result[id(part)] += 1
        if result[id(part)] == 1:
            left += children(part)
    return result
