"""Datatypes in C: the constructors of their descriptions, called again."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from codegen.errors import GenerateError
from scalatrace.trace.typetree import TypeTree

__all__ = ["construct", "predefined_name"]

NO_TYPE = "MPI_DATATYPE_NULL"
"""What stands where a datatype means nothing on a rank."""


def predefined_name(name: str) -> str:
    """The name of a type that MPI brings along. Raises GenerateError when it can be none."""
    if not re.fullmatch(r"MPI_[A-Z0-9_a-z]+", name):
        raise GenerateError(f"{name!r} is no datatype of MPI")
    return "MPI_BYTE" if name == NO_TYPE else name


def construct(tree: TypeTree) -> tuple[list[str], str]:
    """The statements that make a datatype, and the variable (or name) that then is it."""
    lines: list[str] = []
    handle = _make(tree, lines)
    return lines, handle


def _make(tree: TypeTree, lines: list[str]) -> str:
    if tree.predefined:
        return predefined_name(tree.name)
    inner = [_make(t, lines) for t in tree.inner]
    made = f"t{sum(line.startswith('MPI_Datatype') for line in lines) + 1}"
    if tree.name == "opaque":
        size, extent = tree.arguments
        lines.append(f"MPI_Datatype {made}, {made}b;")
        lines.append(f"MPI_Type_contiguous({size}, MPI_BYTE, &{made}b);")
        lines.append(f"MPI_Type_create_resized({made}b, 0, {extent}, &{made});")
        return made
    recipe = _RECIPES.get(tree.name)
    if recipe is None:
        raise GenerateError(f"no datatype constructor {tree.name!r}")
    op, arguments = recipe(tree.arguments, inner)
    lines.append(f"MPI_Datatype {made};")
    lines.append(f"MPI_Type_{op}({', '.join(arguments)}, &{made});")
    return made


def _ints(values: Any) -> str:
    return f"(int[]){{{', '.join(map(str, values)) or '0'}}}"


def _aints(values: Any) -> str:
    return f"(MPI_Aint[]){{{', '.join(map(str, values)) or '0'}}}"


def _order(word: Any) -> str:
    return "MPI_ORDER_FORTRAN" if word == "Fortran" else "MPI_ORDER_C"


def _types(inner: Sequence[str]) -> str:
    return f"(MPI_Datatype[]){{{', '.join(inner)}}}"


Recipe = Callable[[Sequence[Any], Sequence[str]], tuple[str, list[str]]]

_RECIPES: dict[str, Recipe] = {
    "contiguous": lambda a, t: ("contiguous", [str(a[0]), t[0]]),
    "vector": lambda a, t: ("vector", [*map(str, a), t[0]]),
    "hvector": lambda a, t: ("create_hvector", [*map(str, a), t[0]]),
    "indexed": lambda a, t: ("indexed", [str(len(a[0])), _ints(a[0]), _ints(a[1]), t[0]]),
    "hindexed": lambda a, t: ("create_hindexed", [str(len(a[0])), _ints(a[0]), _aints(a[1]), t[0]]),
    "indexed_block": lambda a, t: ("create_indexed_block", [str(len(a[1])), str(a[0]), _ints(a[1]), t[0]]),
    "hindexed_block": lambda a, t: ("create_hindexed_block", [str(len(a[1])), str(a[0]), _aints(a[1]), t[0]]),
    "struct": lambda a, t: ("create_struct", [str(len(a[0])), _ints(a[0]), _aints(a[1]), _types(t)]),
    "subarray": lambda a, t: (
        "create_subarray",
        [str(len(a[0])), *map(_ints, a[:3]), _order(a[3]), t[0]],
    ),
    "darray": lambda a, t: (
        "create_darray",
        [str(a[0]), str(a[1]), str(len(a[2])), *map(_ints, a[2:6]), _order(a[6]), t[0]],
    ),
    "resized": lambda a, t: ("create_resized", [t[0], str(a[0]), str(a[1])]),
    "dup": lambda a, t: ("dup", [t[0]]),
}
