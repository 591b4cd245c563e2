"""Datatypes from their description, by the same MPI constructors that made them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from mpi4py import MPI

from scalatrace.predefined import DATATYPES, FORTRAN_PAIRS, OPEN_MPI_HANDLES
from scalatrace.replay.common.errors import ReplayError
from scalatrace.replay.transport import clibrary
from scalatrace.replay.transport.args import Handles, Ints, Ref, Wide, Wides
from scalatrace.trace.model.typetree import TypeTree

Call = Callable[..., None]
"""Issues MPI_<op>(*args)."""

Recipe = Callable[[Sequence[Any], list[Any]], tuple[str, list[Any]]]
"""From a description's arguments and inner types to a constructor and its arguments, but the new type's."""


def _of_one(op: str) -> Recipe:
    return lambda a, t: (op, [*a, t[0]])


RECIPES: dict[str, Recipe] = {
    "contiguous": _of_one("Type_contiguous"),
    "vector": _of_one("Type_vector"),
    "hvector": lambda a, t: ("Type_create_hvector", [a[0], a[1], Wide(a[2]), t[0]]),
    "indexed": lambda a, t: ("Type_indexed", [len(a[0]), Ints(a[0]), Ints(a[1]), t[0]]),
    "hindexed": lambda a, t: ("Type_create_hindexed", [len(a[0]), Ints(a[0]), Wides(a[1]), t[0]]),
    "indexed_block": lambda a, t: ("Type_create_indexed_block", [len(a[1]), a[0], Ints(a[1]), t[0]]),
    "hindexed_block": lambda a, t: ("Type_create_hindexed_block", [len(a[1]), a[0], Wides(a[1]), t[0]]),
    "struct": lambda a, t: ("Type_create_struct", [len(a[0]), Ints(a[0]), Wides(a[1]), Handles(t)]),
    "subarray": lambda a, t: (
        "Type_create_subarray",
        [len(a[0]), Ints(a[0]), Ints(a[1]), Ints(a[2]), _order(a[3]), t[0]],
    ),
    "darray": lambda a, t: (
        "Type_create_darray",
        [a[0], a[1], len(a[2]), Ints(a[2]), Ints(a[3]), Ints(a[4]), Ints(a[5]), _order(a[6]), t[0]],
    ),
    "resized": lambda a, t: ("Type_create_resized", [t[0], Wide(a[0]), Wide(a[1])]),
    "dup": lambda a, t: ("Type_dup", [t[0]]),
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
        return _bytes(call, *tree.arguments)
    op, arguments = RECIPES[tree.name](tree.arguments, [build(inner, call) for inner in tree.inner])
    result = MPI.Datatype()
    call(op, *arguments, Ref(result))
    return result


def _bytes(call: Call, size: Any, extent: Any) -> MPI.Datatype:
    """Return a datatype with the size and extent of an opaque one.

    The tracer records datatypes of large-count constructors as opaque. The same constructors are used here,
    where MPI has them.
    """
    inner, result = MPI.Datatype(), MPI.Datatype()
    suffix = "_c" if clibrary.has("MPI_Type_contiguous_c") else ""
    call(f"Type_contiguous{suffix}", Wide(size) if suffix else size, MPI.BYTE, Ref(inner))
    call(f"Type_create_resized{suffix}", inner, Wide(0), Wide(extent), Ref(result))
    return result


def _order(word: str) -> int:
    return int(MPI.ORDER_FORTRAN if word == "Fortran" else MPI.ORDER_C)
