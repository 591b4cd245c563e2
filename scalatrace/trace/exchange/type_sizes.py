"""Sizes and extents of datatypes by their descriptions, as MPI's rules give them on a 64-bit Linux.

A trace has the size and the extent of each type. It lacks those of the members of a struct, which stands for
the types of MPI_Alltoallw; and an extrapolated type has a description at first.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from math import prod
from typing import Any, TypeVar

from scalatrace.trace.model.tables import Datatype
from scalatrace.trace.model.typetree import TypeTree, parse

__all__ = [
    "BY_DESCRIPTION", "entry_size", "filled_template", "member_sizes", "size_and_extent", "symbolic_size",
    "tree_bounds",
]  # fmt: skip

E = TypeVar("E")

_PLACEHOLDER = 10**15
"""Stands for the first expression of a description; the next number stands for the next one."""


BY_DESCRIPTION = "by description"
"""Stands in symbolic traces for the size and the extent of a type that follow from its description."""

_BYTES = {
    1: "CHAR SIGNED_CHAR UNSIGNED_CHAR BYTE PACKED INT8_T UINT8_T C_BOOL CXX_BOOL CHARACTER INTEGER1"
    " LOGICAL1",
    2: "SHORT UNSIGNED_SHORT INT16_T UINT16_T INTEGER2 REAL2 LOGICAL2",
    4: "INT UNSIGNED FLOAT WCHAR INT32_T UINT32_T INTEGER REAL LOGICAL INTEGER4 REAL4 LOGICAL4 COMPLEX4",
    6: "SHORT_INT",
    8: "LONG LONG_LONG LONG_LONG_INT UNSIGNED_LONG UNSIGNED_LONG_LONG DOUBLE INT64_T UINT64_T AINT COUNT"
    " OFFSET C_COMPLEX C_FLOAT_COMPLEX CXX_FLOAT_COMPLEX FLOAT_INT 2INT DOUBLE_PRECISION COMPLEX 2REAL"
    " 2INTEGER INTEGER8 REAL8 LOGICAL8 COMPLEX8",
    12: "DOUBLE_INT LONG_INT",
    16: "LONG_DOUBLE C_DOUBLE_COMPLEX CXX_DOUBLE_COMPLEX DOUBLE_COMPLEX 2DOUBLE_PRECISION INTEGER16 REAL16"
    " LOGICAL16 COMPLEX16 2COMPLEX",
    20: "LONG_DOUBLE_INT",
    32: "C_LONG_DOUBLE_COMPLEX CXX_LONG_DOUBLE_COMPLEX COMPLEX32 2DOUBLE_COMPLEX",
}  # fmt: skip
_PREDEFINED = {f"MPI_{name}": size for size, names in _BYTES.items() for name in names.split()}


PAIRS = frozenset(f"MPI_{name}_INT" for name in ("FLOAT", "DOUBLE", "LONG", "SHORT", "LONG_DOUBLE"))
"""Types whose extent is not their size."""


@lru_cache(1 << 10)
def member_sizes(struct: Datatype) -> tuple[int, ...]:
    """Return the size in bytes of each member of a struct with one element of each.

    If a member is unknown, all have the mean.
    """
    members = parse(struct.description).inner
    sizes = [_size(member) for member in members]
    known_sizes = [size for size in sizes if size is not None]
    if len(known_sizes) == len(sizes):
        return tuple(known_sizes)
    return (struct.size // max(len(sizes), 1),) * len(sizes)


@lru_cache(1 << 10)
def size_and_extent(description: str) -> tuple[int, int] | None:
    """Return the bytes of data of a type, and its extent; None if this does not know them."""
    try:
        tree = parse(description)
    except ValueError:
        return None
    size, bounds = _size(tree), tree_bounds(tree)
    return None if size is None or bounds is None else (size, bounds[1] - bounds[0])


def entry_size(entry: Sequence[Any], description: str) -> tuple[Any, Any]:
    """Return size and extent of a datatype of a symbolic field, as the entry has them, or by its description.

    Args:
        entry: of the field: size and extent, or BY_DESCRIPTION, and the pieces of the description.
        description: these pieces as text. Where it does not tell them, both are 0.
    """
    return (size_and_extent(description) or (0, 0)) if entry[0] == BY_DESCRIPTION else (entry[0], entry[1])


def tree_bounds(tree: TypeTree) -> tuple[int, int] | None:
    """Return the lower and the upper bound of a type in bytes; None if this does not know them."""
    if tree.predefined:
        size = _PREDEFINED.get(tree.name)
        return None if size is None or tree.name in PAIRS else (0, size)
    if tree.f90:
        return 0, _int(tree, -1)
    if tree.name == "resized":
        return _int(tree, 0), _int(tree, 0) + _int(tree, 1)
    if len(tree.inner) != 1 or (inner := tree_bounds(tree.inner[0])) is None:
        return None
    extent = inner[1] - inner[0]
    match tree.name:
        case "dup":
            return inner
        case "contiguous":
            return _spread(inner, _int(tree, 0), extent, 1, extent)
        case "vector":
            return _spread(inner, _int(tree, 0), _int(tree, 2) * extent, _int(tree, 1), extent)
        case "hvector":
            return _spread(inner, _int(tree, 0), _int(tree, 2), _int(tree, 1), extent)
        case "subarray":
            return 0, prod(_list(tree, 0)) * extent
    return None


def _spread(
    inner: tuple[int, int], count: int, stride: int, length: int, extent: int
) -> tuple[int, int] | None:
    """Return the bounds of `count` blocks, `stride` bytes apart, of `length` elements."""
    if min(count, length) < 1:
        return None
    last = (count - 1) * stride
    return inner[0] + min(0, last), inner[1] + max(0, last) + (length - 1) * extent


def filled_template(
    shape: object, slots: Sequence[Any], expression: Callable[[Any], E]
) -> list[str | int | E] | None:
    """Return the pieces of the description of the only datatype of a symbolic field; None: it is not of one.

    Args:
        shape, slots: of the field's part; a slot for which entry it is comes first.
        expression: makes the expression of a slot that is no integer.
    """
    match shape:
        case (None, ((str(word), tuple(template)),)) if word == BY_DESCRIPTION:
            following = iter(slots[1:])
            pieces = (next(following) if piece is None else piece for piece in template)
            return [piece if isinstance(piece, str | int) else expression(piece) for piece in pieces]
    return None


def symbolic_size(
    template: Sequence[Any],
    of_int: Callable[[int], E],
    mul: Callable[[E, E], E],
    add: Callable[[E, E], E],
) -> E | None:
    """Return the bytes of data of a type whose description has expressions in place of numbers.

    Args:
        template: the pieces of the description: texts, integers and expressions.
        of_int, mul, add: make an expression of an integer, a product and a sum.

    Returns:
        None if this does not know the size.
    """
    values = [part for part in template if not isinstance(part, str)]
    numbers = itertools.count(_PLACEHOLDER)
    text = "".join(part if isinstance(part, str) else str(next(numbers)) for part in template)

    def value(number: int) -> E:
        stored = values[number - _PLACEHOLDER] if number >= _PLACEHOLDER else number
        return of_int(stored) if isinstance(stored, int) else stored

    try:
        return _size_by(parse(text), value, mul, add)
    except ValueError:
        return None


def _size(tree: TypeTree) -> int | None:
    """Return the bytes of data of a type; None if it is made of unknown ones."""
    return _size_by(tree, int, operator.mul, operator.add)


def _size_by(
    tree: TypeTree, value: Callable[[int], E], mul: Callable[[E, E], E], add: Callable[[E, E], E]
) -> E | None:
    if tree.predefined:
        size = _PREDEFINED.get(tree.name, 0 if tree.name == "MPI_DATATYPE_NULL" else None)
        return None if size is None else value(size)
    if tree.name == "opaque" or tree.f90:
        own_argument = tree.arguments[-1 if tree.f90 else 0]
        return value(own_argument) if isinstance(own_argument, int) else None
    sizes = [_size_by(inner, value, mul, add) for inner in tree.inner]
    known_sizes = [size for size in sizes if size is not None]
    if len(known_sizes) < len(sizes):
        return None
    if tree.name == "struct":
        pairs = zip(map(value, _list(tree, 0)), known_sizes, strict=True)
        return reduce(add, (mul(n, size) for n, size in pairs), value(0))
    factors = _factors(tree)
    if factors is None:
        return None
    count = [reduce(add, map(value, terms), value(0)) for terms in factors]
    return reduce(mul, count, known_sizes[0] if known_sizes else value(1))


def _factors(tree: TypeTree) -> list[tuple[int, ...]] | None:
    """Return sums whose product is the number of elements of the inner type; None: it is not known."""
    match tree.name:
        case "contiguous":
            return [(_int(tree, 0),)]
        case "vector" | "hvector":
            return [(_int(tree, 0),), (_int(tree, 1),)]
        case "indexed" | "hindexed":
            return [_list(tree, 0)]
        case "indexed_block" | "hindexed_block":
            return [(_int(tree, 0),), (1,) * len(_list(tree, 1))]
        case "subarray":
            return [(size,) for size in _list(tree, 1)]
        case "resized" | "dup":
            return []
    return None if tree.arguments else []


def _int(tree: TypeTree, at: int) -> int:
    value = tree.arguments[at]
    return value if isinstance(value, int) else 0


def _list(tree: TypeTree, at: int) -> tuple[int, ...]:
    value = tree.arguments[at]
    return tuple(value) if isinstance(value, tuple | list) else ()
