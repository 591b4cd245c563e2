"""Parts of expressions and conditions: variables, leaves, numbers, length; equal parts as one object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from scalatrace.formula import nodes

__all__ = [
    "Interner",
    "children",
    "count_uses",
    "functions_in",
    "leaves",
    "length",
    "mentions",
    "names_in",
    "numbers_in",
    "specials_in",
    "variables",
    "with_children",
]

Part = nodes.Value | nodes.Cond
P = TypeVar("P", bound=Part)


def children(part: nodes.Value | nodes.Cond) -> tuple[nodes.Value | nodes.Cond, ...]:
    """Return the direct parts of an expression or condition, in order."""
    parts_of = _CHILDREN.get(type(part))
    return parts_of(part) if parts_of else ()


_CHILDREN: dict[type, Callable[[Any], tuple[nodes.Value | nodes.Cond, ...]]] = {
    **dict.fromkeys((nodes.Element, nodes.Item, nodes.Lookup, nodes.Search), lambda part: (part.index,)),
    nodes.Member: lambda part: (part.expr,),
    **dict.fromkeys((nodes.Binary, nodes.Compare), lambda part: (part.left, part.right)),
    **dict.fromkeys((nodes.Choose, nodes.Select), lambda part: (part.cond, part.then, part.otherwise)),
    nodes.Called: lambda part: part.arguments,
    **dict.fromkeys((nodes.AllOf, nodes.AnyOf), lambda part: part.parts),
}
"""A table, since this is called for every part of every expression."""


def with_children(part: P, parts: Sequence[Part]) -> P:
    """Return a node with other parts, ordered as `children`; itself if they are the same."""
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
_OWN_DATA: dict[type, Callable[[Any], Any]] = {
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
        """Return the object for an expression or condition; its parts are such objects, too."""
        entry = self._known.get(id(part))
        if entry is None:
            if type(part) in _UNITS:
                interned: Part = part
                key: tuple[object, ...] = (part,)
            else:
                interned = with_children(part, [self(child) for child in children(part)])
                extra_key = _OWN_DATA.get(type(interned))
                key = (type(interned), extra_key and extra_key(interned), *map(id, children(interned)))
            result = self._first.setdefault(key, interned)
            entry = self._known[id(part)] = (part, result)
            self._known[id(result)] = (result, result)
        return entry[1]  # type: ignore[return-value]


def count_uses(parts: Iterable[Part]) -> Counter[int]:
    """Count how often each interned part, by id, is in these or a part of them; shared ones count once."""
    counts: Counter[int] = Counter()
    pending = list(parts)
    while pending:
        part = pending.pop()
        counts[id(part)] += 1
        if counts[id(part)] == 1:
            pending += children(part)
    return counts


def variables(*parts: nodes.Value | nodes.Cond) -> Iterator[nodes.Var]:
    """Yield the variables in order, with repetitions."""
    for part in parts:
        if isinstance(part, nodes.Var):
            yield part
        else:
            yield from variables(*children(part))


def names_in(*parts: nodes.Value | nodes.Cond) -> set[str]:
    """Return the names of the variables."""
    names: set[str] = set()
    seen: set[int] = set()  # a long formula has the same parts many times
    pending = list(parts)
    while pending:
        part = pending.pop()
        if isinstance(part, nodes.Var):
            names.add(part.name)
        elif not isinstance(part, nodes.Const) and id(part) not in seen:
            seen.add(id(part))
            pending += children(part)
    return names


def functions_in(*parts: nodes.Value | nodes.Cond) -> set[str]:
    """Return the names of the called functions."""
    names: set[str] = set()
    for part in parts:
        if isinstance(part, nodes.Called):
            names.add(part.name)
        names |= functions_in(*children(part))
    return names


def mentions(e: nodes.Expr, variable: nodes.Var) -> bool:
    """Return whether a sum, product, quotient or table index contains a variable; True for a choice."""
    match e:
        case nodes.Var():
            return e == variable
        case nodes.Binary(_, a, b):
            return mentions(a, variable) or mentions(b, variable)
        case nodes.Item(_, index) | nodes.Search(_, index):
            return mentions(index, variable)
        case nodes.Called(_, arguments):
            return any(mentions(a, variable) for a in arguments)
        case nodes.Const():
            return False
    return True


def length(*parts: nodes.Value | nodes.Cond) -> int:
    """Return the number of variables and numbers, with repetitions."""
    total = 0
    for part in parts:
        total += 1 if type(part) in _UNITS else _length(part)
    return total


_UNITS = frozenset({nodes.Const, nodes.Var, nodes.Special, nodes.Truth})
_OWN_LENGTHS = {**dict.fromkeys((nodes.Element, nodes.Item, nodes.Lookup, nodes.Member), 1), nodes.Search: 6}
"""What the name of an array, table or set counts beside the parts; a search takes the time of several."""


def _length(part: nodes.Value | nodes.Cond) -> int:
    try:
        return part._length  # type: ignore[union-attr]
    except AttributeError:
        result = length(*children(part)) + _OWN_LENGTHS.get(type(part), 0)
        object.__setattr__(part, "_length", result)
        return result


def leaves(value: nodes.Value) -> Iterator[nodes.Value]:
    """Yield the alternatives of a value's choices."""
    if isinstance(value, nodes.Choose | nodes.Select):
        yield from leaves(value.then)
        yield from leaves(value.otherwise)
    else:
        yield value


def specials_in(value: nodes.Value) -> set[str]:
    """Return the names of the symbols that a value can be."""
    names: set[str] = set()
    for leaf in leaves(value):
        if isinstance(leaf, nodes.Special):
            names.add(leaf.name)
        elif isinstance(leaf, nodes.Lookup):
            names |= {entry.name for entry in leaf.table if isinstance(entry, nodes.Special)}
    return names


def numbers_in(e: nodes.Value, operands: bool = False) -> set[int]:
    """Return the numbers that a value can be, as far as its text contains them.

    Args:
        operands: the numbers in its sums, products and quotients too.
    """
    numbers: set[int] = set()
    for leaf in leaves(e):
        match leaf:
            case nodes.Const(value):
                numbers.add(value)
            case nodes.Item(table, _):
                numbers.update(table)
            case nodes.Lookup(entries, _):
                numbers.update(entry for entry in entries if isinstance(entry, int))
            case nodes.Binary(_, a, b) if operands:
                numbers |= numbers_in(a, True) | numbers_in(b, True)
    return numbers
