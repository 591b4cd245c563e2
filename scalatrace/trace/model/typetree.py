"""Datatype descriptions (docs/reference/format.md) as trees.

vector(3,2,8,MPI_DOUBLE)  ->  TypeTree("vector", (3, 2, 8), (TypeTree("MPI_DOUBLE"),))
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from scalatrace.errors import FormatError
from scalatrace.trace.values.vec import UNDEFINED

Argument = int | str | tuple[int, ...]

MAX_TYPE_DEPTH = 64
"""Constructors within constructors that a description may have; the tracer writes deeper types as opaque
(pmpi/events/datatypes.c has the same number)."""

_FORMS = {
    "contiguous": ("n", 1),
    "vector": ("nnn", 1),
    "hvector": ("nnn", 1),
    "indexed": ("ll", 1),
    "hindexed": ("ll", 1),
    "indexed_block": ("nl", 1),
    "hindexed_block": ("nl", 1),
    "struct": ("ll", None),
    "subarray": ("lllo", 1),
    "darray": ("nnllllo", 1),
    "resized": ("nn", 1),
    "dup": ("", 1),
    "f90_real": ("nnn", 0),
    "f90_complex": ("nnn", 0),
    "f90_integer": ("nn", 0),
    "opaque": ("nn", 0),
}
"""Constructor -> its arguments (number, list, order), number of types (None: the length of a list)."""

_TOKEN = re.compile(r"\s*(?:(?P<int>-?\d+)|(?P<name>[A-Za-z_]\w*(?: [A-Za-z_]\w*)*)|(?P<mark>[(),\[\]]))")


@dataclass(frozen=True, slots=True)
class TypeTree:
    """A constructor with its arguments and component types; a predefined type has neither.

    Attributes:
        name: `MPI_...` or a constructor's name.
        arguments: integers, words (C, Fortran) and lists of integers, in the order of the description.
        inner: the types it is made of: one, or a struct's list.
    """

    name: str
    arguments: tuple[Argument, ...] = ()
    inner: tuple[TypeTree, ...] = ()

    @property
    def predefined(self) -> bool:
        """Return whether this is a predefined datatype."""
        return self.name.startswith("MPI_")

    @property
    def derived(self) -> bool:
        """Return whether MPI wants the datatype committed: neither predefined nor one of Fortran 90."""
        return not self.predefined and not self.f90

    @property
    def f90(self) -> bool:
        """Return whether MPI_Type_create_f90_* made it; its last argument is the size in bytes."""
        return self.name.startswith("f90_")


def checked(text: str) -> str:
    """Return a description that a file gives. Raises FormatError where it is none."""
    try:
        parse(text)
    except ValueError as error:
        raise FormatError(str(error)) from None
    return text


def parse(description: str) -> TypeTree:
    """Return the tree of a description.

    Raises:
        ValueError: the description does not follow docs/reference/format.md: its grammar, the arguments of
            its constructors, equal lengths of lists, 64-bit integers, at most MAX_TYPE_DEPTH levels.
    """
    tokens = _Tokens(description)
    tree = _type(tokens, 0)
    if tokens.kind is not None:
        raise tokens.error("end")
    return tree


class _Tokens:
    """Tokens of a description, with one token of look-ahead."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.kind: str | None = None
        self.value = ""
        self._rest = self._split_tokens(text)
        self.next()

    def next(self) -> str:
        """Step on; return the word stepped over."""
        value = self.value
        self.kind, self.value = next(self._rest, (None, ""))
        return value

    def take(self, mark: str) -> None:
        """Step over a mark that must be there."""
        if self.value != mark:
            raise self.error(repr(mark))
        self.next()

    def error(self, wanted: str) -> ValueError:
        """Return the error that says what was wanted instead of the present word."""
        return self.refusal(f"{wanted} expected, not {self.value or 'its end'!r:.60}")

    def refusal(self, why: str) -> ValueError:
        """Return the error that says what is wrong with the description."""
        return ValueError(f"datatype {self.text!r:.200}: {why}")

    def integer(self) -> int:
        """Step over an integer and return it."""
        digits = self.value
        if len(digits) > 20 or not -(2**63) <= int(digits) < 2**63:
            raise self.refusal(f"{digits:.60} is not a 64-bit integer")
        self.next()
        return int(digits)

    def _split_tokens(self, text: str) -> Iterator[tuple[str, str]]:
        position, end = 0, len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None:
                raise self.refusal(f"cannot read {text[position : position + 60]!r}")
            yield str(match.lastgroup), match[str(match.lastgroup)]
            position = match.end()


def _type(tokens: _Tokens, depth: int) -> TypeTree:
    if tokens.kind != "name":
        raise tokens.error("a type")
    name = tokens.next()
    if name.startswith("MPI_"):
        return TypeTree(name)
    if name not in _FORMS:
        raise tokens.refusal(f"no datatype constructor {name!r:.60}")
    if depth == MAX_TYPE_DEPTH:
        raise tokens.refusal(f"more than {MAX_TYPE_DEPTH} constructors within each other")
    tokens.take("(")
    arguments: list[Argument] = []
    inner: list[TypeTree] = []
    while tokens.value != ")":
        _item(tokens, arguments, inner, depth)
        if tokens.value != ")":
            tokens.take(",")
    tokens.take(")")
    if name == "struct" and not inner:
        arguments = arguments[:2]  # the empty list of types
    tree = TypeTree(name, tuple(arguments), tuple(inner))
    if not _fits(tree):
        raise tokens.refusal(f"the arguments of {name} do not fit it")
    return tree


def _item(tokens: _Tokens, arguments: list[Argument], inner: list[TypeTree], depth: int) -> None:
    """Read one item between the parentheses of a constructor."""
    if tokens.kind == "int":
        arguments.append(tokens.integer())
    elif tokens.value in ("C", "Fortran"):
        arguments.append(tokens.next())
    elif tokens.value == "UNDEFINED":
        tokens.next()
        arguments.append(UNDEFINED)
    elif tokens.kind == "name":
        inner.append(_type(tokens, depth + 1))
    else:
        tokens.take("[")
        _list(tokens, arguments, inner, depth)


def _list(tokens: _Tokens, arguments: list[Argument], inner: list[TypeTree], depth: int) -> None:
    """Read a list up to its bracket: all types, or all integers."""
    numbers: list[int] = []
    types: list[TypeTree] = []
    while tokens.value != "]":
        if tokens.kind == "int":
            numbers.append(tokens.integer())
        else:
            types.append(_type(tokens, depth + 1))
        if tokens.value != "]":
            tokens.take(",")
    tokens.take("]")
    if types and numbers:
        raise tokens.refusal("a list of integers and types")
    if types:
        inner.extend(types)
    else:
        arguments.append(tuple(numbers))


def _fits(tree: TypeTree) -> bool:
    """Whether a constructor has arguments of its kinds, lists of one length and its number of types."""
    kinds, types = _FORMS[tree.name]
    letters = {int: "n", tuple: "l", str: "o"}
    if "".join(letters[type(argument)] for argument in tree.arguments) != kinds:
        return False
    lengths = {len(argument) for argument in tree.arguments if isinstance(argument, tuple)}
    return len(lengths) <= 1 and len(tree.inner) == (lengths.pop() if types is None else types)
