"""Datatypes in C: the constructors of their descriptions, called again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from scalatrace.codegen.emit.arguments import predefined_name
from scalatrace.codegen.emit.c.large import INT_MAX
from scalatrace.predefined import IN_EVERY_HEADER, NO_DATATYPE
from scalatrace.trace.model.typetree import TypeTree
from scalatrace.trace.values.vec import UNDEFINED

__all__ = ["construct", "needs_large", "required"]


def construct(tree: TypeTree) -> tuple[list[str], str]:
    """The statements that make a datatype, and the variable (or name) that then is it."""
    lines: list[str] = []
    handle = _make(tree, lines)
    return lines, handle


def needs_large(tree: TypeTree) -> bool:
    """Whether a constructor takes numbers that an int does not hold."""
    return any("_c(" in line for line in construct(tree)[0])


def required(tree: TypeTree) -> set[str]:
    """The predefined datatypes of a description that an `mpi.h` may lack."""
    result = set().union(*map(required, tree.inner))
    return result | {tree.name} - IN_EVERY_HEADER - {NO_DATATYPE} if tree.predefined else result


@dataclass
class _Form:
    """How numbers are written for one form of a constructor, `MPI_Type_vector` or `MPI_Type_vector_c`.

    Attributes:
        count: the type of an array of numbers of elements.
        place: the type of an array of displacements in bytes.
        exceeded: whether a number was more than an int holds.
    """

    count: str = "int"
    place: str = "MPI_Aint"
    exceeded: bool = False

    def number(self, n: Any) -> str:
        """A number of elements."""
        self.exceeded |= abs(n) > INT_MAX
        return str(n)

    def numbers(self, values: Any) -> str:
        """An array of them."""
        return _array(self.count, map(self.number, values))

    def places(self, values: Any) -> str:
        """An array of displacements in bytes."""
        return _array(self.place, map(str, values))


def _array(of: str, values: Iterable[str]) -> str:
    return f"({of}[]){{{', '.join(values) or '0'}}}"


def _make(tree: TypeTree, lines: list[str]) -> str:
    if tree.predefined:
        return predefined_name(tree.name)
    inner = [_make(t, lines) for t in tree.inner]
    result = f"t{sum(line.startswith('MPI_Datatype') for line in lines) + 1}"
    if tree.name == "opaque":
        size, extent = tree.arguments
        lines.append(f"MPI_Datatype {result}, {result}b;")
        lines.append(f"{_called('contiguous', (size,), ['MPI_BYTE'])}, &{result}b);")
        lines.append(f"MPI_Type_create_resized({result}b, 0, {extent}, &{result});")
        return result
    lines.append(f"MPI_Datatype {result};")
    lines.append(f"{_called(tree.name, tree.arguments, inner)}, &{result});")
    return result


def _called(name: str, arguments: Sequence[Any], inner: Sequence[str]) -> str:
    """The call of a constructor up to its result; of the form for large counts only where one is needed."""
    recipe, form = _RECIPES[name], _Form()
    op, given = recipe(arguments, inner, form)
    if form.exceeded:
        op, given = recipe(arguments, inner, _Form("MPI_Count", "MPI_Count"))
        op += "_c"
    return f"MPI_Type_{op}({', '.join(given)}"


def _order(word: Any) -> str:
    return "MPI_ORDER_FORTRAN" if word == "Fortran" else "MPI_ORDER_C"


def _types(inner: Sequence[str]) -> str:
    return _array("MPI_Datatype", inner)


def _ints(values: Any) -> str:
    return _array("int", map(str, values))


def _of_f90(kind: str) -> Recipe:
    return lambda a, t, f: (f"create_f90_{kind}", [_or_undefined(n) for n in a[:-1]])


def _or_undefined(n: Any) -> str:
    return "MPI_UNDEFINED" if n == UNDEFINED else str(n)


Recipe = Callable[[Sequence[Any], Sequence[str], _Form], tuple[str, list[str]]]

_RECIPES: dict[str, Recipe] = {
    "contiguous": lambda a, t, f: ("contiguous", [f.number(a[0]), t[0]]),
    "vector": lambda a, t, f: ("vector", [*map(f.number, a), t[0]]),
    "hvector": lambda a, t, f: ("create_hvector", [*map(f.number, a[:2]), str(a[2]), t[0]]),
    "indexed": lambda a, t, f: ("indexed", [str(len(a[0])), *map(f.numbers, a), t[0]]),
    "hindexed": lambda a, t, f: (
        "create_hindexed",
        [str(len(a[0])), f.numbers(a[0]), f.places(a[1]), t[0]],
    ),
    "indexed_block": lambda a, t, f: (
        "create_indexed_block",
        [str(len(a[1])), f.number(a[0]), f.numbers(a[1]), t[0]],
    ),
    "hindexed_block": lambda a, t, f: (
        "create_hindexed_block",
        [str(len(a[1])), f.number(a[0]), f.places(a[1]), t[0]],
    ),
    "struct": lambda a, t, f: (
        "create_struct",
        [str(len(a[0])), f.numbers(a[0]), f.places(a[1]), _types(t)],
    ),
    "subarray": lambda a, t, f: (
        "create_subarray",
        [str(len(a[0])), *map(f.numbers, a[:3]), _order(a[3]), t[0]],
    ),
    "darray": lambda a, t, f: (
        "create_darray",
        [str(a[0]), str(a[1]), str(len(a[2])), f.numbers(a[2]), *map(_ints, a[3:6]), _order(a[6]), t[0]],
    ),
    "resized": lambda a, t, f: ("create_resized", [t[0], str(a[0]), str(a[1])]),
    "dup": lambda a, t, f: ("dup", [t[0]]),
    **{f"f90_{kind}": _of_f90(kind) for kind in ("real", "complex", "integer")},
}
