"""Datatypes from their description, by the same MPI constructors that made them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from mpi4py import MPI

from scalatrace.predefined import DATATYPES, FORTRAN_PAIRS, OPEN_MPI_HANDLES
from scalatrace.replay.common.errors import ReplayError
from scalatrace.replay.transport.args import Count, Counts, Handles, Ints, Ref, Wide, Wides
from scalatrace.trace.model.typetree import TypeTree
from scalatrace.trace.values.vec import UNDEFINED

Call = Callable[..., None]
"""Issues MPI_<op>(*args)."""

Recipe = Callable[[Sequence[Any], list[Any]], tuple[str, list[Any]]]
"""From a description's arguments and inner types to a constructor and its arguments, but the new type's."""

_BYTE = TypeTree("MPI_BYTE")


def _of_f90(kind: str) -> Recipe:
    return lambda a, t: (f"Type_create_f90_{kind}", [MPI.UNDEFINED if n == UNDEFINED else n for n in a[:-1]])


RECIPES: dict[str, Recipe] = {
    "contiguous": lambda a, t: ("Type_contiguous", [Count(a[0]), t[0]]),
    "vector": lambda a, t: ("Type_vector", [*map(Count, a), t[0]]),
    "hvector": lambda a, t: ("Type_create_hvector", [Count(a[0]), Count(a[1]), Wide(a[2]), t[0]]),
    "indexed": lambda a, t: ("Type_indexed", [Count(len(a[0])), Counts(a[0]), Counts(a[1]), t[0]]),
    "hindexed": lambda a, t: ("Type_create_hindexed", [Count(len(a[0])), Counts(a[0]), Wides(a[1]), t[0]]),
    "indexed_block": lambda a, t: (
        "Type_create_indexed_block",
        [Count(len(a[1])), Count(a[0]), Counts(a[1]), t[0]],
    ),
    "hindexed_block": lambda a, t: (
        "Type_create_hindexed_block",
        [Count(len(a[1])), Count(a[0]), Wides(a[1]), t[0]],
    ),
    "struct": lambda a, t: (
        "Type_create_struct",
        [Count(len(a[0])), Counts(a[0]), Wides(a[1]), Handles(t)],
    ),
    "subarray": lambda a, t: (
        "Type_create_subarray",
        [len(a[0]), *map(Counts, a[:3]), _order(a[3]), t[0]],
    ),
    "darray": lambda a, t: (
        "Type_create_darray",
        [a[0], a[1], len(a[2]), Counts(a[2]), *map(Ints, a[3:6]), _order(a[6]), t[0]],
    ),
    "resized": lambda a, t: ("Type_create_resized", [t[0], Wide(a[0]), Wide(a[1])]),
    "dup": lambda a, t: ("Type_dup", [t[0]]),
    **{f"f90_{kind}": _of_f90(kind) for kind in ("real", "complex", "integer")},
}


@cache
def predefined(name: str) -> MPI.Datatype:
    """Return MPI's own datatype of that name. Raises ReplayError when this MPI has none."""
    result = getattr(MPI, DATATYPES.get(name) or "", None)
    if isinstance(result, MPI.Datatype) and result != MPI.DATATYPE_NULL:
        return result
    for handle in (*FORTRAN_PAIRS, *OPEN_MPI_HANDLES):
        if _name_of(candidate := MPI.Datatype.f2py(handle)) == name:
            return candidate
    raise ReplayError(f"this MPI has no datatype {name}")


def _name_of(datatype: MPI.Datatype) -> str:
    """Return MPI's name for a handle; "" for one that is none."""
    try:
        return datatype.Get_name() if datatype != MPI.DATATYPE_NULL else ""
    except MPI.Exception:
        return ""


def build(tree: TypeTree, call: Call) -> MPI.Datatype:
    """Return a new datatype (uncommitted), or the predefined one."""
    if tree.predefined:
        return predefined(tree.name)
    if tree.name == "opaque":
        size, extent = tree.arguments
        return build(TypeTree("resized", (0, extent), (TypeTree("contiguous", (size,), (_BYTE,)),)), call)
    op, arguments = RECIPES[tree.name](tree.arguments, [build(inner, call) for inner in tree.inner])
    result = MPI.Datatype()
    call(op, *arguments, Ref(result))
    return result


def _order(word: str) -> int:
    return int(MPI.ORDER_FORTRAN if word == "Fortran" else MPI.ORDER_C)
