"""Rules for the names in the tables of traces and models: kinds of communicators, statistics, datatypes."""

from __future__ import annotations

import re

from scalatrace.trace.anonymize.names import Names
from scalatrace.trace.anonymize.words import is_text_of_mpi
from scalatrace.trace.model.tables import Datatype

__all__ = [
    "COMMUNICATORS", "CONSTRUCTORS", "STATISTICS", "anonymous_datatype", "communicator_kind", "counted_name",
    "is_datatype", "is_time", "statistic_name", "text_name",
]  # fmt: skip

COMMUNICATORS = frozenset({
    "world", "self", "null", "unknown", "dup", "idup", "idup_with_info", "create", "group", "create_group",
    "create_from_group", "from_group", "split", "split_type", "cart", "cart_sub", "graph", "dist_graph",
    "intercomm", "merge", "spawn", "connect",
})  # fmt: skip
"""Kinds of communicators that the recorder writes."""

CONSTRUCTORS = frozenset({
    "contiguous", "vector", "hvector", "indexed", "hindexed", "indexed_block", "hindexed_block", "struct",
    "subarray", "darray", "resized", "dup", "opaque", "C", "Fortran",
})  # fmt: skip
"""Words of datatype descriptions besides predefined datatypes (docs/format.md)."""

CHOICES, TIMES = frozenset({"source", "polls"}), frozenset({"compute_ns", "comm_ns"})
STATISTICS = CHOICES | TIMES | {"cpu_ns", "instructions", "memory_bytes"}
"""Statistics of the recorder and its built-in plug-ins."""

CALL = ".call"
UNITS = ("_ns", "_bytes")

_DESCRIPTION = re.compile(r"[\w (),\[\]-]*", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PREDEFINED = re.compile(r"MPI_[A-Z0-9_]+")
_PROCEDURE = re.compile(r"[A-Z][a-z]+[0-9]*(_[a-z0-9]+)*|not selected")


def communicator_kind(kind: str, names: Names) -> str:
    """Return a kind of communicators, if the recorder does not know it by a new name."""
    return kind if kind in COMMUNICATORS else names.name("communicator", kind)


def is_time(statistic: str) -> bool:
    """Return whether a statistic is a time or another measurement, not a choice that the program made."""
    return statistic not in CHOICES


def statistic_name(statistic: str, names: Names) -> str:
    """Return the name of a statistic; that of a plug-in's is new, but for its unit and `.call`."""
    base = statistic.removesuffix(CALL)
    if base in STATISTICS:
        return statistic
    unit = next((unit for unit in UNITS if base.endswith(unit)), "")
    return names.name("statistic", base) + unit + statistic[len(base) :]


def counted_name(operation: str, names: Names) -> str:
    """Return the name of an operation that was counted, if it is spelled as MPI spells them."""
    return operation if _PROCEDURE.fullmatch(operation) else names.name("operation", operation)


def is_datatype(description: str) -> bool:
    """Return whether a description has only the words of docs/format.md and predefined datatypes."""
    return _DESCRIPTION.fullmatch(description) is not None and all(
        name in CONSTRUCTORS or _PREDEFINED.fullmatch(name) for name in _NAME.findall(description)
    )


def anonymous_datatype(datatype: Datatype) -> Datatype:
    """Return a datatype with a description that names nothing of the application."""
    if is_datatype(datatype.description):
        return datatype
    opaque = f"opaque({datatype.size},{datatype.extent})"
    return Datatype(opaque, datatype.size, datatype.extent)


def text_name(text: str, parameters: frozenset[str], names: Names, limit: int) -> str:
    """Return the new text for a string.

    Args:
        parameters: names of the parameters that have this string.
        limit: numbers in file names that stay.
    """
    if not text:
        return text
    if "filename" in parameters:
        return names.file(text, limit)
    if is_text_of_mpi(text) or text == "user":  # the recorder's word for an operator of the program
        return text
    return names.name("operator" if "op" in parameters else "name", text)
