"""Datatype descriptions (docs/format.md) as trees.

vector(3,2,8,MPI_DOUBLE)  ->  TypeTree("vector", (3, 2, 8), (TypeTree("MPI_DOUBLE"),))
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from scalatrace.errors import FormatError

Argument = int | str | tuple[int, ...]

_TOKEN = re.compile(r"\s*(?:(?P<int>-?\d+)|(?P<name>[A-Za-z_]\w*(?: [A-Za-z_]\w*)*)|(?P<mark>[(),\[\]]))")


@dataclass(frozen=True, slots=True)
class TypeTree:
    """A constructor with its arguments and the types it is made of; a predefined type has neither.

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
        """Whether this is a type that MPI brings along."""
        return self.name.startswith("MPI_")


def parse(description: str) -> TypeTree:
    """Return the tree of a description.

    Raises:
        FormatError: the description does not follow docs/format.md.
    """
    tokens = _Tokens(description)
    tree = _type(tokens)
    if tokens.kind is not None:
        raise tokens.error("end")
    return tree


class _Tokens:
    """The words of a description, one ahead."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.kind: str | None = None
        self.value = ""
        self._rest = self._split(text)
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

    def error(self, wanted: str) -> FormatError:
        """Return the error that says what was wanted instead of the present word."""
        return FormatError(f"datatype {self.text!r}: {wanted} expected, not {self.value or 'its end'!r}")

    def _split(self, text: str) -> Iterator[tuple[str, str]]:
        position = 0
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            if match is None:
                raise FormatError(f"datatype {text!r}: cannot read {text[position:]!r}")
            yield str(match.lastgroup), match[str(match.lastgroup)]
            position = match.end()


def _type(tokens: _Tokens) -> TypeTree:
    if tokens.kind != "name":
        raise tokens.error("a type")
    name = tokens.next()
    if tokens.value != "(":
        return TypeTree(name)
    tokens.next()
    arguments: list[Argument] = []
    inner: list[TypeTree] = []
    while tokens.value != ")":
        _item(tokens, arguments, inner)
        if tokens.value != ")":
            tokens.take(",")
    tokens.take(")")
    return TypeTree(name, tuple(arguments), tuple(inner))


def _item(tokens: _Tokens, arguments: list[Argument], inner: list[TypeTree]) -> None:
    """Read one item between the parentheses of a constructor."""
    if tokens.kind == "int":
        arguments.append(int(tokens.next()))
    elif tokens.value in ("C", "Fortran"):
        arguments.append(tokens.next())
    elif tokens.kind == "name":
        inner.append(_type(tokens))
    else:
        tokens.take("[")
        _list(tokens, arguments, inner)


def _list(tokens: _Tokens, arguments: list[Argument], inner: list[TypeTree]) -> None:
    """Read a list up to its bracket: all types, or all integers."""
    numbers: list[int] = []
    types: list[TypeTree] = []
    while tokens.value != "]":
        if tokens.kind == "int":
            numbers.append(int(tokens.next()))
        else:
            types.append(_type(tokens))
        if tokens.value != "]":
            tokens.take(",")
    tokens.take("]")
    if types:
        inner.extend(types)
    else:
        arguments.append(tuple(numbers))
