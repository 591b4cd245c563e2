"""Datatypes in Python: the constructors of their descriptions as methods of mpi4py, one behind the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scalatrace.codegen.emit.arguments import predefined_name
from scalatrace.predefined import DATATYPES, IN_EVERY_HEADER
from scalatrace.trace.model.typetree import TypeTree
from scalatrace.trace.values.vec import UNDEFINED

__all__ = ["NAMED", "construct"]

NAMED = "named"
"""The function of the library that finds a datatype by MPI's name for it."""


def construct(tree: TypeTree) -> str:
    """The expression that makes a datatype."""
    if tree.predefined:
        name = predefined_name(tree.name)
        attribute = DATATYPES[name] if name in IN_EVERY_HEADER else None
        return f"MPI.{attribute}" if attribute else f'{NAMED}("{name}")'
    inner = [construct(t) for t in tree.inner]
    return _RECIPES[tree.name](tree.arguments, inner)


def _of_one(method: str) -> Callable[[Sequence[Any], Sequence[str]], str]:
    return lambda a, t: f"{t[0]}.{method}({', '.join(_value(v) for v in a)})"


def _of_f90(kind: str) -> Callable[[Sequence[Any], Sequence[str]], str]:
    return lambda a, t: f"MPI.Datatype.Create_f90_{kind}({', '.join(map(_value, a[:-1]))})"


def _value(value: Any) -> str:
    if value == UNDEFINED:
        return "MPI.UNDEFINED"
    if isinstance(value, str):
        return "MPI.ORDER_FORTRAN" if value == "Fortran" else "MPI.ORDER_C"
    return str(list(value)) if isinstance(value, tuple) else str(value)


_RECIPES: dict[str, Callable[[Sequence[Any], Sequence[str]], str]] = {
    "contiguous": _of_one("Create_contiguous"),
    "vector": _of_one("Create_vector"),
    "hvector": _of_one("Create_hvector"),
    "indexed": _of_one("Create_indexed"),
    "hindexed": _of_one("Create_hindexed"),
    "indexed_block": _of_one("Create_indexed_block"),
    "hindexed_block": _of_one("Create_hindexed_block"),
    "struct": lambda a, t: f"MPI.Datatype.Create_struct({_value(a[0])}, {_value(a[1])}, [{', '.join(t)}])",
    "subarray": _of_one("Create_subarray"),
    "darray": _of_one("Create_darray"),
    "resized": _of_one("Create_resized"),
    "dup": _of_one("Dup"),
    **{f"f90_{kind}": _of_f90(kind) for kind in ("real", "complex", "integer")},
    "opaque": lambda a, t: f"MPI.BYTE.Create_contiguous({a[0]}).Create_resized(0, {a[1]})",
}
