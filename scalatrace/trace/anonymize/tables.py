"""Rules for the names in the tables of traces and models: kinds of communicators, statistics, datatypes."""

from __future__ import annotations

import re

from scalatrace.trace.anonymize.names import AnonymousNames
from scalatrace.trace.anonymize.words import is_text_of_mpi
from scalatrace.trace.consistency.partial import NO_OPERATIONS
from scalatrace.trace.exchange.buffer_memory import MEMORY_KINDS
from scalatrace.trace.model.tables import TIMES, Datatype

__all__ = [
    "COMMUNICATORS", "CONSTRUCTORS", "STATISTICS", "anonymous_datatype", "communicator_kind",
    "counted_name", "is_datatype", "is_time", "statistic_name", "text_name",
]  # fmt: skip

COMMUNICATORS = frozenset({
    "world", "self", "null", "unknown", "dup", "idup", "idup_with_info", "create", "group", "create_group",
    "create_from_group", "from_group", "split", "split_type", "cart", "cart_sub", "graph", "dist_graph",
    "intercomm", "merge", "spawn", "connect",
})  # fmt: skip
"""Kinds of communicators that the recorder writes."""

CONSTRUCTORS = frozenset({
    "contiguous", "vector", "hvector", "indexed", "hindexed", "indexed_block", "hindexed_block", "struct",
    "subarray", "darray", "resized", "dup", "f90_real", "f90_complex", "f90_integer", "opaque",
    "C", "Fortran", "UNDEFINED",
})  # fmt: skip
"""Words of datatype descriptions besides predefined datatypes (docs/reference/format.md)."""

CHOICES = frozenset({"source", "polls"})
STATISTICS = CHOICES | TIMES | {"cpu_ns", "instructions", "memory_bytes"}
"""Statistics of the recorder and its built-in plug-ins."""

CALL = ".call"
UNITS = ("_ns", "_bytes")

_DESCRIPTION = re.compile(r"[\w (),\[\]-]*", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PREDEFINED = re.compile(r"MPI_[A-Z0-9_]+")

_OF_PROCEDURES = """
    Abi Abort Accumulate Add Allgather Allgatherv Alloc Allreduce Alltoall Alltoallv Alltoallw Attr
    Barrier Bcast Bsend Buffer Cancel Cart Cartdim Close Comm Compare Dims Dist Errhandler Error
    Exscan Fetch File Finalize Finalized Free Gather Gatherv Get Graph Graphdims Grequest Group
    Iallgather Iallgatherv Iallreduce Ialltoall Ialltoallv Ialltoallw Ibarrier Ibcast Ibsend Iexscan
    Igather Igatherv Improbe Imrecv Ineighbor Info Init Initialized Intercomm Iprobe Irecv Ireduce
    Irsend Is Iscan Iscatter Iscatterv Isend Isendrecv Issend Keyval Lookup Mprobe Mrecv Neighbor Op
    Open Pack Parrived Pcontrol Pready Precv Probe Psend Publish Put Query Raccumulate Recv Reduce
    Register Remove Request Rget Rput Rsend Scan Scatter Scatterv Send Sendrecv Session Ssend Start
    Startall Status T Test Testall Testany Testsome Topo Type Unpack Unpublish Wait Waitall Waitany
    Waitsome Win accept accumulate address adjacent all allgather allgatherv alloc allocate alltoall
    alltoallv alltoallw amode and any at atomicity attach attr begin block booleans buffer byte call
    callback cancelled categories category changed class close code commit commutative compare
    complete complex connect contents contiguous coords copy count create cvar cvars darray datarep
    delete detach difference disconnect dropped dup dynamic elements end enum env envelope
    errhandler error event events excl extent external f082f f2f08 f90 fence finalize flush fortran
    free from get graph group groups handle handler hindexed hvector hw idup iflush incl index
    indexed info init integer inter intersection iread item iwrite join kernel keyval library list
    local lock main map match mem merge multiple name neighbors nkeys nth nthkey num offset op open
    ordered parent port position post preallocate processor pset psets put pvar pvars query range
    rank ranks read readreset real register remote replace reset resized resource scatter seek
    session set shared shift size size0 size1 size2 size3 some source spawn split start status stop
    string struct sub subarray swap sync tag test thread timestamp translate true type union unlock
    value valuelen vector version view wait with write x
"""
"""Parts of the names of MPI's procedures."""

_PARTS = frozenset(_OF_PROCEDURES.split())


def communicator_kind(kind: str, names: AnonymousNames) -> str:
    """Return a kind of communicators, if the recorder does not know it by a new name."""
    return kind if kind in COMMUNICATORS else names.name("communicator", kind)


def is_time(statistic: str) -> bool:
    """Return whether a statistic is a time or another measurement, not a choice that the program made."""
    return statistic not in CHOICES


def statistic_name(statistic: str, names: AnonymousNames) -> str:
    """Return the name of a statistic; that of a plug-in's is new, but for its unit and `.call`."""
    base = statistic.removesuffix(CALL)
    if base in STATISTICS:
        return statistic
    unit = next((unit for unit in UNITS if base.endswith(unit)), "")
    return names.name("statistic", base) + unit + statistic[len(base) :]


def counted_name(operation: str, names: AnonymousNames) -> str:
    """Return the name of an operation that was counted; a new one if it has parts that no name of MPI has."""
    is_standard = operation in NO_OPERATIONS or _PARTS.issuperset(operation.split("_"))
    return operation if is_standard else names.name("operation", operation)


def is_datatype(description: str) -> bool:
    """Return whether a description has only words of docs/reference/format.md and predefined datatypes."""
    return _DESCRIPTION.fullmatch(description) is not None and all(
        name in CONSTRUCTORS or _PREDEFINED.fullmatch(name) for name in _NAME.findall(description)
    )


def anonymous_datatype(datatype: Datatype) -> Datatype:
    """Return a datatype with a description that names nothing of the application."""
    if is_datatype(datatype.description):
        return datatype
    opaque = f"opaque({datatype.size},{datatype.extent})"
    return Datatype(opaque, datatype.size, datatype.extent)


def text_name(text: str, parameters: frozenset[str], names: AnonymousNames, limit: int) -> str:
    """Return the new text for a string.

    Args:
        parameters: names of the parameters that have this string.
        limit: numbers in file names that stay.
    """
    if not text:
        return text
    if "filename" in parameters:
        return names.file(text, limit)
    of_recorder = text == "user" or MEMORY_KINDS.issuperset(text.split("+"))
    if of_recorder or is_text_of_mpi(text):
        return text
    return names.name("operator" if "op" in parameters else "name", text)
